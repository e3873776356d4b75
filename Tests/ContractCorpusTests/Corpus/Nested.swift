// swift-format-ignore-file

import Foundation

// Nested types, and the lookup of names.

struct ShopAttributes: ActivityAttributes {
    struct Line: Codable, Hashable {
        struct Price: Codable, Hashable {
            var amount: Decimal
            var currency: String
        }
        var what: String
        var price: Price
    }

    struct ContentState: Codable, Hashable {
        struct Courier: Codable, Hashable {
            var name: String
            var phone: String?
        }
        var lines: [Line]
        var courier: Courier?
        var total: Line.Price
    }

    var first: Line
}

struct ShadowAttributes: ActivityAttributes {
    enum Status: String, Codable { case outer }

    struct ContentState: Codable, Hashable {
        enum Status: String, Codable { case inner }
        var status: Status
        var outer: ShadowAttributes.Status
    }

    var status: Status
}

struct HidingAttributes: ActivityAttributes {
    struct Date: Codable, Hashable {
        var day: Int
    }
    enum Data: String, Codable { case small, large }
    struct Set<Element: Codable & Hashable>: Codable, Hashable {
        var only: Element
    }
    typealias Int = String

    struct ContentState: Codable, Hashable {
        var date: Date
        var real: Foundation.Date
        var data: Data
        var set: Set<Bool>
        var realSet: Swift.Set<Bool>
        var int: Int
        var realInt: Swift.Int
    }

    var order: Int
}

struct TreeAttributes: ActivityAttributes {
    struct Node: Codable, Hashable {
        var value: Int
        var children: [Node]
        var named: [String: Node]?
    }

    struct ContentState: Codable, Hashable {
        var root: Node
    }

    var order: String
}

struct SelfContainingAttributes: ActivityAttributes {
    struct ContentState: Codable, Hashable {
        var value: Int
        var history: [ContentState]
        var other: [Self]?
    }

    var parents: [SelfContainingAttributes]
    var states: [ContentState]?
}

enum Models {
    enum V2 {
        struct Tracking: Codable, Hashable {
            var stage: Stage
            var history: [V1.Stage]
        }
        enum Stage: Int, Codable { case one = 1, two }
    }
    enum V1 {
        enum Stage: String, Codable { case one, two }
    }
}

struct NamespacedAttributes: ActivityAttributes {
    typealias ContentState = Models.V2.Tracking

    var old: Models.V1.Stage
}

struct ExtendedAttributes {
    var order: String
    var place: Place
}

extension ExtendedAttributes: ActivityAttributes {
    struct ContentState: Codable, Hashable {
        var place: Place
        var tag: String.Tag
    }
}

extension ExtendedAttributes {
    struct Place {
        var floor: Int
        var kind: Kind
    }
}

extension ExtendedAttributes.Place: Codable, Hashable {
    enum Kind: String, Codable { case home, work }
}

extension String {
    struct Tag: Codable, Hashable {
        var text: String
    }
}

struct QualifiedAttributes: ActivityAttributes {
    struct ContentState: Codable, Hashable {
        var number: Swift.Int
        var at: Foundation.Date
        var list: Swift.Array<Swift.String>
        var maybe: Swift.Optional<Swift.Bool>
        var shared: ContractCorpusTests.SharedPlace
        var own: Self.Kind
        enum Kind: String, Codable { case a, b }
    }

    var order: Swift.String
}

struct SharedPlace: Codable, Hashable {
    var floor: Int
}

// MARK: - Aliases

typealias Minutes = Int
typealias Table<Value> = [String: Value]
typealias Pair<A: Codable & Hashable, B: Codable & Hashable> = Couple<B, A>

struct Couple<First: Codable & Hashable, Second: Codable & Hashable>: Codable, Hashable {
    var first: First
    var second: Second
}

struct AliasedAttributes: ActivityAttributes {
    typealias Later = Minutes?
    typealias Name = Swift.String
    typealias Names = [Name]
    public typealias Status = ContentState

    struct ContentState: Codable, Hashable {
        typealias Mine = Couple<Name, Minutes>
        var eta: Minutes
        var later: Later
        var names: Names
        var table: Table<Minutes>
        var tables: Table<Table<Bool>>
        var pair: Pair<Int, String>
        var mine: Mine
        var maybe: Optional<Later>
    }

    var order: Name
}

// MARK: - Generics

struct GenericAttributes: ActivityAttributes {
    struct Box<Value: Codable & Hashable>: Codable, Hashable {
        struct Inner: Codable, Hashable {
            var deep: Value
            var again: Box<String>?
        }
        typealias Values = [Value]
        var value: Value
        var maybe: Value?
        var inner: [Inner]
        var values: Values
    }

    struct ContentState: Codable, Hashable {
        var number: Box<Int>
        var flag: Box<Bool>
        var inner: Box<Double>.Inner
        var boxed: Couple<Couple<Int, Bool>, [Couple<String, Int>]>
    }

    var order: Box<Int>.Inner?
}

/// A generic parameter that stands for an optional: `null` is accepted, but the key is required.
struct GenericOptionalAttributes: ActivityAttributes {
    struct ContentState: Codable, Hashable {
        var couple: Couple<Int?, String>
        var twice: Couple<Bool??, [Int?]>
        var aliased: Table<Int?>
    }

    var order: String
}

struct ConditionalAttributes: ActivityAttributes {
    struct Wrapper<Wrapped> {
        var wrapped: Wrapped
    }

    struct ContentState: Codable, Hashable {
        var a: Wrapper<Int>
        var b: Wrapper<Wrapper<String>>
    }

    var order: String
}

extension ConditionalAttributes.Wrapper: Codable where Wrapped: Codable {}
extension ConditionalAttributes.Wrapper: Equatable where Wrapped: Equatable {}
extension ConditionalAttributes.Wrapper: Hashable where Wrapped: Hashable {}
