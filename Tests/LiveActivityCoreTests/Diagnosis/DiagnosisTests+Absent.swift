import APNSModel
import JSONText
import LiveActivityCore
import TestSupport
import Testing

/// Tests that a finding is absent. Each scenario is close to the finding's own, but lacks its cause.
extension DiagnosisTests {
    private static func refusal(_ status: Int, _ reason: String) -> SettleFlight.Outcome {
        .answered(.success(PushAnswer(status: status, reason: APNSReason(reason))))
    }

    /// A live card whose next update got this answer a while ago.
    private static func answered(_ outcome: SettleFlight.Outcome) throws -> Scene {
        var scene = try Scene.live()
        scene.wait(.seconds(60))
        try scene.put("a", 2)
        try scene.settle(try scene.onlyFlight()) { _ in outcome }
        return scene
    }

    static let absent: [(id: String, play: @Sendable () throws -> [DiagnosisFinding])] = [
        (
            "system-below-17.2",
            {
                var scene = Scene()
                try scene.register(os: OSVersion(17, 2))
                return try scene.diagnosis()
            }
        ),
        (
            // A refused token belongs to no environment any more.
            "environment-not-configured",
            {
                var scene = Scene(environments: [.production])
                try scene.register()
                return try scene.diagnosis { facts in
                    for index in facts.deviceTokens.indices {
                        facts.deviceTokens[index].environment = .sandbox
                        facts.deviceTokens[index].deadAt = Sample.now
                    }
                }
            }
        ),
        (
            "route-in-trouble",
            {
                // Routes of another app.
                let other = Sample.bundle("com.example.other")
                let status = try board(isHalt: false).map { (PushRoute(other, $0.key.environment), $0.value) }
                return try Scene.live().diagnosis("a") { $0.routes = Dictionary(uniqueKeysWithValues: status) }
            }
        ),
        (
            // An activity that is over is not out of date.
            "stale-date-passed",
            {
                var scene = try Scene.live(Sample.type("order") { $0.staleAfter = .seconds(600) })
                try scene.end()
                scene.wait(.seconds(700))
                return try scene.diagnosis("a")
            }
        ),
        (
            "lane-waits",
            {
                var scene = try answered(refusal(503, "ServiceUnavailable"))
                scene.wait(.seconds(3600))
                return try scene.diagnosis("a")
            }
        ),
        (
            // The flight is for another phone of its range.
            "in-flight",
            {
                try Scene.live().diagnosis("a") { facts in
                    facts.cards[0].lane?.flight = FlightRecord(
                        node: 1, claimedAt: Sample.now, leaseUntil: Sample.now, fromDevice: 1, toDevice: 9,
                        devices: [1, 9], revision: 1, timestamp: 0, seed: 0)
                }
            }
        ),
        (
            // Another state was set since.
            "push-parked",
            {
                var scene = try answered(refusal(400, "BadTopic"))
                try scene.put("a", 3)
                return try scene.diagnosis("a")
            }
        ),
        (
            "start-budget-used",
            {
                var scene = Scene()
                try scene.register()
                try scene.put(users: ["ann"])
                scene.wait(.seconds(70))
                for number in 1...6 {
                    try scene.put("b\(number)", users: ["ann"]) { $0.attributes = ["n": .number(JSONNumber(number))] }
                }
                try scene.deliver()
                try scene.report(token: "u1")
                return try scene.diagnosis("a")
            }
        ),
        ("update-token-missing", { try startedOnChannel() }),
        (
            // The channel is the server's, and no app sends there.
            "channel",
            { try Scene.subscribed().diagnosis("a") }
        ),
        ("by-token", { try Scene.live().diagnosis("a") }), ("by-token", { try startedOnChannel() }),
        (
            "not-heard-since",
            {
                var scene = try answered(.answered(.success(PushAnswer(status: 200))))
                scene.wait(.seconds(1))
                try scene.report { $0.contentState = Sample.state(2) }
                return try scene.diagnosis("a")
            }
        ),
        (
            // A newer state was sent since.
            "held",
            {
                var scene = try Scene.live()
                try scene.report { $0.contentState = Sample.state(1) }
                try scene.put("a", 2)
                scene.wait(.seconds(2))
                try scene.deliver()
                return try scene.diagnosis("a")
            }
        ),
    ]

    @Test(arguments: absent.indices) func `a diagnosis does not find what is not there`(index: Int) throws {
        let (id, play) = Self.absent[index]
        let findings = try play()
        #expect(!findings.contains { $0.id == id }, "\(id)")
    }

    @Test func `a start token that was refused blocks nothing where no push starts the card`() throws {
        for (start, severity) in [
            (ActivityRecord.StartMode.ifPossible, DiagnosisFinding.Severity.blocked), (.appOnly, .warning),
        ] {
            var scene = Scene()
            try scene.register()
            try scene.put(users: ["ann"])
            scene.wait(.seconds(20))
            try scene.settle(try scene.onlyFlight()) { _ in Self.refusal(410, "Unregistered") }
            try scene.put("a", 2) { $0.start = start }
            let finding = try scene.diagnosis("a").first { $0.id == "start-token-refused" }
            #expect(finding?.severity == severity)
        }
    }

    @Test func `a diagnosis of the whole device begins with the cards that are there, the newest first`() throws {
        var scene = try Scene.live()
        for (id, ends) in [("b", true), ("c", false), ("d", true)] {
            try scene.put(id, users: ["ann"]) { $0.start = .never }
            if ends { try scene.end(id) }
        }
        try scene.put("e", users: ["ann"]) { $0.attributes = ["n": 1] }
        try scene.report(local: "card-e", activity: "e", token: "u5")
        let order = try scene.facts(nil, of: "phone").cards.map(\.activity.id.text)
        #expect(order == ["e", "a", "c", "d", "b"])
    }
}
