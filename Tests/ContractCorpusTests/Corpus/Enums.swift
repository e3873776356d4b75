// swift-format-ignore-file

import Foundation

// Enums with raw values.

struct WordsAttributes: ActivityAttributes {
    enum Status: String, Codable {
        case preparing, delivering
        case pickedUp = "picked_up"
        case `default`
        case café
        case quoted = "say \"hi\"\n\u{1F355}"
        case raw = #"a\b"#
        case empty = ""
    }

    struct ContentState: Codable, Hashable {
        var status: Status
        var later: Status?
        var all: [Status]
    }

    var first: Status
}

struct NumbersAttributes: ActivityAttributes {
    enum Level: Int, Codable { case low, middle, high }
    enum Odd: Int, Codable { case minus = -2, next, zero, ten = 10, eleven, hex = 0x1F, more, big = 1_000 }
    enum Ratio: Double, Codable { case none = 0, half = 0.5, whole = 1, next }
    enum Small: UInt8, Codable { case a = 1, b, last = 255 }

    struct ContentState: Codable, Hashable {
        var level: Level
        var odd: Odd
        var ratio: Ratio
        var small: Small?
        var byLevel: [Level: Int]
    }

    var order: Int64
}

struct AliasRawAttributes: ActivityAttributes {
    typealias Code = String
    enum Status: Code, Codable { case open, closed = "shut" }

    struct ContentState: Codable, Hashable {
        var status: Status
    }

    var order: Code
}

struct RawStructAttributes: ActivityAttributes {
    struct Name: RawRepresentable, Codable, Hashable {
        let rawValue: String
    }

    struct Number: RawRepresentable, Codable, Hashable {
        var rawValue: Int
        init(rawValue: Int) { self.rawValue = rawValue }
    }

    struct Options: OptionSet, Codable, Hashable {
        let rawValue: UInt8
        static let gift = Options(rawValue: 1)
        static let fast = Options(rawValue: 2)
    }

    /// Not a raw type that `RawRepresentable` decodes by itself.
    struct Reference: RawRepresentable, Codable, Hashable {
        var rawValue: UUID
    }

    struct ContentState: Codable, Hashable {
        var name: Name
        var number: Number
        var options: Options
        var maybe: Name?
        var reference: Reference?
        var byName: [Name: Int]
    }

    var name: Name
}

// MARK: - With associated values

struct StepsAttributes: ActivityAttributes {
    enum Step: Codable, Hashable {
        case waiting
        case moving(Double)
        case at(place: String, floor: Int?)
        case two(Int, String)
        case mixed(Int, named: String, _ third: Bool)
        case late(by: Int = 5)
    }

    struct ContentState: Codable, Hashable {
        var step: Step
        var next: Step?
        var all: [Step]
    }

    var order: String
}

struct BareCasesAttributes: ActivityAttributes {
    enum Phase: Codable, Hashable { case on, off }

    struct ContentState: Codable, Hashable {
        var phase: Phase
        var byPhase: [Phase: Int]?
    }

    var phase: Phase?
}

struct RenamedCasesAttributes: ActivityAttributes {
    enum Step: Codable, Hashable {
        case waiting
        case moving(speed: Double, from: String, since: Int = 5)
        case internalOnly(Int)
        case iPad(Int)

        enum CodingKeys: String, CodingKey {
            case waiting = "w"
            case moving
            case iPad
        }

        enum MovingCodingKeys: String, CodingKey {
            case speed = "v"
            case from
        }

        enum IPadCodingKeys: String, CodingKey {
            case _0 = "count"
        }
    }

    struct ContentState: Codable, Hashable {
        var step: Step
    }

    var order: String
}

struct EnumStateAttributes: ActivityAttributes {
    enum ContentState: Codable, Hashable {
        case waiting
        case onTheWay(minutes: Int)
        case done(at: Date, by: String?)
    }

    var order: String
}

struct DeepEnumAttributes: ActivityAttributes {
    indirect enum Expression: Codable, Hashable {
        case number(Int)
        case sum(Expression, Expression)
        case named([String: Expression])
    }

    struct ContentState: Codable, Hashable {
        var expression: Expression
    }

    var order: String
}

struct LoadableAttributes: ActivityAttributes {
    enum Loadable<Value: Codable & Hashable>: Codable, Hashable {
        case loading
        case loaded(Value)
        case failed(reason: String, last: Value?)
    }

    struct ContentState: Codable, Hashable {
        var score: Loadable<Int>
        var names: Loadable<[String]>
        var maybe: Loadable<Int?>
    }

    var order: String
}

// MARK: - Raw values of every kind

struct RawKindsAttributes: ActivityAttributes {
    enum Octal: UInt32, Codable { case read = 0o400, next, write = 0b1_0000, last = 0xFF }
    enum Gain: Float, Codable { case low = 0.25, high = 2 }
    enum Wait: TimeInterval, Codable { case short = 1.5, long = 60 }

    struct Flag: RawRepresentable, Codable, Hashable { var rawValue: Bool }
    struct Ratio: RawRepresentable, Codable, Hashable { var rawValue: Float }
    struct Length: RawRepresentable, Codable, Hashable { var rawValue: TimeInterval }

    // Not raw types that `RawRepresentable` decodes by itself.
    struct Width: RawRepresentable, Codable, Hashable { var rawValue: CGFloat }
    struct Price: RawRepresentable, Codable, Hashable { var rawValue: Decimal }

    struct ContentState: Codable, Hashable {
        var octal: Octal
        var gain: Gain
        var wait: Wait?
        var flag: Flag
        var ratio: Ratio
        var length: Length
        var width: Width
        var price: Price
    }

    var order: String
}
