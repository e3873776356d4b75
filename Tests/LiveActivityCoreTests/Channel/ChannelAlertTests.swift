import APNSModel
import JSONText
import LiveActivityCore
import TestSupport
import Testing

/// Alerts to people whose card is on a channel, by the policy `channelAlerts`.
struct ChannelAlertTests {
    private static let words = PushAlert(title: "Goal", body: "2:1")

    private static func policy(_ policy: inout TypePolicy) {
        policy.delivery = .channel
        policy.channelAlerts = .notification
    }

    /// A phone whose start on a channel APNs has accepted, and which has not reported the card.
    private static func starting() throws -> Scene {
        var scene = try Scene.onChannel(policy)
        try scene.say("phone", user: "phone") { $0.deviceToken = Sample.token("device-phone") }
        try scene.put(users: ["phone"])
        #expect(try scene.deliverAll().seats.map(\.plan.kind) == [.start])
        #expect(try scene.card().state == .unconfirmed)
        scene.wait(.seconds(60))
        return scene
    }

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
        #expect(lane.skipsLaps(of: activity, at: scene.now))
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
        var scene = try Self.starting()
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

    // MARK: - When things go wrong

    @Test func `an alert that was told is no card: a start that failed is made again`() throws {
        var scene = try Self.starting()
        try scene.put("a", 2) { $0.alert = .init(Self.words) }
        try scene.deliverAll()
        #expect(try scene.deliverNotifications().count == 1)
        scene.wait(.seconds(300) + ReportInventory.travel)
        _ = try scene.inventory(sequence: 1, [])
        let seats = try scene.deliverAll().seats
        #expect(seats.map(\.plan.kind) == [.start] && seats.map(\.plan.alertRevision) == [0])
    }

    @Test func `a card that is shown again after its alert was told brings none`() throws {
        var scene = try Self.scene(.notification, phones: ["phone"])
        try scene.put("a", 2) { $0.alert = .init(Self.words) }
        try scene.deliverAll()
        #expect(try scene.deliverNotifications().count == 1)
        try scene.changeAudience(remove: ["phone"])
        try scene.report(local: "card-phone", .ended)
        try scene.changeAudience(add: ["phone"])
        let seats = try scene.deliverAll().seats
        #expect(seats.map(\.plan.kind) == [.start] && seats.map(\.plan.alertRevision) == [0])
        #expect(try scene.deliverNotifications().isEmpty)
    }

    @Test func `laps pass over the channel once the alert has expired, though it is kept`() throws {
        var scene = try Self.scene(.notification)
        try scene.put("a", 2) { body in
            body.alert = .init(Self.words)
            body.alert?.keep = true
        }
        try scene.deliverAll()
        scene.wait(.seconds(601))
        try scene.put("a", 3)
        let (lane, activity) = (try #require(scene.store.rows.lanes.values.first?.first), try scene.activity())
        #expect(activity.alert != nil && lane.skipsLaps(of: activity, at: scene.now))
        #expect(!lane.skipsLaps(of: activity, at: scene.now - .seconds(10)))
    }

    @Test func `a start whose answer never came does not keep the next alert back`() throws {
        for isRescued in [false, true] {
            var scene = try Scene.onChannel(Self.policy)
            try scene.say("phone", user: "phone") { $0.deviceToken = Sample.token("device-phone") }
            try scene.put(users: ["phone"])
            try scene.deliver()
            try scene.broadcast()
            let flight = try scene.onlyFlight()
            let due = scene.now + .seconds(45)
            try scene.settle(flight) { _ in .awaited(until: due) }
            if isRescued {
                scene.node = 2
            } else {
                try scene.settle(flight) { _ in .answered(.success(PushAnswer(status: 200))) }
            }
            scene.wait(.seconds(120))
            try scene.put("a", 2) { $0.alert = .init(Self.words) }
            try scene.deliverAll()
            #expect(try Self.told(scene.deliverNotifications()) == ["phone Goal 2:1"], "rescued: \(isRescued)")
        }
    }

    @Test func `a start that was lost with its process has brought its alert`() throws {
        var scene = try Self.scene(.notification, phones: ["phone"])
        try scene.registerForChannels("late", user: "late", key: 77)
        try scene.say("late", user: "late") { $0.deviceToken = Sample.token("device-late") }
        try scene.put("a", 2, users: ["phone", "late"]) { $0.alert = .init(Self.words) }
        let flight = try scene.onlyFlight()
        #expect(flight.seats.map(\.plan.alertRevision) == [2])
        try scene.report("late", local: "card-late")
        scene.node = 2
        try scene.deliverAll()
        #expect(try Self.told(scene.deliverNotifications()) == ["phone Goal 2:1"])
        #expect(try scene.card("late").alerts.given == 2)
    }

    @Test func `the person is told as well when the phone shows the state already`() throws {
        var scene = try Self.scene(.notification, phones: ["phone"])
        try scene.say("phone", user: "phone") { $0.notificationAuthorization = "denied" }
        try scene.put("a", 2) { $0.alert = .init(Self.words) }
        try scene.deliverAll()
        try scene.report(local: "card-phone") { $0.contentState = Sample.state(2) }
        #expect(try scene.card().heldRevision == 2)
        try scene.say("phone", user: "phone") { $0.notificationAuthorization = "authorized" }
        try scene.report(local: "card-phone") { $0.contentState = Sample.state(2) }
        try scene.deliverAll()
        #expect(try Self.told(scene.deliverNotifications()) == ["phone Goal 2:1"])
    }

    @Test func `a dead device token loses no alert: it comes with the next token`() throws {
        var scene = try Self.scene(.notification, phones: ["phone"])
        try scene.put("a", 2) { $0.alert = .init(Self.words) }
        try scene.deliverAll()
        _ = try scene.deliverNotifications(.refusal(.unregistered))
        try scene.deliverAll()
        #expect(try scene.card().alerts.given < 2)
        try scene.say("phone", user: "phone") { $0.deviceToken = Sample.token("device-new") }
        try scene.deliverAll()
        #expect(try Self.told(scene.deliverNotifications()) == ["phone Goal 2:1"])
    }

    @Test func `a card on a channel that the server does not know gets no notification`() throws {
        var scene = try Self.scene(.notification, phones: ["phone"])
        try scene.put("a", 2)
        let gone = BroadcastError(.refused(status: 400, reason: .known(.channelNotRegistered)), "")
        try scene.settle(try #require(try scene.claimChannels().errands.first), .failed(gone))
        scene.wait(.seconds(5))
        try scene.put("a", 3) { $0.alert = .init(Self.words) }
        try scene.deliverAll()
        // It looks like one on a channel of the app's own.
        #expect(try scene.deliverNotifications().isEmpty)
    }

    @Test func `a start that APNs refuses keeps its alert, though others have started on the channel`() throws {
        var scene = try Scene.onChannel(phones: ["phone", "second"], Self.policy)
        try scene.put(users: ["phone", "second"]) { $0.alert = .init(Self.words) }
        try scene.report("second", local: "own", .requesting)
        #expect(try scene.deliverAll().seats.map(\.plan.alertRevision) == [1])
        // The app has started none.
        scene.wait(.seconds(130))
        let flight = try scene.onlyFlight()
        #expect(flight.seats.map(\.plan.alertRevision) == [1])
        try scene.settle(flight) { _ in .answered(.success(PushAnswer(status: 503))) }
        scene.wait(.seconds(60))
        #expect(try scene.deliverAll().seats.map(\.plan.alertRevision) == [1])
    }

    @Test func `the end of another card that waits holds no alert back`() throws {
        let id = try #require(ChannelID("AAAABBBB"))
        let situation = Situation("a stray card is to be ended") { situation in
            situation.makeLive(sent: 3)
            situation.phone.card.columns.channel = id
            situation.phone.updateToken?.predecessor = TokenValue(stored: "another")
            situation.phone.card.columns.predecessorDueAt = Sample.now + .seconds(900)
            situation.phone.deviceToken = DeviceTokenRecord(
                device: 7, kind: .device, type: "", generation: 1, environment: .production,
                value: TokenValue(stored: "device"), firstSeenAt: Sample.now)
            var channel = ChannelRecord(
                ChannelKey(1, .production, run: 1), app: Sample.bundleID, storage: .mostRecent)
            channel.open(id)
            situation.desired.channels = [channel]
            situation.alert()
            situation.desired.activity.alert?.onChannels = .notification
        }
        #expect(situation.decision == .fallBack(Reason(.alertByNotification)))
    }

    @Test func `the notification is worth showing as long as its alert`() throws {
        var scene = try Self.scene(.notification, phones: ["phone"])
        try scene.put("a", 2) { body in
            body.alert = .init(Self.words)
            body.alert?.expiresAfter = .seconds(60)
        }
        try scene.deliverAll()
        let due = try scene.activity().alert?.expiresAt
        #expect(try scene.deliverNotifications().map(\.notification.expiresAt) == [due])
    }
}
