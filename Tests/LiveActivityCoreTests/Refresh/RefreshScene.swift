import APNSModel
import JSONText
import LiveActivityCore
import TestSupport

/// A provider-driven type with its store, clock and people.
struct RefreshScene {
    var store = ModelStore()
    var now = Sample.now
    var node: Int64 = 1
    var app: AppSettings
    private var nextKey: DeviceKey = 7
    /// Rules by zone. Other zones use UTC.
    var zones = ZoneTable()

    static let user = Sample.user("ann")

    init(_ change: (inout TypePolicy) -> Void = { _ in }) {
        var type = Sample.type("focus", activityIDAttribute: nil, change)
        type.isProvided = true
        app = Sample.app(type)
    }

    var type: ActivityType { app.types["focus"] ?? Sample.type("focus") }
    var want: DueRefreshes.Want { DueRefreshes.Want(app: app.bundleID, type: "focus", limit: 9, paced: 9) }

    @discardableResult
    mutating func run<C: Command>(_ command: C) throws -> C.Reply { try store.run(command).get() }

    mutating func register(
        _ device: String = "phone", zone: String? = "Europe/Berlin", user: String = "ann",
        _ change: (inout RegisterDevice.Body) -> Void = { _ in }
    ) throws {
        var body = RegisterDevice.Body(user: Sample.user(user))
        body.timeZone = zone
        body.osVersion = OSVersion(18, 0)
        body.environment = .production
        change(&body)
        nextKey += 1
        try run(
            RegisterDevice(app: app, id: Sample.device(device), body: body, now: now, freshKey: nextKey))
    }

    @discardableResult
    mutating func ask(_ pace: RefreshRecord.Pace = .prompt, _ users: String...) throws -> Int {
        let users = users.isEmpty ? [Self.user] : users.map(Sample.user)
        return try run(AskRefresh(app: app.bundleID, users: users, types: ["focus"], pace: pace, now: now)).asked
    }

    mutating func claim(limit: Int = 9, paced: Int = 9) throws -> [RefreshRun] {
        var want = want
        want.limit = limit
        want.paced = paced
        return try run(
            ClaimRefreshes(
                DueRefreshes(at: now, node: node, wants: [want]), leaseOfZone: .seconds(10), leaseMargin: .seconds(10))
        ).runs
    }

    @discardableResult
    mutating func finish(
        _ run: RefreshRun, dice: Double = 0, _ answer: (RefreshRun.Zone) -> FinishRefresh.Zone.Outcome
    ) throws -> FinishRefresh.Reply {
        let zones = run.zones.map { zone in
            let rules = self.zones.rules(of: zone.name) ?? .utc
            return FinishRefresh.Zone(
                name: zone.name, day: rules.local(now).date, devices: zone.devices, outcome: answer(zone),
                midnight: rules.nextDay(after: now))
        }
        return try self.run(FinishRefresh(type: type, run: run, zones: zones, now: now, dice: dice))
    }

    /// Claims what is due and answers it.
    @discardableResult
    mutating func compute(_ answer: (RefreshRun.Zone) -> FinishRefresh.Zone.Outcome) throws -> [FinishRefresh.Reply] {
        try claim().map { try finish($0, answer) }
    }

    static func show(_ step: Int, memo: JSONValue? = nil) -> FinishRefresh.Zone.Outcome {
        var answer = RefreshAnswer(state: Sample.state(step))
        answer.memo = memo
        return .show(answer)
    }

    var record: RefreshRecord? { store.rows.refreshes.values.first { $0.userID == Self.user } }

    func activity(on device: String = "phone", of user: String = "ann") -> ActivityRecord? {
        let id = ProvidedActivity.id(type: "focus", user: Sample.user(user), device: Sample.device(device))
        return store.rows.activityNumbers[.init(app.bundleID, id)].flatMap { store.rows.activities[$0] }
    }

    func state(on device: String = "phone") -> JSONValue? {
        activity(on: device).flatMap { store.rows.contents[$0.number] }
            .flatMap { try? JSONValue(parsing: $0.state.bytes) }
    }

    func card(on device: String = "phone") -> CardMachine? {
        guard let activity = activity(on: device),
            let key = store.rows.deviceKeys[.init(app.bundleID, Sample.device(device))]
        else { return nil }
        return store.rows.cards[.init(activity.number, key)]
    }

    mutating func report(
        _ local: String = "card", on device: String = "phone", state: CardReport.State = .active, shows step: Int?
    ) throws {
        var report = CardReport(localID: Sample.local(local), type: type, state: state)
        report.contentState = step.map { Sample.state($0) }
        report.attributes = ["person": "ann"]
        report.token = state == .active ? Sample.token("update-\(local)") : nil
        try run(ReportCard(app: app, device: Sample.device(device), report: report, now: now))
    }

    /// Returns the pushes that a claim of the dispatcher would send now.
    mutating func pushes() throws -> [PushPlan] {
        try run(
            ClaimWork(now: now, node: node, apps: [app.bundleID: app], limits: ClaimWork.Limits(), seed: 1)
        ).flights.flatMap(\.seats).map(\.plan)
    }
}
