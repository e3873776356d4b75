import APNSModel
import Foundation
import JSONText
import LiveActivityAPI
import LiveActivityCore
import LiveActivityStorage
import StorageSQL
import StorageSQLite

/// A run of changes through the server's store, claims and reconciler, with a separate clock and an APNs that accepts
/// every push.
struct ExplainRun {
    private var stage: TrialStage
    private var store: SQLStore { stage.store }
    private var app: AppSettings { stage.app }
    private let type: ActivityType
    private let script: ExplainScript
    private let began: UnixTime
    private let activity = ActivityID(stored: "activity")
    private var now: UnixTime
    private var phones: [ExplainPhone]
    private var lines: [ExplainLine] = []
    /// Last printed reason why each phone waits.
    private var held: [String: LiveActivityCore.Reason] = [:]

    init(store: SQLStore, app: AppSettings, type: ActivityType, script: ExplainScript, from began: UnixTime) {
        stage = TrialStage(store: store, app: app)
        self.type = type
        self.script = script
        self.began = began
        now = began - .seconds(86_400)
        phones = script.phones.map(ExplainPhone.init)
    }

    /// Runs the script.
    ///
    /// - Parameter rest: Time that the run continues after the last change.
    mutating func run(timeZone: String?, frequent: Bool, rest: Duration) async throws -> [ExplainLine] {
        for phone in phones { try await register(phone, timeZone, frequent) }
        var changes = script.lines[...]
        let end = began + (script.lines.last?.at.duration ?? .zero) + rest
        now = began
        for _ in 0..<TrialStage.maximumSteps {
            while let line = changes.first, began + line.at.duration <= now {
                changes.removeFirst()
                try await play(line)
            }
            for index in phones.indices { try await report(index) }
            for push in try await stage.deliver(at: now) { sent(push.seat) }
            try await explain()
            let times = [
                changes.first.map { began + $0.at.duration }, try await store.nextWakeAt(),
                phones.filter(\.isOnline).compactMap(\.reportAt).min(),
            ]
            guard let next = times.compactMap({ $0 }).min(), next <= end else { return lines }
            now = max(now + .milliseconds(1), next)
        }
        throw CommandError("nothing comes to rest within \(TrialStage.maximumSteps) steps")
    }

    // MARK: - Events

    private func register(_ phone: ExplainPhone, _ timeZone: String?, _ frequent: Bool) async throws {
        var body = RegisterDevice.Body(user: phone.user)
        body.osVersion = OSVersion(18, 0)
        body.activitiesEnabled = true
        body.frequentPushesEnabled = frequent
        body.environment = app.defaultEnvironment
        body.timeZone = timeZone
        let key = DeviceKey(truncatingIfNeeded: Digest.fnv1a(phone.name.utf8)) & .max
        try await stage.register(phone.device, body, key: key, starts: type.name, at: now)
    }

    private mutating func play(_ line: ExplainScript.Line) async throws {
        if let name = line.phone, let event = line.event, let index = phones.firstIndex(where: { $0.name == name }) {
            let what = phones[index].live(through: event, at: now)
            add(.phone, phone: name, what ?? "has no card, so that nothing happens")
            return
        }
        if line.end == true { try await end(line) } else { try await set(line) }
    }

    private mutating func set(_ line: ExplainScript.Line) async throws {
        var body = SetDesiredState.Body(state: line.state ?? [:])
        body.users = phones.map(\.user)
        body.devices = .all
        body.alert = line.alert.map(Self.alert)
        body.priority = line.priority.flatMap { .init(rawValue: $0.rawValue) } ?? .auto
        body.relevance = line.relevance
        body.staleAfter = line.staleAfter?.duration
        body.reopen = line.reopen ?? false
        let command = SetDesiredState(app: app.bundleID, id: activity, type: type, body: body, now: now)
        switch try await store.commit(command) {
        case .success(let reply):
            let what = reply.changed ? "a state is set" : "the same state is set again"
            add(.call, revision: reply.revision, "\(what)\(line.alert == nil ? "" : ", with an alert")")
        case .failure(let refusal): add(.refused, "the state is refused: \(refusal)")
        }
    }

    private mutating func end(_ line: ExplainScript.Line) async throws {
        let command = EndActivity(
            app: app, id: activity, state: line.state, alert: line.alert.map(Self.alert),
            dismissal: .systemDefault, now: now)
        switch try await store.commit(command) {
        case .success(let reply): add(.call, revision: reply.revision, "the activity is ended")
        case .failure(let refusal): add(.refused, "the end is refused: \(refusal)")
        }
    }

    private mutating func report(_ index: Int) async throws {
        guard phones[index].isOnline, let at = phones[index].reportAt, at <= now else { return }
        let state = try await store.activity(app.bundleID, activity)
        let reports = phones[index].report(of: type, activity, phase: state?.record.phase, at: now)
        let device = phones[index].device
        if reports.isEmpty {
            let sequence = phones[index].nextInventory()
            _ = try await stage.commit(
                ReportInventory(app: app, device: device, sequence: sequence, reports: [], now: now))
        }
        for report in reports {
            _ = try await store.commit(ReportCard(app: app, device: device, report: report, now: now))
            let token = report.token == nil ? "" : ", with its update token"
            add(.phone, phone: phones[index].name, "reports its card as \(report.state.rawValue)\(token)")
        }
    }

    // MARK: - Consequences

    private mutating func sent(_ seat: Flight.Seat) {
        guard let index = phones.firstIndex(where: { $0.device == seat.phone.device.id }) else { return }
        phones[index].receive(seat.plan, timestamp: seat.timestamp, at: now)
        held[phones[index].name] = nil
        var line = ExplainLine(at: since(now), kind: .sent, phone: phones[index].name, text: seat.plan.reason.text)
        line.push = seat.plan.kind.name
        line.priority = seat.plan.priority.rawValue
        line.revision = Int(seat.plan.revision)
        line.timestamp = Int(seat.timestamp)
        line.alert = seat.plan.carriesAlert || seat.plan.kind == .start
        line.reason = seat.plan.reason.code.rawValue
        lines.append(line)
    }

    /// Adds a line for each phone that waits for a new reason.
    private mutating func explain() async throws {
        guard let state = try await store.activity(app.bundleID, activity), let content = state.content else { return }
        let desired = state.desired(type, content)
        for phone in try await store.phones(of: state.record.number, after: -1, limit: ExplainScript.maximumPhones) {
            let decision = Reconciler.decide(desired, phone, now: now)
            let (until, reason): (UnixTime?, LiveActivityCore.Reason)
            switch decision {
            case .wait(let time, let why): (until, reason) = (time, why)
            case .fallBack(let why), .nothing(let why): (until, reason) = (nil, why)
            case .send:
                guard state.record.holdUntil > now else { continue }
                add(
                    .held, phone: phone.device.id.text, until: state.record.holdUntil, reason: "coalescing",
                    "changes within \(Wording.duration(type.policy.coalescingWindow)) of a push go out together")
                continue
            }
            let name = phone.device.id.text
            guard reason.code != .upToDate, held[name] != reason else { continue }
            held[name] = reason
            add(.held, phone: name, until: until, reason: reason.code.rawValue, reason.text)
        }
    }

    // MARK: - Output

    private mutating func add(
        _ kind: ExplainLine.Kind, phone: String? = nil, revision: Revision? = nil, until: UnixTime? = nil,
        reason: String? = nil, _ text: String
    ) {
        lines.append(
            ExplainLine(
                at: since(now), kind: kind, phone: phone, revision: revision.map(Int.init),
                until: until.map { since($0) }, reason: reason, text: text))
    }

    private func since(_ time: UnixTime) -> Double { Double((time - began).wholeMilliseconds) / 1000 }

    private static func alert(_ alert: Alert) -> SetDesiredState.AlertWish {
        func text(_ text: AlertText) -> PushAlert.Text {
            switch text {
            case .text(let text): .text(text)
            case .localized(let key, let arguments): .localized(key: key, arguments: arguments)
            }
        }
        var wish = SetDesiredState.AlertWish(
            PushAlert(title: text(alert.title), body: alert.body.map(text), sound: alert.sound))
        wish.id = alert.id
        wish.keep = alert.keep ?? false
        wish.expiresAfter = alert.expiresAfter?.duration ?? wish.expiresAfter
        return wish
    }
}
