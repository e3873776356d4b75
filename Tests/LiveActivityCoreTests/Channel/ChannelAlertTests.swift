import APNSModel
import JSONText
import LiveActivityCore
import TestSupport
import Testing

/// Alerts to people whose card is on a channel, by the policy `channelAlerts`.
struct ChannelAlertTests {
    private static let words = PushAlert(title: "Goal", body: "2:1")

    /// Phones with cards on a channel, which can get ordinary notifications.
    private static func scene(
        _ alerts: ChannelAlerts, phones: [String] = ["phone", "second"]
    ) throws -> Scene {
        var scene = try Scene.subscribed(phones: phones) {
            $0.delivery = .channel
            $0.channelAlerts = alerts
        }
        for phone in phones { try scene.say(phone, user: phone) { $0.deviceToken = Sample.token("device-\(phone)") } }
        try scene.deliverAll()
        return scene
    }

    private static func told(_ seats: [NotificationFlight.Seat]) throws -> [String] {
        try seats.map { seat in
            let alert = try JSONValue(parsing: seat.notification.payload).object?["aps"]?.object?["alert"]?.object
            return "\(seat.device.id) \(alert?["title"]?.string ?? "") \(alert?["body"]?.string ?? "")"
        }.sorted()
    }

    @Test func `a broadcast brings the alert, unless the policy says otherwise`() throws {
        for alerts in ChannelAlerts.allCases {
            let revision: Revision = alerts == .broadcast ? 2 : 0
            var scene = try Self.scene(alerts)
            try scene.put("a", 2) { $0.alert = .init(Self.words) }
            let (seats, errands) = try scene.deliverAll()
            #expect(seats.isEmpty && errands.map(\.flight.alertRevision) == [revision], "\(alerts)")
            #expect(try scene.channel()?.sentRevision == 2)
        }
    }

    @Test func `with notification, each phone on the channel gets the alert's words once`() throws {
        var scene = try Self.scene(.notification)
        try scene.put("a", 2) { $0.alert = .init(Self.words) }
        for _ in 0..<3 { try scene.deliverAll() }
        #expect(try Self.told(scene.deliverNotifications()) == ["phone Goal 2:1", "second Goal 2:1"])
        #expect(try scene.card().alerts.given == 2)
        #expect(try scene.decision().reason.code == .channelCurrent)
        // The next state has no alert.
        scene.wait(.seconds(5))
        try scene.put("a", 3)
        #expect(try scene.deliverAll().errands.map(\.flight.revision) == [3])
        #expect(try scene.deliverNotifications().isEmpty)
        // The next alert is another one.
        scene.wait(.seconds(5))
        try scene.put("a", 4) { $0.alert = .init(PushAlert(title: "Over", body: "2:1")) }
        try scene.deliverAll()
        #expect(try Self.told(scene.deliverNotifications()) == ["phone Over 2:1", "second Over 2:1"])
    }

    @Test func `after the alert, laps pass over the phones on the channel again`() throws {
        var scene = try Self.scene(.notification)
        try scene.put("a", 2) { $0.alert = .init(Self.words) }
        try scene.deliverAll()
        scene.wait(.seconds(5))
        try scene.put("a", 3)
        let lane = try #require(scene.store.rows.lanes.values.first?.first)
        let activity = try scene.activity()
        #expect(lane.skipsLaps(of: activity))
        _ = try scene.claim()
        #expect(scene.store.lastChanges.cards.isEmpty)
    }

    @Test func `with none, nobody on the channel gets the alert`() throws {
        var scene = try Self.scene(.none)
        try scene.put("a", 2) { $0.alert = .init(Self.words) }
        try scene.deliverAll()
        #expect(try scene.deliverNotifications().isEmpty)
    }

    @Test func `a card by token gets the alert with its push, whatever the policy says`() throws {
        for alerts in ChannelAlerts.allCases {
            var scene = try Self.scene(alerts, phones: ["phone"])
            try scene.register("old", user: "old", os: OSVersion(17, 4), startToken: "p2s-old", key: 99)
            try scene.say("old", user: "old") { $0.deviceToken = Sample.token("device-old") }
            try scene.put("a", 2, users: ["phone", "old"])
            scene.wait(.seconds(2))
            try scene.deliverAll()
            try scene.report("old", local: "old", token: "u-old")
            scene.wait(.seconds(60))
            try scene.deliverAll()
            try scene.put("a", 3) { $0.alert = .init(Self.words) }
            #expect(try scene.deliverAll().seats.map(\.plan.alertRevision) == [3], "\(alerts)")
            let told = try Self.told(scene.deliverNotifications())
            #expect(told == (alerts == .notification ? ["phone Goal 2:1"] : []), "\(alerts)")
        }
    }

    @Test func `a start brings its state's alert, and no notification repeats it`() throws {
        var scene = try Self.scene(.notification)
        try scene.registerForChannels("late", user: "late", key: 77)
        try scene.say("late", user: "late") { $0.deviceToken = Sample.token("device-late") }
        try scene.put("a", 2, users: ["phone", "second", "late"]) { $0.alert = .init(Self.words) }
        let starts = try scene.deliverAll().seats
        #expect(starts.map(\.plan.alertRevision) == [2] && starts.first?.plan.channel != nil)
        #expect(try Self.told(scene.deliverNotifications()) == ["phone Goal 2:1", "second Goal 2:1"])
        try scene.report("late", local: "card-late")
        try scene.deliverAll()
        #expect(try scene.deliverNotifications().isEmpty)
        // Nobody has reported this card yet. The broadcasts reach it, and so does the next alert.
        scene.wait(.seconds(5))
        try scene.put("a", 3) { $0.alert = .init(PushAlert(title: "Over", body: "2:1")) }
        try scene.deliverAll()
        #expect(try scene.deliverNotifications().count == 3)
    }

    @Test func `a card that nobody has reported gets the next alert, and still waits for its report`() throws {
        var scene = try Scene.onChannel {
            $0.delivery = .channel
            $0.channelAlerts = .notification
        }
        try scene.say("phone", user: "phone") { $0.deviceToken = Sample.token("device-phone") }
        try scene.put(users: ["phone"])
        #expect(try scene.deliverAll().seats.map(\.plan.kind) == [.start])
        #expect(try scene.card().state == .unconfirmed)
        scene.wait(.seconds(60))
        let before = try scene.decision()
        try scene.put("a", 2) { $0.alert = .init(Self.words) }
        #expect(try scene.deliverAll().seats.isEmpty)
        #expect(try Self.told(scene.deliverNotifications()) == ["phone Goal 2:1"])
        #expect(try scene.card().state == .unconfirmed && scene.decision() == before)
        if case .wait(let until, _) = before { #expect(try scene.card().lookAt == until) }
    }

    @Test func `an end's alert goes the same way`() throws {
        var scene = try Self.scene(.notification)
        try scene.end(alert: .init(Self.words))
        #expect(try scene.deliverAll().errands.map(\.flight.alertRevision) == [0])
        #expect(try scene.deliverNotifications().count == 2)
    }

    @Test func `who has left the audience, or cannot get a notification, gets none`() throws {
        var scene = try Self.scene(.notification)
        try scene.changeAudience(remove: ["second"])
        try scene.say("phone", user: "phone") { $0.notificationAuthorization = "denied" }
        try scene.put("a", 2) { $0.alert = .init(Self.words) }
        try scene.deliverAll()
        #expect(try scene.deliverNotifications().isEmpty)
        // The person allows notifications while the alert is worth showing.
        try scene.say("phone", user: "phone") { $0.notificationAuthorization = "authorized" }
        try scene.deliverAll()
        #expect(try Self.told(scene.deliverNotifications()) == ["phone Goal 2:1"])
    }

    @Test func `an alert that has expired is not told`() throws {
        var scene = try Self.scene(.notification)
        try scene.put("a", 2) { $0.alert = .init(Self.words) }
        scene.wait(.seconds(700))
        try scene.deliverAll()
        #expect(try scene.deliverNotifications().isEmpty)
    }

    @Test func `an alert keeps the way of when it was given`() throws {
        var scene = try Self.scene(.notification)
        try scene.put("a", 2) { $0.alert = .init(Self.words) }
        scene.app.types["order"]?.policy.channelAlerts = .broadcast
        #expect(try scene.deliverAll().errands.map(\.flight.alertRevision) == [0])
        #expect(try scene.deliverNotifications().count == 2)
    }
}
