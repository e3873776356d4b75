import APNSModel
import LiveActivityCore
import TestSupport
import Testing

// Tests of a renewal's second card when the activity begins its next run before the card's token is known.
extension RenewalTests {
    /// A scene whose second card has no token, after the start of the next run was sent.
    private func startedAnew() throws -> Scene {
        var scene = try renewing(Self.restarting)
        try scene.report(local: "second")
        try scene.end()
        scene.wait(.seconds(2))
        #expect(try scene.deliver().map(\.plan.kind) == [.end])
        try scene.put("a", 3) { $0.reopen = true }
        scene.wait(.seconds(61))
        #expect(try scene.deliver().map(\.plan.kind) == [.start])
        return scene
    }

    @Test func `A second card without a token is not the card of the next run's start`() throws {
        var scene = try startedAnew()
        let cards = ["second", "third"].map { name in
            var card = CardReport(localID: Sample.local(name), type: scene.type, state: .active)
            card.activity = Sample.activityID("a")
            return card
        }
        _ = try scene.inventory(sequence: 1, cards)
        #expect(try scene.card().localID == Sample.local("third"))
        try scene.report(local: "second", .dismissed)
        #expect(try scene.card().state == .live)
        #expect(try scene.deliver().isEmpty)
    }

    @Test func `A second card that gets its token when the next run's card was seen is ended alone`() throws {
        var scene = try startedAnew()
        var cards = ["third", "second"].map { CardReport(localID: Sample.local($0), type: scene.type, state: .active) }
        for index in cards.indices { cards[index].activity = Sample.activityID("a") }
        cards[1].token = Sample.token("u2")
        _ = try scene.inventory(sequence: 1, cards)
        let sent = try scene.deliver()
        #expect(sent.map(\.plan.part) == [.predecessor])
        #expect(sent.map { $0.phone.token(of: $0.plan) } == [TokenValue(Sample.token("u2", as: UpdateTokenKind.self))])
        try scene.report(local: "second", .dismissed)
        #expect(try scene.card().localID == Sample.local("third") && scene.deliver().isEmpty)
    }

    @Test func `A second card that gets its token after the activity began anew, and ended, is ended too`() throws {
        var scene = try renewing()
        try scene.end()
        try scene.report(local: "second")
        scene.wait(.seconds(2))
        #expect(try scene.deliver().map(\.plan.kind) == [.end])
        try scene.put("a", 3) { $0.reopen = true }
        try scene.end()
        try scene.report(local: "second", token: "u2")
        scene.wait(.seconds(2))
        let sent = try scene.deliver()
        #expect(sent.map(\.plan.kind) == [.end])
        #expect(sent.map(\.phone.updateToken?.value) == [TokenValue(Sample.token("u2", as: UpdateTokenKind.self))])
    }
}
