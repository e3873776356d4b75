import APNSModel
import JSONText
import LiveActivityCore
import TestSupport
import Testing

/// Tests of each finding in a scenario played by commands: its severity and its evidence.
struct DiagnosisTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let id: String
        let severity: DiagnosisFinding.Severity
        /// Values that the evidence must contain.
        let evidence: JSONObject
        let play: @Sendable () throws -> [DiagnosisFinding]

        var testDescription: String { id }

        init(
            _ id: String, _ severity: DiagnosisFinding.Severity, _ evidence: JSONObject = [:],
            _ play: @escaping @Sendable () throws -> [DiagnosisFinding]
        ) {
            self.id = id
            self.severity = severity
            self.evidence = evidence
            self.play = play
        }
    }

    private static func live(_ change: (inout TypePolicy) -> Void = { _ in }) throws -> Scene {
        try Scene.live(Sample.type("order", change))
    }

    private static func refused(_ status: Int, _ reason: String) -> SettleFlight.Outcome {
        .answered(.success(PushAnswer(status: status, reason: APNSReason(reason))))
    }

    /// A live card whose next update gets this answer.
    private static func answered(_ outcome: SettleFlight.Outcome) throws -> [DiagnosisFinding] {
        var scene = try live()
        scene.wait(.seconds(60))
        try scene.put("a", 2)
        scene.wait(.seconds(2))
        try scene.settle(try scene.onlyFlight()) { _ in outcome }
        return try scene.diagnosis("a")
    }

    /// A phone that an activity wants, before anything was sent.
    private static func fresh(
        _ change: (inout RegisterDevice.Body) -> Void = { _ in }, startToken: String? = "p2s",
        put: (inout SetDesiredState.Body) -> Void = { _ in }
    ) throws -> Scene {
        var scene = Scene()
        try scene.register(startToken: startToken)
        var body = RegisterDevice.Body(user: Sample.user("ann"))
        change(&body)
        _ = try scene.run(
            RegisterDevice(app: scene.app, id: Sample.device("phone"), body: body, now: scene.now, freshKey: 7))
        try scene.put(users: ["ann"], put)
        return scene
    }

    // MARK: - The device

    static let device: [Row] = [
        Row("device-unknown", .blocked) { DeviceDiagnosis.unknown(Sample.device("nobody")) },
        Row("device-signed-out", .blocked) {
            var scene = try live()
            _ = try scene.run(SignOutDevice(app: scene.app.bundleID, id: Sample.device("phone"), now: scene.now))
            return try scene.diagnosis()
        },
        Row("live-activities-disabled", .blocked) { try fresh({ $0.activitiesEnabled = false }).diagnosis() },
        Row("notifications-denied", .warning) {
            try fresh({ $0.notificationAuthorization = "denied" }).diagnosis()
        },
        Row("system-version-unknown", .note) {
            var scene = Scene()
            try scene.register(os: nil)
            return try scene.diagnosis()
        },
        Row("system-below-17.2", .warning, ["osVersion": "17.1"]) {
            try fresh({ $0.osVersion = OSVersion(17, 1) }).diagnosis()
        },
        Row("environment-not-named", .warning, ["assumed": "production"]) {
            var scene = Scene()
            try scene.register(environment: nil)
            return try scene.diagnosis()
        },
        Row("environment-not-configured", .blocked, ["environment": "sandbox"]) {
            var scene = Scene(environments: [.production])
            try scene.register(environment: .sandbox)
            return try scene.diagnosis()
        },
        Row("environment-mismatch", .warning, ["named": "production", "used": "sandbox"]) {
            // The token was refused for one environment before the phone named it.
            var scene = Scene()
            try scene.register(environment: nil)
            try scene.put(users: ["ann"])
            scene.wait(.seconds(20))
            try scene.settle(try scene.onlyFlight()) { _ in refused(400, "BadDeviceToken") }
            scene.store.edit { draft in
                guard var device = draft.snapshot.devices[7] else { return }
                device.environment = .production
                draft.put(device)
            }
            return try scene.diagnosis()
        },
        Row("phone-silent", .warning) {
            var scene = try live()
            scene.wait(.seconds(8 * 86_400))
            return try scene.diagnosis()
        },
        Row("token-of-other-kind", .blocked) {
            var scene = Scene()
            try scene.register()
            try scene.put(users: ["ann"])
            try scene.report(token: "p2s")
            return try scene.diagnosis("a")
        },
    ]

    // MARK: - The way to APNs

    static func board(isHalt: Bool) throws -> [PushRoute: CircuitBoard.Status] {
        var circuits = CircuitBoard()
        let route = PushRoute(Sample.bundleID, .production)
        var tally = RouteTally()
        for phone in 0..<20 {
            tally.add(
                .success(
                    PushAnswer(
                        status: isHalt ? 403 : 503,
                        reason: APNSReason(isHalt ? "InvalidProviderToken" : "ServiceUnavailable"))),
                of: DeviceKey(phone), to: .production)
        }
        for _ in 0..<3 {
            let gate = circuits.gate(at: Sample.now)
            _ = circuits.record(route, tally, under: gate, at: Sample.now, dice: 0.5)
        }
        return circuits.status(at: Sample.now)
    }

    static let route: [Row] = [
        Row("route-halted", .blocked, ["code": "halted", "environment": "production"]) {
            let scene = try live()
            let status = try board(isHalt: true)
            return try scene.diagnosis("a") { $0.routes = status }
        },
        Row("route-in-trouble", .waiting, ["code": "service-trouble"]) {
            let scene = try live()
            let status = try board(isHalt: false)
            return try scene.diagnosis("a") { $0.routes = status }
        },
        Row("clock-skew", .warning, ["seconds": 11]) {
            try live().diagnosis("a") { $0.clockSkew = [.production: .seconds(11)] }
        },
        Row("clock-skew", .blocked, ["seconds": -90]) {
            try live().diagnosis("a") { $0.clockSkew = [.production: .seconds(-90)] }
        },
    ]

    // MARK: - The activity

    static let activity: [Row] = [
        Row("activity-unknown", .blocked) { try live().diagnosis("nothing") },
        Row("activity-not-on-device", .blocked) {
            var scene = try live()
            try scene.put("b", users: [])
            return try scene.diagnosis("b")
        },
        Row("not-in-audience", .blocked, ["user": "ann"]) {
            var scene = try live()
            try scene.put("a", 2, users: ["bob"])
            return try scene.diagnosis("a")
        },
        Row("activity-over", .note) {
            var scene = try live()
            try scene.end()
            return try scene.diagnosis("a")
        },
        Row("type-not-configured", .blocked, ["type": "order"]) {
            let scene = try live()
            return try scene.diagnosis("a") { $0.app = Sample.app(Sample.type("other")) }
        },
        Row("no-contract", .note) { try live().diagnosis("a") },
        Row("stale-date-passed", .warning) {
            var scene = try live { $0.staleAfter = .seconds(600) }
            scene.wait(.seconds(700))
            return try scene.diagnosis("a")
        },
        Row("payload-size", .note, ["limit": 4096]) { try live().diagnosis("a") },
        Row("payload-size", .warning) {
            var scene = try live()
            try scene.put("a", 2) { $0.state["text"] = .string(String(repeating: "x", count: 3800)) }
            return try scene.diagnosis("a")
        },
        Row("changes-collected", .waiting) {
            var scene = try live { $0.coalescingWindow = .seconds(30) }
            scene.wait(.seconds(60))
            try scene.put("a", 2)
            try scene.deliver()
            try scene.put("a", 3)
            return try scene.diagnosis("a")
        },
        Row("lane-waits", .waiting, ["code": "service-trouble"]) { try answered(refused(503, "ServiceUnavailable")) },
        Row("in-flight", .waiting, ["revision": 2]) {
            var scene = try live()
            scene.wait(.seconds(60))
            try scene.put("a", 2)
            scene.wait(.seconds(2))
            _ = try scene.claim()
            return try scene.diagnosis("a")
        },
    ]

    // MARK: - Tokens

    static let tokens: [Row] = [
        Row("update-token-missing", .waiting) {
            var scene = Scene()
            try scene.register(startToken: nil)
            try scene.put(users: ["ann"])
            try scene.report()
            return try scene.diagnosis("a")
        },
        Row("channel", .note, ["channel": "dHN0LXNyY2gtY2hubA=="]) {
            var scene = Scene()
            try scene.register(startToken: nil)
            try scene.put(users: ["ann"])
            try scene.report { $0.channel = Sample.channel }
            return try scene.diagnosis("a")
        },
        Row("update-token-refused", .blocked, ["code": "token-bad", "status": 400]) {
            try answered(refused(400, "BadDeviceToken"))
        },
        Row("start-token-missing", .blocked, ["type": "order"]) { try fresh(startToken: nil).diagnosis("a") },
        Row("start-token-refused", .blocked, ["digits": 64]) {
            var scene = try fresh()
            scene.wait(.seconds(20))
            try scene.settle(try scene.onlyFlight()) { _ in refused(410, "Unregistered") }
            return try scene.diagnosis("a")
        },
        Row("start-token-suspect", .warning, ["missedStarts": 2]) {
            var scene = try fresh()
            for sequence in 1...2 {
                scene.wait(.seconds(70))
                try scene.deliver()
                scene.wait(.seconds(500))
                _ = try scene.inventory(sequence: Int64(sequence))
            }
            return try scene.diagnosis("a")
        },
        Row("token", .note, ["digits": 64, "environment": "production"]) { try live().diagnosis("a") },
        Row(
            "headers", .note,
            ["apns-push-type": "liveactivity", "apns-topic": "com.acme.pizza.push-type.liveactivity"]
        ) { try live().diagnosis("a") },
    ]

    // MARK: - Budgets

    static let budgets: [Row] = [
        Row("high-budget-used", .warning, ["perHour": 20, "estimate": true]) {
            var scene = try live { $0.highPriorityInterval = .seconds(1) }
            for step in 2...12 {
                scene.wait(.seconds(3))
                try scene.put("a", step) { $0.priority = .high }
                try scene.deliver()
            }
            return try scene.diagnosis("a")
        },
        Row("start-budget-used", .waiting, ["perHour": 10]) {
            var scene = try fresh()
            scene.wait(.seconds(70))
            for number in 1...6 {
                try scene.put("b\(number)", users: ["ann"]) { $0.attributes = ["n": .number(JSONNumber(number))] }
            }
            try scene.deliver()
            try scene.put("z", users: ["ann"]) { $0.attributes = ["n": 99] }
            return try scene.diagnosis("z")
        },
        Row("high-priority-minute", .note) {
            var scene = try live()
            scene.wait(.seconds(60))
            try scene.put("a", 2) { $0.priority = .high }
            scene.wait(.seconds(2))
            try scene.deliver()
            return try scene.diagnosis("a")
        },
    ]

    // MARK: - Pushes and their results

    static let sent: [Row] = [
        Row("last-push", .note, ["kind": "update", "revision": 2, "status": 200, "priority": 5, "code": "accepted"]) {
            try answered(.answered(.success(PushAnswer(status: 200))))
        },
        Row("last-push", .warning, ["status": 429, "code": "slow-down"]) {
            try answered(refused(429, "TooManyRequests"))
        },
        Row("last-push", .warning, ["status": 0, "code": "unknown-fate"]) {
            try answered(.answered(.failure(PushFailure(.unknownFate, "reset"))))
        },
        Row("nothing-sent", .note) { try fresh(startToken: nil).diagnosis("a") },
        Row("push-parked", .blocked, ["status": 400, "code": "parked", "detail": "400 BadTopic"]) {
            try answered(refused(400, "BadTopic"))
        },
        Row("not-heard-since", .note) { try answered(.answered(.success(PushAnswer(status: 200)))) },
        Row("held", .note, ["shown": 1]) {
            var scene = try live()
            try scene.report { $0.contentState = Sample.state(1) }
            return try scene.diagnosis("a")
        },
        Row("accepted-not-confirmed", .note, ["sent": 1]) { try live().diagnosis("a") },
        Row("contradicted", .warning, ["contradictions": 1]) {
            var scene = try live()
            try scene.report { $0.contentState = Sample.state(9) }
            return try scene.diagnosis("a")
        },
        Row("unconfirmed", .note) { try fresh(startToken: nil).diagnosis("a") },
    ]
}
