// swift-format-ignore-file

import Foundation

// One kind of value each.

struct PlainAttributes: ActivityAttributes {
    struct ContentState: Codable, Hashable {
        var name: String
        var count: Int
        var ratio: Double
        var isOn: Bool
    }

    var order: String
}

struct IntegersAttributes: ActivityAttributes {
    public struct ContentState: Codable, Hashable {
        var a: Int8
        var b: Int16
        var c: Int32
        var d: Int64
        var e: UInt8
        var f: UInt16
        var g: UInt32
        var h: UInt64
        var i: UInt
        var j: Int
    }

    let order: Int
}

struct FloatsAttributes: ActivityAttributes {
    struct ContentState: Codable, Hashable {
        var single: Float
        var double: Double
        var interval: TimeInterval
        var old: Float64
        var older: Float32
        var maybe: Float?
    }

    var scale: CGFloat
}

struct DatesAttributes: ActivityAttributes {
    struct ContentState: Codable, Hashable {
        var at: Date
        var until: Date?
        var all: [Date]
        var named: [String: Date]
    }

    var order: String
}

struct BytesAttributes: ActivityAttributes {
    struct ContentState: Codable, Hashable {
        var picture: Data
        var more: [Data]?
    }

    var order: String
}

struct LinksAttributes: ActivityAttributes {
    struct ContentState: Codable, Hashable {
        var site: URL
        var others: [URL]
        var maybe: URL?
    }

    var order: String
}

struct IdentifiersAttributes: ActivityAttributes {
    struct ContentState: Codable, Hashable {
        var current: UUID
        var previous: UUID?
    }

    var order: UUID
}

struct MoneyAttributes: ActivityAttributes {
    struct ContentState: Codable, Hashable {
        var price: Decimal
        var discounts: [Decimal]
    }

    var order: String
}

struct RangesAttributes: ActivityAttributes {
    struct ContentState: Codable, Hashable {
        var whole: ClosedRange<Int>
        var half: Range<Double>
        var words: ClosedRange<String>?
        var time: ClosedRange<Date>?
    }

    var from: PartialRangeFrom<Int>
    var upTo: PartialRangeUpTo<Double>?
    var through: [PartialRangeThrough<Date>]
}

struct GeometryAttributes: ActivityAttributes {
    struct ContentState: Codable, Hashable {
        var wait: Duration
        var others: [Duration]
    }

    var point: CGPoint
    var size: CGSize
    var frame: CGRect?
}

struct EmptyAttributes: ActivityAttributes {
    struct ContentState: Codable, Hashable {}
}

// MARK: - Containers

struct OptionalsAttributes: ActivityAttributes {
    struct ContentState: Codable, Hashable {
        var number: Int?
        var text: Optional<String>
        var twice: Int??
        var numbers: [Int?]
        var deep: [[String?]?]?
        var named: [String: Int?]
        var unwrapped: Int!
        let constant: Bool?
    }

    var order: String?
}

struct ListsAttributes: ActivityAttributes {
    struct ContentState: Codable, Hashable {
        var numbers: [Int]
        var words: [[String]]
        var long: Array<Bool>
        var close: ContiguousArray<Int>
        var set: Set<String>
        var bytes: Set<UInt8>
        var sets: [Set<Int>]?
    }

    var order: String
}

struct MapsAttributes: ActivityAttributes {
    enum Status: String, Codable { case open, closed }

    struct Place: Codable, Hashable {
        var floor: Int
    }

    struct ContentState: Codable, Hashable {
        var byName: [String: Int]
        var byNumber: [Int: String]
        var byStatus: [Status: Int]
        var byPlace: Dictionary<Place, String>
        var bySmall: [Int8: Bool]
        var byDouble: [Double: [Int]]?
        var deep: [String: [String: [Int]]]
    }

    var order: String
}

struct KeysAttributes: ActivityAttributes {
    typealias Name = String

    struct ContentState: Codable, Hashable {
        var byName: [Name: Int]
        var byFlag: [Bool: Int]
        var byDate: [Date: String]
        var byList: [[Int]: String]
    }

    var order: Name
}
