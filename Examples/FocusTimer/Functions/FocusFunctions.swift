import BackendCalls
public import Foundation
import JSONText

/// The app's cloud functions: register a card's token, update the timer, end it.
///
/// They keep the sessions and their owners. Islet decides what a phone is sent, and when. The platform has
/// authenticated the caller's person.
public actor FocusFunctions {
    private let islet: IsletAPI
    private let now: @Sendable () -> Date
    private var sessions: [String: FocusSession] = [:]

    /// The most timers that are kept. Further calls are told to come back later.
    public static let maximumSessions = 10_000
    /// The time for which an ended timer stays on the lock screen if the app names no date.
    private static let dismissAfter = "1m"

    /// - Parameters:
    ///   - islet: The server's address, such as `http://127.0.0.1:8080`.
    ///   - key: An API key with the scope `backend`.
    ///   - now: The clock that measures pauses.
    public init(islet: String, key: String, now: @escaping @Sendable () -> Date = { Date() }) {
        self.islet = IsletAPI(islet: islet, key: key)
        self.now = now
    }

    /// A running card on a phone.
    public struct Card: Sendable, Hashable {
        /// The app's id of the installation, as registered with Islet.
        public var device: String
        /// ActivityKit's id of the card.
        public var localID: String
        /// The card's update token, as hexadecimal digits.
        public var token: String

        /// The app's data about a card that it started.
        public init(device: String, localID: String, token: String) {
            self.device = device
            self.localID = localID
            self.token = token
        }
    }

    // MARK: - The three calls

    /// Begins a timer, which the person's other phones then show.
    ///
    /// - Returns: The session. An existing session of this person is returned unchanged.
    @discardableResult
    public func start(
        _ id: String, title: String, length: TimeInterval, as person: String
    ) async throws -> FocusSession {
        guard !id.isEmpty, !title.isEmpty, length > 0, length.isFinite else {
            throw FocusError.invalidArgument("a timer has an id, a title and a length over 0")
        }
        if sessions[id] == nil {
            guard sessions.count < Self.maximumSessions else {
                throw FocusError.resourceExhausted("\(Self.maximumSessions) timers are kept")
            }
            sessions[id] = FocusSession(id: id, owner: person, title: title, length: length, startedAt: now())
        }
        return try await publish(try session(id, of: person))
    }

    /// Registers the token of a timer's card; a second call replaces the token.
    public func register(_ card: Card, of id: String, as person: String) async throws {
        let session = try session(id, of: person)
        let path = "/v1/devices/\(IsletAPI.segment(card.device))/instances/\(IsletAPI.segment(card.localID))"
        try refuse(
            try await call(
                .PUT, path,
                [
                    "type": "FocusTimer", "state": "active", "activity": .string(Self.activity(session)),
                    "token": .string(card.token),
                ]))
    }

    /// An action of a person on a running timer.
    public enum Change: Sendable, Hashable {
        case pause, resume
    }

    /// Updates the timer on every phone of the person. A repeated call changes nothing.
    ///
    /// Several calls within a second reach the phones as one push with the last state.
    @discardableResult
    public func update(_ change: Change, _ id: String, as person: String) async throws -> FocusSession {
        var session = try session(id, of: person)
        guard !session.isOver else { throw FocusError.invalidArgument("the timer is over") }
        switch change {
        case .pause: session.pause(at: now())
        case .resume: session.resume(at: now())
        }
        // The session changes first. If Islet cannot be reached now, a repeated call tells it later.
        sessions[id] = session
        return try await publish(session)
    }

    /// Ends the timer on every phone. A repeated call changes nothing.
    ///
    /// - Parameter dismissAt: The time at which it leaves the lock screen, at most four hours ahead. With `nil` it is a
    ///   minute after the end.
    @discardableResult
    public func end(_ id: String, dismissAt: Date? = nil, as person: String) async throws -> FocusSession {
        var session = try session(id, of: person)
        session.end(at: now())
        sessions[id] = session
        var body: JSONObject = [
            "state": try JSONValue(encoding: session.state), "sequence": .number(JSONNumber(session.version)),
            "alert": ["id": "over", "title": "Well done", "body": .string(session.title)],
        ]
        if let dismissAt {
            body["dismissAt"] = .string(dismissAt.formatted(.iso8601))
        } else {
            body["dismissAfter"] = .string(Self.dismissAfter)
        }
        try refuse(
            try await call(
                .POST, "/v1/activities/\(IsletAPI.segment(Self.activity(session)))/end", .object(body)))
        return session
    }

    // MARK: - Parts

    /// Only the person who owns a timer may see or change it.
    private func session(_ id: String, of person: String) throws(FocusError) -> FocusSession {
        guard let session = sessions[id] else { throw .notFound("there is no timer `\(id)`") }
        guard session.owner == person else { throw .permissionDenied("the timer `\(id)` is somebody else's") }
        return session
    }

    private func publish(_ session: FocusSession) async throws -> FocusSession {
        try refuse(
            try await call(
                .PUT, "/v1/activities/\(IsletAPI.segment(Self.activity(session)))",
                [
                    "type": "FocusTimer", "state": try JSONValue(encoding: session.state),
                    "attributes": [
                        "sessionID": .string(Self.activity(session)), "title": .string(session.title),
                        "length": JSONNumber(session.length).map(JSONValue.number) ?? .null,
                    ],
                    "audience": ["users": [.string(session.owner)], "devices": "all"],
                    "sequence": .number(JSONNumber(session.version)), "priority": "high",
                    "relevance": session.state.pausedAt == nil ? 100 : 50,
                ]))
        return session
    }

    private static func activity(_ session: FocusSession) -> String { "focus-\(session.id)" }

    private func call(
        _ method: IsletAPI.Method, _ path: String, _ body: JSONValue
    ) async throws(FocusError) -> IsletAPI.Answer {
        do {
            return try await islet.call(method, path, body)
        } catch {
            throw .unavailable("Islet did not answer")
        }
    }

    private func refuse(_ answer: IsletAPI.Answer) throws(FocusError) {
        if let error = FocusError(answer) { throw error }
    }
}
