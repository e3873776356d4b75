import Foundation

// Swift types as apps declare them. `Subject.all` has the contract of each.

struct Plain: Codable {
    var name: String
    var count: Int
    var ratio: Double
    var isOn: Bool
}

struct Nested: Codable {
    struct Line: Codable {
        var what: String
        var times: Int
    }
    struct Place: Codable {
        var street: String
        var line: Line
    }
    var place: Place
    var lines: [Line]
}

struct Maybe: Codable {
    struct Inner: Codable {
        var value: Int
    }
    var number: Int?
    var text: String?
    var inner: Inner?
    var numbers: [Int?]
    var named: [String: Int?]
    var needed: Bool
}

enum Status: String, Codable, Hashable { case preparing, delivering, delivered, café }
enum Level: Int, Codable { case low = 1, middle = 5, high = 100 }

struct Raw: Codable {
    var status: Status
    var level: Level
    var later: Status?
    var levels: [Level]
}

enum Step: Codable {
    case plain
    case one(Int)
    case lab(n: Int, note: String?)
    case two(Int, String)
    case open(at: Level)
}

struct Steps: Codable {
    var step: Step
    var next: Step?
    var all: [Step]
}

struct Lists: Codable {
    var numbers: [Int]
    var words: [[String]]
    var set: Set<String>
    var bytes: Set<UInt8>
}

struct Dictionaries: Codable {
    var byName: [String: Int]
    var byNumber: [Int: String]
    var byStatus: [Status: Int]
    var byID: [UUID: [Bool]]
}

struct Bytes: Codable {
    var data: Data
    var more: [Data]?
}

struct IDs: Codable {
    var id: UUID
    var others: [UUID]?
}

struct Links: Codable {
    var site: String
    var more: [String]?
}

struct Dates: Codable {
    var at: Date
    var until: Date?
    var all: [Date]
}

struct Spans: Codable {
    var whole: ClosedRange<Int>
    var half: Range<Double>
    var words: ClosedRange<String>?
    var time: ClosedRange<Date>?
}

struct Money: Codable {
    var price: Decimal
    var prices: [Decimal]
}

struct Widths: Codable {
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

struct Floats: Codable {
    var single: Float
    var double: Double
    var interval: TimeInterval
    var point: CGPoint
    var maybe: Float?
}

struct Tree: Codable {
    var value: Int
    var children: [Tree]
}

struct Waits: Codable {
    var wait: Duration
}

// Types of the five systems.

struct OrderState: Codable {
    var status: String
    var progress: Double
    var eta: Int?
    var courier: String?
}

struct HeroState: Codable {
    var currentHealthLevel: Double
    var eventDescription: String
}

struct HeroAttributes: Codable {
    struct Hero: Codable {
        var name: String
        var avatar: String
        var healthLevel: Double
        var heroType: String
        var healthRecoveryRatePerHour: Double
        var level: Int
    }
    var hero: Hero
}

struct TimerState: Codable {
    enum Phase: String, Codable { case focus, rest }
    var phase: Phase
    var startedAt: Date
    var pausedAt: Date?
    var duration: TimeInterval
}

struct PagerState: Codable {
    var sender: String
    var message: String
    var isDemo: Bool
    var messageIndex: Int
    var totalMessages: Int
    var timestamp: Date
}

struct NextUpState: Codable {
    struct Task: Codable {
        var id: UUID
        var title: String
        var dueAt: Date?
    }
    var task: Task?
    var isLocked: Bool
    var remaining: Int
}
