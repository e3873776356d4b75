import JSONText
import LiveActivityAPI
import Synchronization

/// The environment of a play: phones with notes about them, a server, and a receiver of messages.
final class PlayStage: Sendable {
    /// Processes, with clients for them.
    let stage: DemoStage
    private let play: any Play.Type
    /// Time that a step stays on the screen.
    private let rest: Duration
    private let say: @Sendable (String) -> Void
    private let cast = Mutex(Cast())

    /// Phones in the order in which they were added, with their last drawings.
    private struct Cast {
        var names: [String] = []
        /// Notes on the phones that are drawn.
        var notes: [String: String] = [:]
        var drawn: [String: [String]] = [:]
    }

    /// Maximum time for a phone to register, or to show the expected cards.
    static let limit = Duration.seconds(30)

    init(
        _ stage: DemoStage, _ play: any Play.Type, rest: Duration, printing say: @escaping @Sendable (String) -> Void
    ) {
        self.stage = stage
        self.play = play
        self.rest = rest
        self.say = say
    }

    /// Address of the server.
    var isletAddress: String { stage.isletAddress }
    /// API key of the backend.
    var key: String { stage.key }
    /// Client of the server's API, with that key.
    var islet: JSONCaller { stage.islet }
    /// Client of the simulator's control API: faults, tokens and received pushes.
    var control: JSONCaller { stage.control }

    func line(_ text: String) { say(text) }

    // MARK: - Phones

    /// Creates a phone, and waits until its app has registered with the server.
    ///
    /// - Parameters:
    ///   - name: Id of the phone, and of its user unless `more` names another.
    ///   - note: Special feature of the phone, for the drawings.
    ///   - more: Fields of the simulator's `POST /v1/phones`.
    func addPhone(_ name: String, _ note: String, _ more: JSONObject = [:]) async throws {
        try await stage.addPhone(name, more)
        cast.withLock {
            $0.names.append(name)
            $0.notes[name] = note
        }
        try await registers(name)
    }

    /// Creates several phones, and waits until their apps have registered. All are checked, and the first one is drawn.
    ///
    /// - Parameters:
    ///   - name: Start of the ids, which end with `-1`, `-2` and so on, and of the users.
    ///   - count: Number of phones, at least 2.
    ///   - note: Special feature of the phones, for the drawings.
    /// - Returns: The ids.
    func addPhones(_ name: String, count: Int, _ note: String, _ more: JSONObject = [:]) async throws -> [String] {
        var all = more
        all["count"] = .number(JSONNumber(count))
        try await stage.addPhone(name, all)
        let ids = (1...count).map { "\(name)-\($0)" }
        cast.withLock {
            $0.names += ids
            $0.notes[ids[0]] = note
        }
        for id in ids { try await registers(id) }
        return ids
    }

    /// Performs a person's or an app's action on a phone, by the simulator's control API.
    @discardableResult
    func act(_ action: String, on phone: String, _ more: JSONObject = [:]) async throws -> JSONValue {
        try await stage.act(action, on: phone, more)
    }

    /// Waits until all pending reports of a phone's app have reached the server.
    func registers(_ phone: String) async throws {
        let stage = self.stage
        try await Waiting.until("\(phone)'s phone has said everything", within: Self.limit) {
            try await stage.hasReported(phone)
        }
    }

    /// Advances the clock of APNs and all phones, but not the server's.
    ///
    /// After more than 10 minutes, the server's provider tokens are too old for APNs.
    func advance(seconds: Double) async throws {
        try await control.call(
            .POST, "/v1/clock/advance", ["seconds": JSONNumber(seconds).map(JSONValue.number) ?? .null])
    }

    // MARK: - Steps

    /// Waits until every phone shows the expected cards, and draws the phones that changed.
    ///
    /// - Parameter expected: Expected lock screens by phone. It must contain every phone of the play.
    /// - Throws: `DemoFailure` that names each phone with a difference, with its expected and actual lock screen.
    func expect(_ expected: [String: Expected], within limit: Duration = PlayStage.limit) async throws {
        let names = cast.withLock(\.names)
        guard Set(names) == Set(expected.keys) else {
            throw DemoFailure("the play does not say of each of \(names.joined(separator: ", ")) what it should show")
        }
        let end = ContinuousClock.now + limit
        var wrong: [String] = names
        repeat {
            wrong = try await differences(expected, of: wrong)
            guard !wrong.isEmpty else { break }
            try await Task.sleep(for: Waiting.pause)
        } while ContinuousClock.now < end
        // All phones are checked once more, because a result that was right must stay right.
        let last = try await differences(expected, of: names)
        guard last.isEmpty else { throw DemoFailure(try await words(expected, of: last)) }
        try await draw(names)
        try await Task.sleep(for: rest)
    }

    private func differences(_ expected: [String: Expected], of names: [String]) async throws -> [String] {
        var wrong: [String] = []
        for name in names
        where expected[name]?.difference(from: try await stage.lockScreen(of: name)) != nil { wrong.append(name) }
        return wrong
    }

    private func words(_ expected: [String: Expected], of names: [String]) async throws -> String {
        var lines: [String] = []
        for name in names {
            let phone = try await control.call(.GET, "/v1/phones/\(JSONCaller.segment(name))").object ?? [:]
            let difference = expected[name]?.difference(from: phone["lockScreen"]?.object ?? [:])
            lines.append("\(name)'s phone: \(difference ?? "it was late")")
            for entry in phone["log"]?.array?.compactMap(\.object).suffix(3) ?? [] {
                lines.append("  its log: \(entry["code"]?.string ?? "") (\(entry["words"]?.string ?? ""))")
            }
        }
        return lines.joined(separator: "\n")
    }

    private func draw(_ names: [String]) async throws {
        for name in names {
            guard let note = cast.withLock({ $0.notes[name] }) else { continue }
            let screen = try await stage.lockScreen(of: name)
            let picture = LockScreenPicture.lines(of: name, note, screen) { play.lines(of: $0) }
            let isNew = cast.withLock {
                guard $0.drawn[name] != picture else { return false }
                $0.drawn[name] = picture
                return true
            }
            if isNew { say(picture.joined(separator: "\n")) }
        }
    }

    // MARK: - The server's view

    /// Returns the server's view of each phone of an activity, by the phone's id.
    func devices(of activity: String) async throws -> [String: DeviceView] {
        let view = try await islet.call(.GET, "/v1/activities/\(JSONCaller.segment(activity))")
            .decode(ActivityView.self)
        return Dictionary(view.devices.map { ($0.device, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// Returns the server's view of one phone.
    ///
    /// - Throws: `DemoFailure` if the server does not know the phone.
    func device(_ phone: String, of activity: String) async throws -> DeviceView {
        guard let device = try await devices(of: activity)[phone] else {
            throw DemoFailure("the server does not know \(phone)'s phone")
        }
        return device
    }

    /// Waits until the server's view of a phone meets a condition.
    func device(
        _ phone: String, of activity: String, _ what: String, until isWanted: @escaping @Sendable (DeviceView) -> Bool
    ) async throws {
        try await Waiting.until("the server says of \(phone)'s phone: \(what)", within: Self.limit) {
            try await self.devices(of: activity)[phone].map(isWanted) ?? false
        }
    }

    /// Prints the timeline of an activity with its reasons.
    func printTimeline(of activity: String) async throws {
        let view = try await islet.call(.GET, "/v1/activities/\(JSONCaller.segment(activity))/timeline?limit=500")
            .decode(TimelineView.self)
        say("\nTimeline of \(activity):")
        let width = cast.withLock { $0.names.map(\.count).max() ?? 0 }
        for entry in view.entries {
            let time = entry.at.description.dropFirst(11).prefix(12)
            let status = entry.status.map { " → \($0)" } ?? ""
            say(
                "  \(time)  \(pad(entry.device ?? "·", width)) \(pad(entry.kind, 15)) r\(entry.revision)\(status)  "
                    + entry.text)
        }
    }

    private func pad(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }
}
