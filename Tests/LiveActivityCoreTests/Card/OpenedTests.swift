import APNSModel
import JSONText
import LiveActivityCore
import TestSupport
import Testing

/// Tests that an open of the app through a card counts once, however often the phone reports it.
struct OpenedTests {
    /// Returns the number of opens that the last command counted.
    private func counted(_ scene: Scene) -> Int {
        scene.store.lastChanges.tally.counts[.opened(Sample.bundleID, type: "order"), default: 0]
    }

    @Test func `what is more than in the report before counts, in a report and in an inventory`() throws {
        var scene = try Scene.live()
        for (opens, new) in [(0, 0), (1, 1), (1, 0), (3, 2), (2, 0)] {
            try scene.report(token: "u1") { $0.opens = opens }
            #expect(counted(scene) == new)
        }
        var report = CardReport(localID: Sample.local("card"), type: scene.type, state: .active)
        report.opens = 4
        _ = try scene.inventory(sequence: 1, [report])
        #expect(counted(scene) == 1)
        try scene.report("phone", .ended) { $0.opens = 5 }
        #expect(counted(scene) == 1)
        try scene.report("phone", .ended) { $0.opens = 5 }
        #expect(counted(scene) == 0)
    }

    @Test func `another card begins with nothing`() throws {
        var scene = try Scene.live()
        try scene.report(token: "u1") { $0.opens = 2 }
        scene.wait(.seconds(60))
        try scene.report(local: "second", token: "u2") { $0.opens = 1 }
        #expect(counted(scene) == 1)
    }

    @Test func `a card that was one too many, and one that is over, tell of it for the last time`() throws {
        var scene = try Scene.live()
        try scene.report("phone", .duplicate) { $0.opens = 2 }
        #expect(counted(scene) == 2)
        // The remaining card begins at zero and takes over no opens.
        try scene.report(local: "stays", token: "u2") { $0.opens = 1 }
        #expect(counted(scene) == 1)
    }

    @Test func `a card that is found again is not counted again`() throws {
        var scene = try Scene.live()
        try scene.report(token: "u1") { $0.opens = 2 }
        try scene.changeAudience(remove: ["ann"])
        scene.wait(.seconds(60))
        #expect(try scene.deliver().map(\.plan.kind) == [.end])
        try scene.changeAudience(add: ["ann"])
        scene.wait(.seconds(600))
        var report = CardReport(localID: Sample.local("card"), type: scene.type, state: .active)
        (report.activity, report.token, report.opens) = (Sample.activityID("a"), Sample.token("u9"), 2)
        report.sequence = 9
        _ = try scene.inventory(sequence: 9, [report])
        #expect(counted(scene) == 0)
        #expect(try scene.card().state == .live)
        report.opens = 3
        _ = try scene.inventory(sequence: 10, [report])
        #expect(counted(scene) == 1)
    }

    @Test func `a person who is not in the audience counts for nothing`() throws {
        var scene = Scene()
        try scene.register(user: "eve")
        try scene.put(users: ["ann"])
        var report = CardReport(localID: Sample.local("card"), type: scene.type, state: .active)
        (report.activity, report.opens) = (Sample.activityID("a"), 9)
        var command = ReportCard(app: scene.app, device: Sample.device("phone"), report: report, now: scene.now)
        command.reporter = .person(Sample.user("eve"))
        _ = try scene.run(command)
        #expect(try scene.card().awaitsUntil != nil && counted(scene) == 0)
    }
}
