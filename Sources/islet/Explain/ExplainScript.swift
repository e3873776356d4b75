import Foundation
import JSONText
import LiveActivityAPI

/// What happens in an explanation, in order: lines of JSON, each with the time at which it happens.
struct ExplainScript {
    /// One line: a state is set, the activity ends, or something happens on a phone.
    struct Line: Decodable {
        var at: APIDuration
        var state: JSONObject?
        var alert: Alert?
        var priority: ActivityRequest.Priority?
        var relevance: Double?
        var staleAfter: APIDuration?
        var reopen: Bool?
        var end: Bool?
        var phone: String?
        var event: Event?
    }

    enum Event: String, Decodable, CaseIterable {
        /// It hands out a new update token.
        case token
        /// It reports nothing any more, and then again.
        case offline, online
        /// The person has not tapped Allow: cards that are started get no token; and then they do.
        case withhold, allow
        /// The person swipes the card away.
        case dismiss
        /// The app changes its card itself.
        case local
        /// It reports what it shows, by an inventory.
        case inventory
    }

    static let maximumLines = 10_000
    static let maximumBytes = 4 << 20
    static let maximumPhones = 100

    let lines: [Line]

    /// Three changes in quick succession, an alert, a phone that changes its token, and an end.
    static let example = """
        {"at": "0s", "state": {"status": "preparing"}}
        {"at": "60s", "state": {"status": "ready"}}
        {"at": 60.3, "state": {"status": "ready", "shelf": 4}}
        {"at": 60.6, "state": {"status": "ready", "shelf": 5}}
        {"at": "90s", "state": {"status": "delivering"}, "alert": {"title": "On its way"}}
        {"at": "2m", "phone": "phone", "event": "token"}
        {"at": "5m", "state": {"status": "delivered"}, "end": true}

        """

    init(_ text: String) throws(CommandError) {
        guard text.utf8.count <= Self.maximumBytes else { throw CommandError("the changes are more than 4 MiB") }
        var lines: [Line] = []
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            guard line.contains(where: { !$0.isWhitespace }) else { continue }
            let place = "line \(index + 1) of the changes"
            guard lines.count < Self.maximumLines else { throw CommandError("more than 10000 changes") }
            let value: JSONValue
            do { value = try JSONValue(parsing: Array(line.utf8)) } catch {
                throw CommandError("\(place) is not JSON: \(error)")
            }
            do throws(JSONDecodingError) { lines.append(try value.decode(Line.self)) } catch {
                throw CommandError("\(place): \(error)")
            }
            if let problem = Self.problem(lines[lines.count - 1], after: lines.dropLast().last) {
                throw CommandError("\(place): \(problem)")
            }
        }
        guard let first = lines.first, first.state != nil else {
            throw CommandError("the changes begin with a state: {\"at\": \"0s\", \"state\": {…}}")
        }
        guard Set(lines.compactMap(\.phone)).count <= Self.maximumPhones else {
            throw CommandError("more than 100 phones")
        }
        self.lines = lines
    }

    private static func problem(_ line: Line, after earlier: Line?) -> String? {
        if let earlier, line.at < earlier.at { return "`at` is before the line above" }
        if line.event != nil { return line.phone == nil ? "an `event` happens on a `phone`" : nil }
        if line.phone != nil {
            return "a `phone` needs an `event`: " + Event.allCases.map(\.rawValue).joined(separator: ", ")
        }
        return line.state == nil && line.end != true ? "a `state`, `end: true`, or an `event` is needed" : nil
    }

    /// The phones that are named, else one.
    var phones: [String] {
        let named = Set(lines.compactMap(\.phone)).sorted()
        return named.isEmpty ? ["phone"] : named
    }
}

/// One line of an explanation.
struct ExplainLine: Sendable, Equatable, Encodable {
    enum Kind: String, Sendable, Encodable { case call, phone, sent, held, refused }

    /// Seconds since the first change.
    var at: Double
    var kind: Kind
    var phone: String?
    /// What was sent: `start`, `update` or `end`.
    var push: String?
    var priority: Int?
    var revision: Int?
    /// The push's timestamp, in seconds since 1970.
    var timestamp: Int?
    var alert: Bool?
    /// Until when it is held, in seconds since the first change.
    var until: Double?
    /// A stable name, part of the API.
    var reason: String?
    /// In words.
    var text: String
}
