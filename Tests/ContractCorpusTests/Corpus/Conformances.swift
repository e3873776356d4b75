// swift-format-ignore-file

import Foundation

// Sources of Codable conformance, and classes.

protocol Model: Codable, Hashable {
    var id: String { get }
}

protocol NamedModel: Model {
    associatedtype Name
    var name: Name { get }
}

typealias Payload = Codable & Hashable & Sendable

struct ProtocolsAttributes: ActivityAttributes {
    struct Item: NamedModel {
        var id: String
        var name: Int
    }

    struct Price: Payload {
        var amount: Double
    }

    struct Later { var at: Int }

    struct ContentState: Model {
        var id: String
        var items: [Item]
        var price: Price
        var later: Later
        var parts: Parts
    }

    struct Parts: Encodable & Decodable & Hashable {
        var a: Int
    }

    var order: String
}

extension ProtocolsAttributes.Later: Decodable, Encodable {}
extension ProtocolsAttributes.Later: Hashable {}

/// Attributes that are only decoded. Decoding is what matters to a contract.
struct OneWayAttributes: ActivityAttributes {
    struct Line: Decodable, Hashable {
        var what: String
    }

    struct ContentState: Codable, Hashable {
        var lines: [Line]
    }

    var order: String
}

extension OneWayAttributes.Line: Encodable {}

struct ClassesAttributes: ActivityAttributes {
    final class Leaf: Codable, Hashable {
        static func == (left: Leaf, right: Leaf) -> Bool { left.value == right.value }
        func hash(into hasher: inout Hasher) { hasher.combine(value) }
        var value: Int
        var next: Leaf?
        init(value: Int) { self.value = value }
    }

    struct ContentState: Codable, Hashable {
        var leaf: Leaf
    }

    var order: String
}

/// A protocol, not a superclass, comes first.
struct ModelClassAttributes: ActivityAttributes {
    final class Leaf: Model {
        static func == (left: Leaf, right: Leaf) -> Bool { left === right }
        func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
        var id: String
        var value: Int?
        init(id: String) { self.id = id }
    }

    struct ContentState: Codable, Hashable {
        var leaf: Leaf
    }

    var order: String
}

class PlainBase {
    var base = 1
}

class CodableBase: Codable, Hashable {
    static func == (left: CodableBase, right: CodableBase) -> Bool { left === right }
    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
    var id: Int
    init(id: Int) { self.id = id }
}

struct SubclassesAttributes: ActivityAttributes {
    /// The superclass is not Codable, so the class's own properties are decoded.
    final class Own: PlainBase, Codable, Hashable {
        static func == (left: Own, right: Own) -> Bool { left === right }
        func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
        var own: String = ""
    }

    /// The superclass is Codable, so its decoding is inherited and no own property is decoded.
    final class Derived: CodableBase {
        var extra: String = ""
        let more: Int? = nil
    }

    class Middle: CodableBase {
        var middle = 1
    }

    final class Last: Middle {
        var last = ""
    }

    struct ContentState: Codable, Hashable {
        var own: Own
        var derived: Derived
        var last: Last?
    }

    var order: String
}

class GenericBase<Value: Codable>: Codable {
    var value: Value
    init(value: Value) { self.value = value }
}

struct GenericClassAttributes: ActivityAttributes {
    final class Number: GenericBase<Int>, Hashable {
        static func == (left: Number, right: Number) -> Bool { left === right }
        func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
        var label = ""
    }

    struct ContentState: Codable, Hashable {
        var number: Number
    }

    var order: String
}

/// An `encode(to:)` of its own does not change how it is decoded.
struct EncodesItselfAttributes: ActivityAttributes {
    struct ContentState: Codable, Hashable {
        var status: String
        var count: Int

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(status, forKey: .status)
            try container.encode(count, forKey: .count)
        }
    }

    var order: String
}

// An initializer that only resembles Decodable's.
struct OtherInitAttributes: ActivityAttributes {
    struct ContentState: Codable, Hashable {
        var status: String

        init(status: String) { self.status = status }
        init(from number: Int) { status = "\(number)" }
        init(decoder: any Decoder) throws { status = "" }
    }

    var order: String
}

struct DirectivesAttributes: ActivityAttributes {
    struct ContentState: Codable, Hashable {
        #if os(iOS) || true
            var status: String
        #else
            var status: Int
        #endif
        #if os(Windows) && DEBUG
            var window: Int
        #elseif !(false)
            var count: Int
        #endif
        #if DEBUG
            static let isDebug = true
            var debugDescription: String { status }
        #endif
    }

    var order: String
}

#if false
    struct NotThereAttributes: ActivityAttributes {
        struct ContentState: Codable, Hashable {}
    }
#endif
