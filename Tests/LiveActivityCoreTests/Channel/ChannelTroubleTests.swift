import APNSModel
import LiveActivityCore
import TestSupport
import Testing

/// Broadcast channels when APNs or the server fails.
struct ChannelTroubleTests {
    private static let lost = BroadcastError(.unknownFate, "no answer")

    @Test func `an operation that its process has under way outlives a clock that is set forward`() throws {
        var scene = try Scene.onChannel()
        try scene.put(users: ["phone"])
        try scene.deliver()
        let errand = try #require(try scene.claimChannels().errands.first)
        scene.wait(.seconds(300))
        #expect(try scene.claimChannels(underWay: [errand.channel.key]).rescued == 0)
        let id = try #require(ChannelID("AAAABBBB"))
        #expect(try !scene.settle(errand, .created(id)).isLate)
        #expect(try scene.channel()?.id == id)
    }

    @Test func `the fate of a broadcast of a lost process is unknown: the state goes again, without its alert`() throws
    {
        var scene = try Scene.subscribed()
        try scene.put("a", 2) { $0.alert = .init(Sample.alert) }
        let lost = try #require(try scene.claimChannels().errands.first)
        #expect(lost.flight.alertRevision == 2)
        scene.node = 2
        #expect(try scene.claimChannels().rescued == 1)
        scene.wait(.seconds(1))
        let again = try #require(try scene.claimChannels().errands.first)
        #expect(again.flight.revision == 2 && again.flight.alertRevision == 0)
        #expect(again.flight.timestamp > lost.flight.timestamp)
        #expect(try scene.settle(lost, .done).isLate, "the slow process changes nothing any more")
        #expect(try scene.channel()?.flight != nil)
        try scene.settle(again, .done)
        #expect(try scene.channel()?.sentRevision == 2)
    }

    @Test func `a broadcast that APNs refused comes with its alert again`() throws {
        var scene = try Scene.subscribed()
        try scene.put("a", 2) { $0.alert = .init(Sample.alert) }
        let errand = try #require(try scene.claimChannels().errands.first)
        try scene.settle(errand, .failed(BroadcastError(.refused(status: 503, reason: nil), "")))
        #expect(try scene.claimChannels().errands.isEmpty)
        scene.wait(.seconds(2))
        let again = try #require(try scene.claimChannels().errands.first)
        #expect(again.flight.alertRevision == 2 && again.plan?.priority == .high)
    }

    @Test func `while APNs asks to slow down, states come together`() throws {
        var scene = try Scene.subscribed()
        var sent = 0
        for step in 2...40 {
            try scene.put("a", step)
            if let errand = try scene.claimChannels().errands.first {
                sent += 1
                try scene.settle(errand, .failed(BroadcastError(.refused(status: 429, reason: nil), "")))
            }
            scene.wait(.seconds(1))
        }
        #expect(sent < 8, "\(sent) broadcasts against 429")
        scene.wait(.seconds(300))
        #expect(try scene.broadcast().map(\.flight.revision) == [40])
    }

    @Test func `a channel that APNs does not know any more is replaced for later cards`() throws {
        var scene = try Scene.subscribed()
        let first = try scene.channel()?.id
        try scene.put("a", 2)
        let errand = try #require(try scene.claimChannels().errands.first)
        try scene.settle(
            errand, .failed(BroadcastError(.refused(status: 400, reason: .known(.channelNotRegistered)), "")))
        #expect(try scene.broadcast().isEmpty, "no card needs another one yet")
        try scene.registerForChannels("late", user: "late", key: 77)
        try scene.changeAudience(add: ["late"])
        let (seats, errands) = try scene.deliverAll()
        #expect(errands.map(\.flight.kind) == [.create] && seats.count == 1)
        #expect(seats.first?.plan.channel != first)
        #expect(try scene.decision("phone").reason.code == .onChannel, "its card is on a channel that is gone")
    }

    @Test func `a state that APNs refuses as wrong is not sent again, and the next one is`() throws {
        var scene = try Scene.subscribed()
        try scene.put("a", 2)
        let errand = try #require(try scene.claimChannels().errands.first)
        try scene.settle(errand, .failed(BroadcastError(.refused(status: 413, reason: .known(.payloadTooLarge)), "")))
        scene.wait(.seconds(600))
        #expect(try scene.broadcast().isEmpty)
        try scene.put("a", 3)
        #expect(try scene.broadcast().map(\.flight.revision) == [3])
    }

    @Test func `a deletion of unknown fate is repeated until APNs says that the channel is gone`() throws {
        var scene = try Scene.onChannel()
        try scene.put(users: ["phone"])
        try scene.deliver()
        try scene.broadcast()
        try scene.end()
        try scene.settle(try #require(try scene.claimChannels().errands.first), .failed(Self.lost))
        scene.wait(.seconds(60))
        let again = try #require(try scene.claimChannels().errands.first)
        #expect(again.flight.kind == .delete)
        let gone = BroadcastError(.refused(status: 400, reason: .known(.channelNotRegistered)), "")
        #expect(try scene.settle(again, .failed(gone)).isDeleted)
        #expect(try scene.channel() == nil)
    }

    @Test func `nothing is done for an app that is not configured, and everything afterwards`() throws {
        var scene = try Scene.subscribed()
        try scene.put("a", 2)
        let app = scene.app
        scene.app.environments = [.sandbox]
        #expect(try scene.claimChannels().errands.isEmpty)
        scene.app = app
        scene.wait(.seconds(3600))
        #expect(try scene.broadcast().map(\.flight.revision) == [2])
    }

    @Test func `a lost process's start on a channel is looked at again when its card must be there`() throws {
        var scene = try Scene.onChannel()
        try scene.put(users: ["phone"])
        try scene.deliver()
        try scene.broadcast()
        let flight = try scene.onlyFlight()
        scene.node = 2
        #expect(try scene.claim().rescued == 1)
        #expect(scene.store.rows.laneFaults.isEmpty, "the lane knows that the phone is looked at again")
        try scene.deliver()
        let expires = try #require(flight.seats.first?.plan.expiresAt)
        #expect(try scene.card().lookAt == expires + Reconciler.startFateHorizon)
        #expect(scene.store.rows.laneFaults.isEmpty)
    }

    @Test func `a start on a channel that a newer state overtakes is looked at again all the same`() throws {
        var scene = try Scene.onChannel()
        try scene.put(users: ["phone"])
        try scene.deliver()
        try scene.broadcast()
        let flight = try scene.onlyFlight()
        try scene.put("a", 2)
        try scene.settle(flight) { _ in .answered(.success(PushAnswer(status: 200))) }
        try scene.deliver()
        let expires = try #require(flight.seats.first?.plan.expiresAt)
        #expect(try scene.card().lookAt == expires + Reconciler.startFateHorizon)
        #expect(scene.store.rows.laneFaults.isEmpty)
    }

    @Test func `a start that waited for an alert goes on when the alert is replaced without a broadcast`() throws {
        var scene = try Scene.subscribed()
        try scene.put("a", 2) { $0.alert = .init(Sample.alert) }
        let errand = try #require(try scene.claimChannels().errands.first)
        try scene.registerForChannels("late", user: "late", key: 77)
        try scene.changeAudience(add: ["late"])
        #expect(try scene.deliver().isEmpty)
        try scene.settle(errand, .failed(BroadcastError(.refused(status: 503, reason: nil), "")))
        scene.wait(Duration.seconds(601))
        // The alert has expired, and the state alone is sent.
        try scene.broadcast()
        #expect(try scene.deliver().map(\.plan.kind) == [.start])
    }

    @Test func `a start that waits for a channel which waits for nothing wakes it`() throws {
        var scene = try Scene.subscribed()
        let key = try #require(try scene.channel()?.key)
        scene.store.edit { draft in
            guard var channel = draft.snapshot.channels[key] else { return }
            channel.isAwaited = true
            channel.dueAt = nil
            draft.put(channel)
        }
        try scene.put("a", 2) { $0.alert = .init(Sample.alert) }
        scene.store.edit { draft in
            guard var channel = draft.snapshot.channels[key] else { return }
            channel.dueAt = nil
            draft.put(channel)
        }
        try scene.registerForChannels("late", user: "late", key: 77)
        try scene.changeAudience(add: ["late"])
        #expect(try scene.deliverAll().seats.map(\.plan.kind) == [.start])
    }

    @Test func `a card that no phone had reported when its run ended is no card of the next run`() throws {
        var scene = try Scene.onChannel()
        try scene.put(users: ["phone"]) { $0.reopen = true }
        try scene.deliverAll()
        let first = try scene.channel()?.id
        try scene.end()
        try scene.put("a", 3) { $0.reopen = true }
        try scene.deliverAll()
        #expect(try scene.card("phone").run == 1, "nothing tells whether the start arrived")
        // The phone was offline during the broadcast of the end, and still shows the card.
        try scene.report("phone", local: "card-phone")
        #expect(try scene.card("phone").channel == first)
        let seats = try scene.deliverAll().seats
        #expect(seats.map(\.plan.kind) == [.start])
        #expect(seats.first?.plan.channel == (try scene.channel(run: 2)?.id))
    }

    @Test func `a state that came between the app's start of a card and its report is broadcast`() throws {
        var scene = try Scene.onChannel()
        try scene.put(users: ["phone"]) { $0.start = .never }
        try scene.report("phone", local: "card-phone", .requesting)
        try scene.deliverAll()
        let id = try #require(try scene.channel()?.id)
        try scene.put("a", 2)
        #expect(try scene.broadcast().isEmpty, "nobody has a card")
        try scene.report("phone", local: "card-phone") {
            $0.channel = id
            $0.contentState = Sample.state(1)
        }
        #expect(try scene.broadcast().map(\.flight.revision) == [2])
    }

    @Test func `a card of the app whose report is lost gets no alert twice`() throws {
        var scene = try Scene.subscribed(phones: ["ann"])
        try scene.registerForChannels("bob", user: "bob", key: 77)
        try scene.changeAudience(add: ["bob"])
        try scene.report("bob", local: "card-bob", .requesting)
        try scene.put("a", 2) { $0.alert = .init(Sample.alert) }
        #expect(try scene.deliverAll().errands.map(\.flight.alertRevision) == [2])
        scene.wait(.seconds(121))
        let seats = try scene.deliverAll().seats
        #expect(seats.map(\.plan.kind) == [.start] && seats.first?.plan.alertRevision == 0)
    }

    @Test func `auto that was refused a channel is given one later, though nobody waits`() throws {
        for refusal in [
            BroadcastError(.refused(status: 400, reason: .known(.featureNotEnabled)), ""),
            BroadcastError(.refused(status: 503, reason: nil), ""),
        ] {
            var scene = try Scene.onChannel(phones: ["ann", "bob"]) {
                $0.delivery = .auto
                $0.join = .open
            }
            try scene.put(users: ["ann"])
            try scene.deliver()
            for _ in 0..<3 {
                try scene.settle(try #require(try scene.claimChannels().errands.first), .failed(refusal))
                if try scene.channel()?.life == .refused { break }
                scene.now = try #require(try scene.channel()?.dueAt)
            }
            #expect(try scene.deliver().map(\.plan.channel) == [nil], "a card by token is better than none")
            scene.now = try #require(try scene.channel()?.dueAt)
            #expect(try scene.broadcast().map(\.flight.kind) == [.create])
            try scene.changeAudience(add: ["bob"])
            #expect(try scene.deliverAll().seats.map(\.plan.channel) == [try scene.channel()?.id])
        }
    }

    @Test func `creations wait for room, and broadcasts do not`() throws {
        var scene = try Scene.onChannel()
        try scene.put(users: ["phone"])
        try scene.deliver()
        #expect(try scene.claimChannels(managementRoom: 0).errands.isEmpty)
        #expect(try scene.channel()?.dueAt == scene.now + ClaimChannels.roomPause)
        var other = try Scene.subscribed()
        try other.put("a", 2)
        #expect(try other.claimChannels(managementRoom: 0).errands.count == 1)
    }

    @Test func `a phone that cannot be on the channel gets the alert that the channel has carried`() throws {
        var scene = try Scene.subscribed(phones: ["ann"])
        try scene.register("bob", user: "bob", os: OSVersion(17, 4), startToken: "p2s-bob", key: 77)
        try scene.changeAudience(add: ["bob"])
        try scene.report("bob", local: "card-bob", .requesting)
        try scene.put("a", 2) { $0.alert = .init(Sample.alert) }
        try scene.deliverAll()
        scene.wait(.seconds(121))
        #expect(try scene.deliverAll().seats.map(\.plan.alertRevision) == [2])
    }

    @Test func `a type that the configuration has lost ends nobody's card, and goes on when it is back`() throws {
        var scene = try Scene.subscribed()
        try scene.put("a", 2)
        let app = scene.app
        scene.app.types = [:]
        #expect(try scene.claimChannels().errands.isEmpty)
        scene.app = app
        scene.wait(.seconds(3600))
        let done = try scene.broadcast()
        #expect(done.map(\.flight.kind) == [.update] && done.map(\.flight.revision) == [2])
    }

    @Test func `cards on a channel get their states after the type has gone back to tokens`() throws {
        var scene = try Scene.subscribed()
        scene.app.types["order"]?.policy.delivery = .token
        try scene.put("a", 2)
        #expect(try scene.broadcast().map(\.flight.revision) == [2])
        try scene.registerForChannels("late", user: "late", key: 77)
        try scene.changeAudience(add: ["late"])
        let start = try scene.deliverAll().seats
        #expect(start.count == 1 && start[0].plan.channel == nil)
        scene.wait(ChannelReconciler.pace)
        try scene.end()
        #expect(try scene.deliverAll().errands.map(\.flight.kind) == [.end])
    }

    @Test func `auto waits for a lost creation as long as the list cannot be read, but not for ever`() throws {
        var scene = try Scene.onChannel {
            $0.delivery = .auto
            $0.join = .open
        }
        try scene.put(users: ["phone"])
        try scene.deliver()
        try scene.settle(try #require(try scene.claimChannels().errands.first), .failed(Self.lost))
        #expect(try scene.deliver().isEmpty)
        for _ in 0..<2 {
            scene.wait(.seconds(61))
            #expect(try scene.claimChannels().sought == [Scene.route])
            _ = try scene.run(RefuseChannels(Scene.route, BroadcastError(.cannotConnect, "down"), now: scene.now))
        }
        #expect(try scene.deliver().map(\.plan.channel) == [nil])
    }
}
