import APNSModel
import JSONText
import LiveActivityCore
import TestSupport
import Testing

extension DiagnosisTests {
    private static func started(_ scene: Scene) throws -> Scene {
        var scene = scene
        try scene.register()
        try scene.put(users: ["ann"])
        scene.wait(.seconds(20))
        try scene.deliver()
        return scene
    }

    /// Scenarios of the decision about the phone, by the code of its reason.
    static let decisions: [Row] = [
        Row("up-to-date", .note, ["wanted": 1, "sent": 1]) { try Scene.live().diagnosis("a") },
        Row("new-state", .waiting, ["next": "update, priority 5"]) {
            var scene = try Scene.live()
            try scene.put("a", 2)
            return try scene.diagnosis("a")
        },
        Row("start-unconfirmed", .waiting, ["state": "unconfirmed"]) { try started(Scene()).diagnosis("a") },
        Row("start-fate-unknown", .waiting) {
            var scene = Scene()
            try scene.register()
            try scene.put(users: ["ann"])
            scene.wait(.seconds(20))
            try scene.settle(try scene.onlyFlight()) { _ in .answered(.failure(PushFailure(.unknownFate, "reset"))) }
            return try scene.diagnosis("a")
        },
        Row("start-grace", .waiting) {
            var scene = Scene()
            try scene.register()
            try scene.put(users: ["ann"])
            return try scene.diagnosis("a")
        },
        Row("other-start-open", .waiting) {
            var scene = try started(Scene())
            scene.wait(.seconds(70))
            try scene.put("b", users: ["ann"])
            return try scene.diagnosis("b")
        },
        Row("app-is-starting", .waiting) {
            var scene = Scene()
            try scene.register()
            try scene.put(users: ["ann"])
            try scene.report("phone", .requesting)
            return try scene.diagnosis("a")
        },
        Row("retry-later", .waiting) {
            var scene = try Scene.live()
            scene.wait(.seconds(60))
            try scene.put("a", 2)
            scene.wait(.seconds(2))
            try scene.settle(try scene.onlyFlight()) { _ in
                .answered(.success(PushAnswer(status: 429, reason: APNSReason("TooManyRequests"))))
            }
            return try scene.diagnosis("a")
        },
        Row("dismissed-by-person", .blocked) {
            var scene = try Scene.live()
            try scene.report("phone", .dismissed)
            return try scene.diagnosis("a")
        },
        Row("card-gone", .blocked) {
            var scene = try Scene.live()
            _ = try scene.inventory(sequence: 1)
            return try scene.diagnosis("a")
        },
        Row("card-ended", .note) {
            var scene = try Scene.live()
            try scene.report("phone", .ended)
            return try scene.diagnosis("a")
        },
        Row("no-state-yet", .waiting) {
            var scene = Scene()
            try scene.register()
            try scene.report(activity: "early", token: "u")
            return try scene.diagnosis("early")
        },
        Row("start-never", .blocked) {
            var scene = Scene()
            try scene.register()
            try scene.put(users: ["ann"]) { $0.start = .never }
            return try scene.diagnosis("a")
        },
        Row("start-app-only", .blocked) {
            var scene = Scene()
            try scene.register()
            try scene.put(users: ["ann"]) { $0.start = .appOnly }
            return try scene.diagnosis("a")
        },
        Row("no-start-alert", .blocked) {
            var scene = Scene(Sample.type("order") { $0.startAlert = nil })
            try scene.register()
            try scene.put(users: ["ann"])
            scene.wait(.seconds(70))
            return try scene.diagnosis("a")
        },
        Row("other-device-active", .blocked) {
            var scene = Scene()
            try scene.register("old", startToken: "old", key: 3)
            scene.wait(.seconds(60))
            try scene.register()
            try scene.put(users: ["ann"])
            return try scene.diagnosis("a", of: "old")
        },
        Row("waiting-for-update-token", .waiting) {
            var scene = Scene()
            try scene.register(startToken: nil)
            try scene.put(users: ["ann"])
            try scene.report()
            return try scene.diagnosis("a")
        },
    ]

    static let all: [Row] = device + route + activity + tokens + channels + budgets + sent

    @Test(arguments: all + decisions + channelDecisions)
    func `B12, W11: a diagnosis finds what stands in the way, how bad it is, and by which values`(row: Row) throws {
        let findings = try row.play()
        let found = findings.filter { $0.id == row.id }
        let finding = try #require(found.first, "found \(findings.map(\.id))")
        #expect(finding.severity == row.severity)
        for (key, value) in row.evidence { #expect(finding.evidence[key] == value, "\(key)") }
        #expect(!finding.text.isEmpty)
        if row.severity == .blocked { #expect(finding.fix != nil, "what is blocked has a way out") }
        // The most severe findings come first, and no finding contains a whole token.
        #expect(findings.map(\.severity) == findings.map(\.severity).sorted(by: >))
        let all = findings.map { "\($0)" }.joined()
        for word in ["p2s", "u1", "u"] {
            #expect(!all.contains(TokenValue(Sample.token(word, as: UpdateTokenKind.self)).hex))
        }
    }

    @Test func `every finding there is has a scenario`() {
        #expect(Set(DiagnosisFinding.ID.allCases.map(\.rawValue)) == Set(Self.all.map(\.id)))
    }

    @Test func `within the minute of a high push a state goes at low priority and an alert does not, as is said`()
        throws
    {
        var scene = try Scene.live()
        scene.wait(.seconds(60))
        try scene.put("a", 2) { $0.priority = .high }
        scene.wait(.seconds(2))
        #expect(try scene.deliver().map(\.plan.priority) == [.high])
        let said = try scene.diagnosis("a").first { $0.id == "high-priority-minute" }
        #expect(said?.text.hasSuffix("the next goes out at low priority, unless it carries an alert") == true)
        scene.wait(.seconds(5))
        try scene.put("a", 3) { $0.priority = .high }
        #expect(try scene.deliver().map(\.plan.priority) == [.low])
        scene.wait(.seconds(5))
        try scene.put("a", 4) { $0.alert = SetDesiredState.AlertWish(Sample.alert) }
        #expect(try scene.deliver().map(\.plan.priority) == [.high])
    }

    @Test func `of a whole device each activity is looked at, the ones that show something first`() throws {
        var scene = try Scene.live()
        try scene.put("b", users: ["ann"]) { $0.attributes = ["n": 2] }
        let activities = try scene.diagnosis().compactMap(\.activity)
        #expect(Set(activities) == [Sample.activityID("a"), Sample.activityID("b")])
        #expect(try scene.facts(nil, of: "phone").cards.map(\.activity.id.text) == ["a", "b"])
    }
}

extension Scene {
    /// Returns the facts as the server loads them. The first rows tell which others are needed.
    func facts(_ activity: String?, of device: String) throws -> DiagnosisFacts {
        let (id, named) = (Sample.device(device), activity.map(Sample.activityID))
        let first = store.load(DiagnosisFacts.keys(of: id, named, in: app.bundleID))
        let whole = store.load(DiagnosisFacts.moreKeys(of: id, named, in: app.bundleID, first))
        var facts = try #require(DiagnosisFacts(whole, of: id, named, app: app, now: now))
        for index in facts.cards.indices {
            let number = facts.cards[index].activity.number
            facts.cards[index].history = store.history.filter { $0.activity == number }.reversed()
                .flatMap { $0.entries.reversed() }.filter { $0.device == facts.device.key }
        }
        return facts
    }

    func diagnosis(
        _ activity: String? = nil, of device: String = "phone", _ change: (inout DiagnosisFacts) -> Void = { _ in }
    ) throws -> [DiagnosisFinding] {
        var facts = try facts(activity, of: device)
        change(&facts)
        return DeviceDiagnosis.findings(facts)
    }
}
