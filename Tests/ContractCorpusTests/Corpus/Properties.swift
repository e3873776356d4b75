// swift-format-ignore-file

import Foundation

// Stored properties and their types.

struct DefaultsAttributes: ActivityAttributes {
    struct ContentState: Codable, Hashable {
        var progress: Double = 0
        var status: String = "preparing"
        var count = 1
        var eta: Int? = nil
        var lines: [String] = []
    }

    var order: String = "none"
}

struct ConstantsAttributes: ActivityAttributes {
    struct ContentState: Codable, Hashable {
        let version = 3
        let kind: String = "order"
        let maybe: Int? = 5
        let count: Int
        var status: String
    }

    let schema = "1"
    let order: String
}

struct PropertiesAttributes: ActivityAttributes {
    struct ContentState: Codable, Hashable {
        static let maximum = 5
        static var shared: ContentState { ContentState(first: 1, second: 2) }
        nonisolated(unsafe) static var mutable: Int = 0

        var first: Int
        var sum: Int { first + second }
        var both: Int {
            get { first }
            set { first = newValue }
        }
        var second: Int {
            didSet { if second < 0 { second = 0 } }
        }
        private var hidden: String = ""
        fileprivate(set) var third: Int = 3 {
            willSet {}
            didSet {}
        }

        init(first: Int, second: Int) {
            self.first = first
            self.second = second
        }
    }

    var order: String
    var title: String { "Order \(order)" }
}

struct SeveralAttributes: ActivityAttributes {
    struct ContentState: Codable, Hashable {
        var a, b: Int
        var c = 1, d: String, e: Double? = nil
        let f: Bool, g: [Int]
    }

    var x, y, z: Double
}

struct InferredAttributes: ActivityAttributes {
    struct ContentState: Codable, Hashable {
        var whole = 1
        var negative = -1
        var ratio = 1.5
        var small = -0.5
        var isOn = false
        var isOff = !true
        var text = "a"
        var numbers = [1, 2]
        var mixed = [1, 2.5]
        var some = [nil, 1]
        var table = [[1], [2, 3]]
        var names = ["a": 1, "b": 2]
        var byNumber = [1: "a"]
        var grouped = (5)
        var seconds = 60 * 60
        var part = 1 / 3.0
        var joined = "a" + "b"
        var span = 1...5
        var half = 0.5..<2
        var cast = 1 as Double
        var maybe = 1 as Int?
        var hex = 0xFF
        var big = 1_000_000
    }

    var order = ""
}

struct MadeAttributes: ActivityAttributes {
    enum Status: String, Codable {
        case open, closed
        static let first = Status.open
        static let second: Status = .closed
    }

    enum Step: Codable, Hashable { case waiting, moving(Int) }

    struct Place: Codable, Hashable {
        static let zero = Place()
        static var somewhere: Place { Place(floor: 5) }
        var floor = 0
    }

    struct ContentState: Codable, Hashable {
        var at = Date()
        var since = Date(timeIntervalSince1970: 0)
        var now = Date.now
        var id = UUID()
        var bytes = Data()
        var numbers = [Int]()
        var names = [String: Bool]()
        var set = Set<String>()
        var long = Array<Int>()
        var text = String()
        var double = Double(5)
        var most = Int.max
        var byte = UInt8.max
        var pi = Double.pi
        var zero = TimeInterval.zero
        var status = Status.open
        var first = Status.first
        var step = Step.waiting
        var moving = Step.moving(1)
        var place = Place()
        var other = Place(floor: 1)
        var made = Place.init(floor: 2)
        var known = Place.zero
        var site = URL(string: "https://example.com")
        var sure = URL(string: "https://example.com")!
        var none = Int?.none
        var price = Decimal(5)
        var maybe = UUID(uuidString: "")
    }

    var order = UUID()
}

struct QuotedAttributes: ActivityAttributes {
    struct ContentState: Codable, Hashable {
        var `default`: Int
        var `class`: String
        var größe: Double
        var 名前: String?
        var _private: Bool
        var snake_case: Int
    }

    var `in`: String
}

struct CommentedAttributes: ActivityAttributes {
    /* struct ContentState { var old: Int } */
    /// The half that changes: `var notThis: Int`
    struct ContentState: Codable /* and */, Hashable {
        // var gone: Int
        var /* before */ status /* after */: /* type */ String  // = "x"
        @available(*, deprecated, message: "var deprecated: Int")
        var eta: Int?
        var text = """
            var inside: Int
            """

        func describe() -> String {
            var local: Int = 5
            local += 1
            struct Local { var inner: Int }
            return "\(status) \(local) \(Local(inner: 1))"
        }
    }

    var order: String; var place: String
}

struct LazyAttributes: ActivityAttributes {
    struct ContentState: Codable, Hashable {
        static func == (left: Self, right: Self) -> Bool { left.count == right.count }
        func hash(into hasher: inout Hasher) { hasher.combine(count) }

        var count: Int
        lazy var twice = count * 2
        lazy var named: String = { "\(count)" }()
    }

    var order: String
}
