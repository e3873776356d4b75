import Foundation
import JSONText
import LiveActivityAPI

/// The script of an explanation: lines of JSON in order, each with its time.
struct ExplainScript {
    /// One line: a new state, the end of the activity, or an event on a phone.
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
        /// The phone gets a new update token.
        case token
        /// The phone stops reporting, or reports again.
        case offline, online
        /// The person has not tapped Allow, so new cards get no token; or the person taps it.
        case withhold, allow
        /// The person swipes the card away.
        case dismiss
        /// The app changes its card itself.
        case local
        /// The phone reports all its cards in an inventory.
        case inventory
    }

    static let maximumLines = 10_000
    static let maximumBytes = 4 << 20
    static let maximumPhones = 100

    let lines: [Line]

    /// Three changes in quick succession, an alert, a new token and an end.
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

    /// Names of the phones in the script, or one phone if it names none.
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
    /// Kind of the push: `start`, `update` or `end`.
    var push: String?
    var priority: Int?
    var revision: Int?
    /// Timestamp of the push in seconds since 1970.
    var timestamp: Int?
    var alert: Bool?
    /// End of the wait in seconds since the first change.
    var until: Double?
    /// Stable code of the reason, part of the API.
    var reason: String?
    /// Reason in words.
    var text: String
}
