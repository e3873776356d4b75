import APNSModel
import JSONText
import LiveActivityCore
import TestSupport
import Testing

/// An app with its store and clock, and its commands under short names.
struct Scene {
    var store = ModelStore()
    var now = Sample.now
    var app: AppSettings
    var node: Int64 = 1
    var limits = ClaimWork.Limits()
    private var claims: UInt64 = 0

    init(_ types: ActivityType..., environments: Set<APNSEnvironment> = [.sandbox, .production]) {
        app = AppSettings(
            bundleID: Sample.bundleID, types: types.isEmpty ? [Sample.type()] : types, environments: environments)
    }

    var type: ActivityType { app.types["order"] ?? Sample.type() }

    mutating func run<C: Command>(_ command: C) throws -> C.Reply { try store.run(command).get() }

    // MARK: - Phones

    @discardableResult
    mutating func register(
        _ device: String = "phone", user: String = "ann", os: OSVersion? = OSVersion(18, 0),
        environment: APNSEnvironment? = .production, startToken: String? = "p2s", key: DeviceKey = 7
    ) throws -> DeviceKey {
        var body = RegisterDevice.Body(user: Sample.user(user))
        body.osVersion = os
        body.activitiesEnabled = true
        body.environment = environment
        let key = try run(
            RegisterDevice(app: app, id: Sample.device(device), body: body, now: now, freshKey: key))
        if let startToken { try registerStart(device, startToken) }
        return key
    }

    mutating func registerStart(_ device: String, _ token: String, type: String = "order") throws {
        _ = try run(
            RegisterPushToStartToken(
                app: app, id: Sample.device(device), type: type, token: Sample.token(token), now: now))
    }

    mutating func report(
        _ device: String = "phone", local: String = "card", _ state: CardReport.State = .active,
        activity: String? = "a", token: String? = nil, type: ActivityType? = nil,
        _ change: (inout CardReport) -> Void = { _ in }
    ) throws {
        var report = CardReport(localID: Sample.local(local), type: type ?? self.type, state: state)
        report.activity = activity.map(Sample.activityID)
        report.token = token.map { Sample.token($0) }
        change(&report)
        _ = try run(ReportCard(app: app, device: Sample.device(device), report: report, now: now))
    }

    mutating func inventory(
        _ device: String = "phone", sequence: Int64, _ cards: [CardReport] = []
    ) throws -> ReportInventory.Reply {
        try run(
            ReportInventory(app: app, device: Sample.device(device), sequence: sequence, reports: cards, now: now))
    }

    // MARK: - The backend

    @discardableResult
    mutating func put(
        _ id: String = "a", _ step: Int = 1, users: [String]? = nil, type: ActivityType? = nil,
        _ change: (inout SetDesiredState.Body) -> Void = { _ in }
    ) throws -> SetDesiredState.Reply {
        var body = SetDesiredState.Body(state: Sample.state(step))
        body.users = users?.map(Sample.user)
        change(&body)
        return try run(
            SetDesiredState(
                app: app.bundleID, id: Sample.activityID(id), type: type ?? self.type, body: body, now: now))
    }

    mutating func changeAudience(add: [String] = [], remove: [String] = []) throws {
        _ = try run(
            ChangeAudience(
                app: app.bundleID, id: Sample.activityID("a"),
                change: .change(add: add.map(Sample.user), remove: remove.map(Sample.user)), now: now))
    }

    @discardableResult
    mutating func end(
        _ id: String = "a", _ state: JSONObject? = nil, dismissal: DismissalWish = .systemDefault,
        alert: SetDesiredState.AlertWish? = nil
    ) throws -> EndActivity.Reply {
        try run(
            EndActivity(
                app: app, id: Sample.activityID(id), state: state, alert: alert, dismissal: dismissal, now: now))
    }

    // MARK: - Delivery

    mutating func claim() throws -> ClaimWork.Reply {
        claims += 1
        return try run(
            ClaimWork(now: now, node: node, apps: [app.bundleID: app], limits: limits, seed: claims &* 7919))
    }

    @discardableResult
    mutating func settle(
        _ flight: Flight, dice: Double = 0.5, _ outcome: (Flight.Seat) -> SettleFlight.Outcome
    ) throws -> SettleFlight.Reply {
        try run(settlement(flight, dice: dice, outcome))
    }

    func settlement(
        _ flight: Flight, dice: Double = 0.5, _ outcome: (Flight.Seat) -> SettleFlight.Outcome
    ) -> SettleFlight {
        SettleFlight(
            flight: flight, entries: flight.seats.map { .init(seat: $0, outcome: outcome($0), dice: dice) }, app: app,
            now: now)
    }

    /// Claims and answers until nothing is due. Returns the pushes sent, in order.
    @discardableResult
    mutating func deliver(
        _ answer: PushAnswer = PushAnswer(status: 200), claims limit: Int = 50
    ) throws -> [Flight.Seat] {
        var sent: [Flight.Seat] = []
        for _ in 0..<limit {
            let reply = try claim()
            for flight in reply.flights {
                sent += flight.seats
                try settle(flight) { _ in .answered(.success(answer)) }
            }
            if reply.flights.isEmpty && !reply.hasMore { return sent }
        }
        Issue.record("work is due without end")
        return sent
    }

    /// Claims the push that is due: one flight of one seat.
    mutating func onlyFlight() throws -> Flight {
        let flights = try claim().flights
        let flight = try #require(flights.first)
        #expect(flights.count == 1 && flight.seats.count == 1)
        return flight
    }

    mutating func wait(_ duration: Duration) { now = now + duration }

    // MARK: - Looking

    struct NotFound: Error {}

    /// Returns the row, or throws. A simulation may ignore the error, unlike a failed expectation.
    private func found<Row>(_ row: Row?) throws -> Row {
        guard let row else { throw NotFound() }
        return row
    }

    func activity(_ id: String = "a") throws -> ActivityRecord {
        let number = try found(store.rows.activityNumbers[.init(app.bundleID, Sample.activityID(id))])
        return try found(store.rows.activities[number])
    }

    func lane(_ id: String = "a") throws -> LaneRecord {
        let number = try activity(id).number
        return store.rows.lanes[number]?.first ?? LaneRecord(activity: number)
    }

    func card(_ device: String = "phone", of id: String = "a") throws -> CardMachine {
        let key = try found(store.rows.deviceKeys[.init(app.bundleID, Sample.device(device))])
        return try found(store.rows.cards[.init(try activity(id).number, key)])
    }

    func decision(_ device: String = "phone", of id: String = "a") throws -> Decision {
        let (activity, card) = (try activity(id), try card(device, of: id))
        let part = store.load([.phones(activity.number, devices: [card.device])])
        let phone = try found(Draft(part).phone(.init(activity.number, card.device), type: activity.type))
        let content = try found(store.rows.contents[activity.number])
        let type = try found(app.types[activity.type])
        return Reconciler.decide(DesiredSituation(activity, type, content, Draft(part)), phone, now: now)
    }

    /// A phone whose live card has an update token and the newest state.
    static func live(_ type: ActivityType = Sample.type()) throws -> Scene {
        var scene = Scene(type)
        try scene.register()
        try scene.put(users: ["ann"])
        scene.wait(.seconds(20))
        #expect(try scene.deliver().map(\.plan.kind) == [.start])
        try scene.report(token: "u1")
        scene.wait(.seconds(2))
        try scene.deliver()
        scene.wait(type.policy.coalescingWindow)
        return scene
    }
    /// A live phone with a flight to it on its way.
    static func updating(_ change: (inout SetDesiredState.Body) -> Void = { _ in }) throws -> (Scene, Flight) {
        var scene = try live()
        scene.wait(.seconds(60))
        try scene.put("a", 2, change)
        scene.wait(.seconds(2))
        let flight = try scene.onlyFlight()
        return (scene, flight)
    }
}
