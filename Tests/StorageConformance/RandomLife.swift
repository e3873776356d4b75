import APNSModel
import JSONText
import LiveActivityCore
import TestSupport

/// Random commands of backends, phones and a dispatcher. Few names are used, so that the commands meet.
struct RandomLife {
    var dice: SeededDice
    var pair: Pair
    var now = Sample.now
    var node: Int64 = 1
    let apps: [AppSettings]
    private var sequence: Int64 = 0

    static let activities = ["a", "b", "c", "11111111-aaaa-4bbb-8ccc-222222222222"]
    static let users = ["ann", "bob", "cat"]
    static let devices = ["d1", "d2", "d3", "d4", "d5"]
    /// Pauses in milliseconds. The longest brings cards near the end of their lifetime.
    private static let pauses = [0, 10, 300, 300, 1000, 1000, 5000, 20_000, 20_000, 70_000, 1_000_000, 9_000_000]
    private static let cards = (1...8).map { "card-\($0)" }

    init(seed: UInt64, _ pair: Pair) {
        dice = SeededDice(seed: seed)
        self.pair = pair
        apps = ["com.acme.pizza", "com.acme.taxi"].map { name in
            AppSettings(
                bundleID: Sample.bundle(name),
                types: [
                    Sample.type { policy in
                        policy.isReusable = true
                        policy.fallback = AlertTemplate(Sample.alert)
                        policy.renewal = true
                        policy.staleAfter = .seconds(300)
                        policy.atCeiling = .endLeastRelevant
                        policy.ceiling = 2
                        policy.delivery = name == "com.acme.taxi" ? .auto : .token
                        policy.join = name == "com.acme.taxi" ? .open : .audience
                    },
                    Sample.type("ride", activityIDAttribute: "/ride") { policy in
                        policy.authority = .app
                        policy.atCeiling = name == "com.acme.taxi" ? .wait : .ignore
                        policy.ceiling = 1
                        policy.delivery = name == "com.acme.taxi" ? .token : .channel
                        policy.channelStorage = .none
                        policy.channelAlerts = .notification
                    },
                    Self.provided,
                ],
                environments: [.sandbox, .production])
        }
    }

    mutating func live(steps: Int) async throws {
        for _ in 0..<steps {
            if dice.chance(40) { pair.claim = claimWork() }
            try await act()
            now = now + .milliseconds(Int64(dice.pick(Self.pauses)))
        }
    }

    /// Runs commands while the writer is held, so that several share a transaction.
    mutating func live(groups: Int) async throws {
        for _ in 0..<groups {
            // The claim comes after the commands.
            if dice.chance(60) { pair.claim = claimWork(after: .seconds(1)) }
            pair.open()
            for _ in 0..<2 + dice.roll(10) {
                try await act()
                now = now + .milliseconds(Int64(dice.pick([0, 0, 1, 40])))
            }
            try await pair.close()
            now = now + .milliseconds(Int64(dice.pick(Self.pauses)))
        }
    }

    mutating func act() async throws {
        switch dice.roll(100) {
        case 0..<10: try await put()
        case 10..<13: try await patch()
        case 13..<15: try await audience()
        case 15..<16: try await refresh()
        case 16..<20: try await end()
        case 20..<32: try await register()
        case 32..<40: try await registerStart()
        case 40..<56: try await report()
        case 56..<62: try await inventory()
        case 62..<65:
            let app = app()
            try await pair.run(
                "sign out", SignOutDevice(app: app.bundleID, id: Sample.device(dice.pick(Self.devices)), now: now))
        case 65..<67: try await refresh()
        case 67..<70: try await channels()
        case 70..<80: try await claim()
        case 80..<90: try await settle()
        case 90..<93: try await notify()
        case 93..<95: try await claimNotifications()
        case 95..<98: try await settleNotifications()
        default:
            node += 1
            pair.leavings.flights = []
            pair.leavings.notifications = []
            if dice.chance(50) { pair.leavings.runs = [] }
            if dice.chance(50) { pair.leavings.errands = [] }
        }
    }

    mutating func app() -> AppSettings { apps[dice.chance(85) ? 0 : 1] }
    private mutating func type(_ app: AppSettings) -> ActivityType {
        app.types[dice.chance(70) ? "order" : dice.chance(50) ? "ride" : "focus"] ?? Sample.type()
    }
    /// Returns one of few values of each kind, so that phones take over each other's.
    mutating func word(_ kind: String) -> String { "\(kind)-\(dice.roll(7))" }
    private mutating func attributes() -> JSONObject { ["shop": .string(dice.pick(["here", "there"]))] }

    // MARK: - Backend

    /// Returns an activity id. A UUID names the same activity in upper and lower case.
    mutating func activity() -> ActivityID {
        let id = dice.pick(Self.activities)
        return Sample.activityID(id.utf8.count == 36 && dice.chance(40) ? id.uppercased() : id)
    }

    private mutating func put() async throws {
        let (app, id) = (app(), activity())
        var body = SetDesiredState.Body(state: Sample.state(dice.roll(5)))
        if dice.chance(50) { body.attributes = attributes() }
        if dice.chance(50) {
            body.users = (0..<dice.roll(4)).map { _ in Sample.user(dice.pick(Self.users)) }
        }
        if dice.chance(60) {
            body.devices = dice.chance(70) ? .all : .only([Sample.device("d1"), Sample.device("d3")])
        }
        if dice.chance(30) {
            var alert = SetDesiredState.AlertWish(Sample.alert)
            alert.id = dice.chance(50) ? word("alert") : nil
            alert.keep = dice.chance(50)
            alert.onUnknown = dice.pick([.drop, .repeat])
            body.alert = alert
        }
        body.priority = dice.pick(ActivityRecord.PriorityWish.allCases)
        body.relevance = dice.chance(20) ? 0.25 * Double(dice.roll(4)) : nil
        body.staleAt = dice.chance(10) ? now + .seconds(dice.roll(5000)) : nil
        body.staleAfter = dice.chance(10) ? .seconds(100 + dice.roll(500)) : nil
        body.start = dice.chance(15) ? dice.pick([.ifPossible, .appOnly, .never]) : nil
        body.restart = dice.chance(30) ? dice.pick(ActivityRecord.Restart.allCases) : nil
        if dice.chance(20) { body.fallback = PushAlert(title: .text("Step {/step}")) }
        body.reopen = dice.chance(60)
        var command = SetDesiredState(app: app.bundleID, id: id, type: type(app), body: body, now: now)
        command.preconditions = preconditions()
        if dice.chance(30) {
            try await pair.runWithPhones("put \(id)", keyed(command), of: id, in: app.bundleID, Self.isSame)
        } else {
            try await pair.runWithPhones("put \(id)", command, of: id, in: app.bundleID, ==)
        }
    }

    private mutating func end() async throws {
        let alert = dice.chance(20) ? SetDesiredState.AlertWish(Sample.alert) : nil
        let (app, id) = (app(), activity())
        let command = EndActivity(
            app: app, id: id,
            state: dice.chance(50) ? Sample.state(dice.roll(5)) : nil, alert: alert,
            dismissal: dice.pick([.systemDefault, .immediate, .at(now + .seconds(60))]), now: now)
        try await pair.runWithPhones("end", command, of: id, in: app.bundleID, ==)
    }

    // MARK: - Phones

    private mutating func register() async throws {
        var body = RegisterDevice.Body(user: Sample.user(dice.pick(Self.users)))
        body.osVersion = dice.chance(80) ? OSVersion(18, 0) : dice.pick([OSVersion(17, 1), OSVersion("17.2.1")])
        body.activitiesEnabled = dice.chance(90)
        body.environment = dice.pick([nil, .production, .sandbox])
        body.channels = dice.pick([nil, true, true, false])
        body.deviceToken = dice.chance(40) ? Sample.token(word("device")) : nil
        body.timeZone = dice.chance(50) ? dice.pick(["UTC", "Asia/Tokyo"]) : nil
        body.locale = dice.chance(30) ? "de_DE" : nil
        body.notificationAuthorization = dice.pick([nil, nil, nil, "authorized", "denied"])
        let id = dice.pick(Self.devices)
        try await pair.run(
            "register \(id)",
            RegisterDevice(
                app: app(), id: Sample.device(id), body: body, now: now, freshKey: DeviceKey(dice.next() >> 1)))
    }

    private mutating func registerStart() async throws {
        let app = app()
        let id = dice.pick(Self.devices)
        let command = RegisterPushToStartToken(
            app: app, id: Sample.device(id), type: type(app).name, token: Sample.token(word("start")), now: now)
        try await pair.run("start token of \(id)", command)
    }

    private mutating func card(_ type: ActivityType) -> CardReport {
        var report = CardReport(
            localID: Sample.local(dice.pick(Self.cards)), type: type,
            state: dice.chance(60) ? .active : dice.pick(CardReport.State.allCases))
        if dice.chance(70) {
            let id = dice.pick(Self.activities)
            report.activity = Sample.activityID(dice.chance(20) ? id.uppercased() : id)
        }
        if dice.chance(60) { report.attributes = attributes() }
        if dice.chance(60) {
            report.token = Sample.token(word("update"))
        } else if dice.chance(20) {
            report.channel = channelID()
        }
        if dice.chance(40) { report.startedAt = now - .seconds(dice.roll(2000)) }
        if dice.chance(40) { report.lastTimestamp = now.seconds - Int64(dice.roll(100)) }
        if dice.chance(50) { report.contentState = Sample.state(dice.roll(5)) }
        if dice.chance(25) { report.basedOn = Revision(dice.roll(8)) }
        return report
    }

    private mutating func report() async throws {
        let app = app()
        let command = ReportCard(
            app: app, device: Sample.device(dice.pick(Self.devices)), report: card(type(app)), now: now)
        try await pair.run("report \(command.report.localID) on \(command.device)", command)
    }

    private mutating func inventory() async throws {
        let app = app()
        sequence += dice.chance(90) ? 1 : 0
        let cards = (0..<dice.roll(4)).map { _ in card(type(app)) }
        try await pair.run(
            "inventory",
            ReportInventory(
                app: app, device: Sample.device(dice.pick(Self.devices)), sequence: sequence, reports: cards, now: now))
    }

    // MARK: - Delivery

    private mutating func claim() async throws {
        try await pair.run(
            "claim", claimWork(), { $0.isSame(as: $1) },
            then: {
                $1.flights += $0.flights
                $1.evictions += $0.evictions
            })
        while let eviction = pair.leavings.evictions.popLast() { try await pair.run("evict", eviction) }
    }

    private mutating func claimWork(after wait: Duration = .zero) -> ClaimWork {
        var limits = ClaimWork.Limits()
        if dice.chance(50) {
            limits.lanes = 1 + dice.roll(4)
            limits.phones = 1 + dice.roll(6)
            limits.pushes = 1 + dice.roll(3)
            limits.picked = 1 + dice.roll(3)
        }
        if dice.chance(50) {
            limits.width.phones = 1 + dice.roll(2)
            limits.width.lanes = 2 + dice.roll(4)
        }
        limits.waiting = dice.pick([0, 1, LaneRecord.small])
        var known = Dictionary(apps.map { ($0.bundleID, $0) }, uniquingKeysWith: { $1 })
        if dice.chance(5) { known = [:] }
        return ClaimWork(now: now + wait, node: node, apps: known, limits: limits, gate: gate(), seed: dice.next())
    }

    /// A gate that closes some routes, with or without a wish for a probe.
    private mutating func gate() -> CircuitGate {
        var gate = CircuitGate.open
        guard dice.chance(40) else { return gate }
        let closure = CircuitGate.Closure(
            until: now + .seconds(1 + Int64(dice.roll(60))), trouble: .service(status: 503, reason: "Shutdown"))
        for route in apps.flatMap({ app in APNSEnvironment.allCases.map { PushRoute(app.bundleID, $0) } })
        where dice.chance(60) {
            gate.closed[route] = closure
            if dice.chance(40) { gate.probes.insert(route) }
            if dice.chance(50) { gate.trials.insert(route) }
        }
        return gate
    }

    private mutating func settle() async throws {
        guard !pair.leavings.flights.isEmpty else { return }
        let index = dice.roll(pair.leavings.flights.count)
        let flight = pair.leavings.flights[index]
        if dice.chance(85) { pair.leavings.flights.remove(at: index) }
        let entries = flight.seats.map {
            SettleFlight.Entry(seat: $0, outcome: outcome(), dice: dice.fraction())
        }
        let app = apps.first { $0.bundleID == flight.desired.activity.app } ?? apps[0]
        try await pair.run("settle", SettleFlight(flight: flight, entries: entries, app: app, now: now))
    }

    mutating func outcome() -> SettleFlight.Outcome {
        switch dice.roll(20) {
        case 0..<9: .answered(.success(PushAnswer(status: 200)))
        case 9: .awaited(until: now + .seconds(12))
        case 10: .notBuilt(.missingAlertTitle)
        case 11..<13: .answered(.failure(PushFailure(dice.pick(PushFailure.Code.allCases), "why")))
        default: .answered(.success(refusal()))
        }
    }

    private mutating func refusal() -> PushAnswer {
        let known: APNSReason.Known = dice.pick([
            .unregistered, .badDeviceToken, .deviceTokenNotForTopic, .tooManyRequests, .serviceUnavailable,
            .invalidProviderToken, .badTopic, .internalServerError,
        ])
        let status = known.status
        let since = status == 410 ? now - .seconds(dice.roll(4000)) : nil
        return PushAnswer(status: status, reason: .known(known), inactiveSince: since)
    }
}
