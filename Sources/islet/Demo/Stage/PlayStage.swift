import JSONText
import LiveActivityAPI
import Synchronization

/// What a play plays on: phones with notes about them, a server, and somebody who is told what happens.
final class PlayStage: Sendable {
    /// The processes, and the ways to talk to them.
    let stage: DemoStage
    private let play: any Play.Type
    /// How long a step stays on the screen.
    private let rest: Duration
    private let say: @Sendable (String) -> Void
    private let cast = Mutex(Cast())

    /// The phones in the order in which they came, and how each was drawn last.
    private struct Cast {
        var names: [String] = []
        var notes: [String: String] = [:]
        var drawn: [String: [String]] = [:]
    }

    /// How long a phone may take to show what it should, or to register.
    static let limit = Duration.seconds(30)

    init(
        _ stage: DemoStage, _ play: any Play.Type, rest: Duration, printing say: @escaping @Sendable (String) -> Void
    ) {
        self.stage = stage
        self.play = play
        self.rest = rest
        self.say = say
    }

    /// Where the server is.
    var isletAddress: String { stage.isletAddress }
    /// The backend's API key.
    var key: String { stage.key }
    /// The server's API, with that key.
    var islet: JSONCaller { stage.islet }
    /// The simulator's control API: faults, tokens, the pushes that came.
    var control: JSONCaller { stage.control }

    func line(_ text: String) { say(text) }

    // MARK: - Phones

    /// Makes a phone, and waits until its app has registered with the server.
    ///
    /// - Parameters:
    ///   - name: The phone's id, and its user's unless `more` names another.
    ///   - note: What is special about it, for the pictures.
    ///   - more: Fields of the simulator's `POST /v1/phones`.
    func addPhone(_ name: String, _ note: String, _ more: JSONObject = [:]) async throws {
        try await stage.addPhone(name, more)
        cast.withLock {
            $0.names.append(name)
            $0.notes[name] = note
        }
        try await registers(name)
    }

    /// Somebody does something on a phone: an action of the simulator's control API.
    @discardableResult
    func act(_ action: String, on phone: String, _ more: JSONObject = [:]) async throws -> JSONValue {
        try await stage.act(action, on: phone, more)
    }

    /// Waits until everything that a phone's app has to say has arrived at the server.
    func registers(_ phone: String) async throws {
        let stage = self.stage
        try await Waiting.until("\(phone)'s phone has said everything", within: Self.limit) {
            try await stage.hasReported(phone)
        }
    }

    /// Moves the clock of APNs and all phones ahead; the server's stays. Provider tokens are too old after 10 minutes.
    func advance(seconds: Double) async throws {
        try await control.call(
            .POST, "/v1/clock/advance", ["seconds": JSONNumber(seconds).map(JSONValue.number) ?? .null])
    }

    // MARK: - Steps

    /// Waits until every phone shows what it should, and draws those that changed.
    ///
    /// - Parameter expected: What each phone should show, by its name; every phone of the play is there.
    /// - Throws: `DemoFailure` that names each phone that does not, what was expected of it, and what it shows.
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
        // All of them once more: what was right has to stay so.
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
            let screen = try await stage.lockScreen(of: name)
            let note = cast.withLock { $0.notes[name] ?? "" }
            let picture = LockScreenPicture.lines(of: name, note, screen) { play.lines(of: $0) }
            let isNew = cast.withLock {
                guard $0.drawn[name] != picture else { return false }
                $0.drawn[name] = picture
                return true
            }
            if isNew { say(picture.joined(separator: "\n")) }
        }
    }

    // MARK: - What the server says

    /// What the server says of each phone of an activity, by the phone's id.
    func devices(of activity: String) async throws -> [String: DeviceView] {
        let view = try await islet.call(.GET, "/v1/activities/\(JSONCaller.segment(activity))")
            .decode(ActivityView.self)
        return Dictionary(view.devices.map { ($0.device, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// What the server says of one phone.
    ///
    /// - Throws: `DemoFailure` when it does not know it.
    func device(_ phone: String, of activity: String) async throws -> DeviceView {
        guard let device = try await devices(of: activity)[phone] else {
            throw DemoFailure("the server does not know \(phone)'s phone")
        }
        return device
    }

    /// Waits until the server says of a phone what is wanted.
    func device(
        _ phone: String, of activity: String, _ what: String, until isWanted: @escaping @Sendable (DeviceView) -> Bool
    ) async throws {
        try await Waiting.until("the server says of \(phone)'s phone: \(what)", within: Self.limit) {
            try await self.devices(of: activity)[phone].map(isWanted) ?? false
        }
    }

    /// Prints what happened to an activity, and why.
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
