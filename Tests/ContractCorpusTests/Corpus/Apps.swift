// swift-format-ignore-file

import Foundation

// Attributes as apps declare them.

struct FlightAttributes: ActivityAttributes {
    struct ContentState: Codable, Hashable {
        enum Phase: String, Codable, CaseIterable {
            case checkIn = "check-in", boarding, inFlight = "in_flight", landed
        }
        struct Gate: Codable, Hashable {
            var terminal: String
            var number: Int?
        }
        var phase: Phase
        var gate: Gate?
        var departure: Date
        var arrival: Date
        var delay: TimeInterval = 0
        var progress: Double
    }

    struct Airport: Codable, Hashable, Identifiable {
        var id: String { code }
        let code: String
        let city: String
    }

    let number: String
    let from: Airport
    let to: Airport
}

struct MatchAttributes: ActivityAttributes {
    public typealias MatchStatus = ContentState

    public struct ContentState: Codable, Hashable {
        public enum Event: Codable, Hashable {
            case goal(team: Int, minute: Int, scorer: String?)
            case card(team: Int, isRed: Bool)
            case halfTime
        }
        var score: [Int]
        var minute: Int
        var events: [Event]
        var clock: ClosedRange<Date>?
    }

    var home: String
    var away: String
    var league: String?
}

struct RideAttributes: ActivityAttributes {
    struct Coordinate: Codable, Hashable {
        var latitude: Double
        var longitude: Double
    }

    struct ContentState: Codable, Hashable {
        var driver: Coordinate?
        var stops: [Coordinate]
        var eta: Date?
        var fare: Decimal
        var plate: String
        var colour: UInt32
    }

    var id: UUID
    var pickUp: Coordinate
}

struct WorkoutAttributes: ActivityAttributes {
    struct ContentState: Codable, Hashable {
        enum Unit: Int, Codable { case metric, imperial }
        var heartRate: UInt8?
        var splits: [Int: Double]
        var zones: [String: ClosedRange<Int>]
        var unit: Unit
        var isPaused: Bool
    }

    var plan: [String]
    var goal: Goal
    enum Goal: Codable, Hashable {
        case open
        case distance(Double)
        case time(TimeInterval)
    }
}

struct DownloadAttributes: ActivityAttributes {
    struct ContentState: Codable, Hashable {
        struct File: Codable, Hashable, Identifiable {
            let id: UUID
            var name: String
            var done: UInt64
            var total: UInt64?
        }
        var files: [File]
        var checksum: Data?
        var source: URL
    }

    let title: String
}
