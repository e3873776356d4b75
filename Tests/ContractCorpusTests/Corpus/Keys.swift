// swift-format-ignore-file

import Foundation

// CodingKeys.

struct RenamedAttributes: ActivityAttributes {
    struct ContentState: Codable, Hashable {
        var orderStatus: String
        var etaMinutes: Int?
        var plain: Bool

        enum CodingKeys: String, CodingKey {
            case orderStatus = "order_status"
            case etaMinutes = "eta"
            case plain
        }
    }

    var orderNumber: String

    private enum CodingKeys: String, CodingKey { case orderNumber = "no" }
}

struct OmittedAttributes: ActivityAttributes {
    struct ContentState: Codable, Hashable {
        var status: String
        var cached: Int = 5
        var later: Double?
        var inferred = [1]
        let fixed = 1

        enum CodingKeys: CodingKey { case status }
    }

    var order: String
    var local: Bool = false

    enum CodingKeys: String, CodingKey {
        case order
    }
}

struct KeysElsewhereAttributes: ActivityAttributes {
    struct ContentState: Codable, Hashable {
        var first: Int
        var second: String
    }

    var order: String
}

extension KeysElsewhereAttributes.ContentState {
    enum CodingKeys: String, CodingKey { case first = "1", second }
}

enum SharedCodingKeys: String, CodingKey { case value = "v", unit = "u" }

struct AliasedKeysAttributes: ActivityAttributes {
    struct ContentState: Codable, Hashable {
        var value: Double
        var unit: String
        typealias CodingKeys = SharedCodingKeys
    }

    var order: String
}

struct NumberedKeysAttributes: ActivityAttributes {
    struct ContentState: Codable, Hashable {
        var first: Int
        var second: Int

        enum CodingKeys: Int, CodingKey { case first = 7, second }
    }

    var order: String
}

struct OddKeysAttributes: ActivityAttributes {
    struct ContentState: Codable, Hashable {
        var slash: Int
        var empty: Int
        var reference: Int?
        var type: Int
        var emoji: Int
        var quote: Int?

        enum CodingKeys: String, CodingKey {
            case slash = "a/b~c"
            case empty = ""
            case reference = "$ref"
            case type
            case emoji = "🍕"
            case quote = "\"\\"
        }
    }

    var `default`: String

    enum CodingKeys: String, CodingKey { case `default` }
}

struct ConstantKeysAttributes: ActivityAttributes {
    struct ContentState: Codable, Hashable {
        let version: Int
        var name: String
        lazy var cached = 5

        enum CodingKeys: String, CodingKey { case version = "v", name }

        static func == (left: Self, right: Self) -> Bool { left.name == right.name }
        func hash(into hasher: inout Hasher) { hasher.combine(name) }
    }

    var order: String
}

@propertyWrapper
struct Clamped: Codable, Hashable {
    var wrappedValue: Int
}

struct WrappedButOmittedAttributes: ActivityAttributes {
    struct ContentState: Codable, Hashable {
        var shown: Int
        @Clamped var hidden = 5

        enum CodingKeys: CodingKey { case shown }
    }

    var order: String
}

struct OrderedKeysAttributes: ActivityAttributes {
    struct ContentState: Codable, Hashable {
        private enum CodingKeys: String, CodingKey {
            case b
            case a = "c"
            case c = "a"
        }

        var a: Int
        var b: String
        var c: Bool
    }

    var order: String
}
