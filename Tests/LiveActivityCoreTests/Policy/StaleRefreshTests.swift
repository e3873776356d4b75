import APNSModel
import JSONText
import LiveActivityCore
import TestSupport
import Testing

/// Tests of stale dates. They count from the last accepted call, changed or not, and phones get the new date in time.
struct StaleRefreshTests {
    private static let staleAfter = Duration.seconds(600)

    private func scene() throws -> Scene {
        var scene = try Scene.live(Sample.type { $0.staleAfter = Self.staleAfter })
        scene.wait(.seconds(5))
        try scene.deliver()
        return scene
    }

    /// Returns the stale date in the bytes of a push.
    private func staleDate(_ seat: Flight.Seat, _ scene: Scene) throws -> Int? {
        let activity = try scene.activity()
        let content = try #require(scene.store.rows.contents[activity.number])
        let request = try PushBuilder.request(
            seat.plan, desired: DesiredSituation(activity, scene.type, content), content: content, phone: seat.phone,
            timestamp: seat.timestamp, id: PushID(random: 1, 2))
        let body = try JSONValue(parsing: try #require(request).payload)
        return body[Sample.pointer("/aps/stale-date")]?.int
    }

    @Test func `The same state again moves the stale date, and phones are told before the old one passes`() throws {
        var scene = try scene()
        let told = try scene.activity().acceptedAt + Self.staleAfter
        scene.wait(.seconds(300))
        #expect(try !scene.put("a", 1).changed)
        #expect(try scene.deliver().isEmpty)
        let wake = try #require(scene.store.nextWakeAt)
        #expect(wake == told - .seconds(60))
        scene.now = wake
        let sent = try scene.deliver()
        #expect(sent.map(\.plan.reason.code) == [.staleDateRenewed])
        #expect(sent.first?.plan.priority == .low)
        #expect(sent.first?.plan.carriesAlert == false)
        let date = try scene.activity().acceptedAt + Self.staleAfter
        #expect(try sent.first.flatMap { try staleDate($0, scene) } == Int(date.seconds))
        // No call has come since, so the card may become stale.
        #expect(scene.store.nextWakeAt == nil)
        #expect(try scene.deliver().isEmpty)
    }

    @Test func `As long as the backend keeps saying so the card never becomes stale, with one push each time`() throws {
        var scene = try scene()
        var told = try scene.activity().acceptedAt + Self.staleAfter
        var pushes = 0
        let end = scene.now + .seconds(7200)
        while scene.now < end {
            scene.wait(.seconds(50))
            #expect(scene.now < told, "the card has become stale")
            try scene.put("a", 1)
            for seat in try scene.deliver() {
                pushes += 1
                told = UnixTime(seconds: Int64(try #require(try staleDate(seat, scene))))
            }
        }
        #expect(pushes >= 12 && pushes <= 16, "\(pushes)")
        #expect(try scene.activity().revision == 1)
    }

    @Test func `A phone that was sent something since then is not told again`() throws {
        var scene = try scene()
        scene.wait(.seconds(300))
        try scene.put("a", 1)
        scene.wait(.seconds(10))
        // The new token gets the newest state with the newest stale date.
        try scene.report(token: "u2")
        #expect(try scene.deliver().map(\.plan.reason.code) == [.freshToken])
        scene.now = try #require(scene.store.nextWakeAt)
        #expect(try scene.deliver().isEmpty)
    }

    @Test func `A new state takes its stale date along, and nothing is renewed`() throws {
        var scene = try scene()
        scene.wait(.seconds(100))
        try scene.put("a", 1)
        scene.wait(.seconds(100))
        try scene.put("a", 2)
        #expect(try scene.deliver().map(\.plan.reason.code) == [.newState])
        scene.wait(.seconds(3600))
        #expect(try scene.deliver().isEmpty)
    }

    @Test func `A renewal that APNs refused is tried again`() throws {
        var scene = try scene()
        scene.wait(.seconds(300))
        try scene.put("a", 1)
        scene.now = try #require(scene.store.nextWakeAt)
        _ = try scene.claim()
        let flight = try scene.onlyFlight()
        try scene.settle(flight) { _ in .answered(.success(PushAnswer(status: 429, reason: .known(.tooManyRequests)))) }
        scene.wait(.seconds(30))
        #expect(try scene.deliver().map(\.plan.reason.code) == [.staleDateRenewed])
    }

    @Test func `An ended activity, and one whose stale date is fixed, are not renewed`() throws {
        var scene = try scene()
        scene.wait(.seconds(100))
        try scene.put("a", 1)
        try scene.end()
        #expect(try scene.deliver().map(\.plan.kind) == [.end])
        #expect(try scene.activity().refreshAt == nil)
        var fixed = try self.scene()
        let date = fixed.now + .seconds(900)
        try fixed.put("a", 1) { $0.staleAt = date }
        try fixed.deliver()
        fixed.wait(.seconds(10))
        try fixed.put("a", 1) { $0.staleAt = date }
        #expect(try fixed.activity().refreshAt == nil)
    }

    @Test(arguments: [(10, 5), (60, 30), (300, 30), (600, 60), (7200, 720)])
    func `They are told a tenth of the time before it passes, at least half a minute`(after: Int, margin: Int) throws {
        var activity = try Scene.live().activity()
        activity.staleAfter = .seconds(after)
        let accepted = activity.acceptedAt
        activity.accepted(at: accepted + .milliseconds(1), policy: TypePolicy())
        #expect(activity.refreshAt == accepted + .seconds(after - margin))
    }
}
