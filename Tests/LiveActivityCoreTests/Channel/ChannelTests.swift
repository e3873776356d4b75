import APNSModel
import JSONText
import LiveActivityCore
import TestSupport
import Testing

/// Cards on a broadcast channel, from the first start to the channel's deletion.
struct ChannelTests {
    @Test func `a channel is made when the first card needs it, and the start names it`() throws {
        var scene = try Scene.onChannel()
        try scene.put(users: ["phone"])
        #expect(try scene.deliver().isEmpty)
        #expect(try scene.decision() == .nothing(Reason(.channelPending)))
        let (seats, errands) = try scene.deliverAll()
        #expect(errands.map(\.flight.kind) == [.create])
        let id = try #require(try scene.channel()?.id)
        let seat = try #require(seats.first)
        #expect(seats.count == 1 && seat.plan.channel == id)
        #expect(seat.plan.reason == Reason(.firstOnChannel, id.text, "delivery-channel"))
        #expect(try scene.card().subscription == id)
    }

    @Test func `the start's payload subscribes the card, and asks for no update token`() throws {
        var scene = try Scene.onChannel()
        try scene.put(users: ["phone"])
        try scene.deliver()
        try scene.broadcast()
        let flight = try scene.onlyFlight()
        let request = try #require(try flight.request(of: flight.seats[0]))
        let aps = try #require(try JSONValue(parsing: request.payload).object?["aps"]?.object)
        let id = try scene.channel()?.id?.text
        #expect(aps["input-push-channel"]?.string == id)
        #expect(aps["input-push-token"] == nil)
    }

    @Test func `a new state is one broadcast, and no push to any phone`() throws {
        let phones = (1...40).map { "phone-\($0)" }
        var scene = try Scene.subscribed(phones: phones)
        try scene.put("a", 2)
        let (seats, errands) = try scene.deliverAll()
        #expect(seats.isEmpty)
        #expect(errands.map(\.flight.kind) == [.update] && errands.map(\.flight.revision) == [2])
        #expect(try scene.channel()?.sentRevision == 2)
        let card = try scene.card("phone-1")
        let id = try scene.channel()?.id
        #expect(card.state == .live && card.channel == id)
    }

    @Test func `a change writes no phone's row, however many are on the channel`() throws {
        let phones = (1...40).map { "phone-\($0)" }
        var scene = try Scene.subscribed(phones: phones)
        try scene.put("a", 2)
        for _ in 0..<5 {
            let reply = try scene.claim()
            #expect(reply.flights.isEmpty && !reply.hasMore)
            #expect(scene.store.lastChanges.cards.isEmpty && scene.store.lastChanges.lanes.isEmpty)
            for errand in try scene.claimChannels().errands { try scene.settle(errand, .done) }
            #expect(scene.store.lastChanges.cards.isEmpty && scene.store.lastChanges.lanes.isEmpty)
        }
        #expect(try scene.channel()?.sentRevision == 2)
        #expect(try scene.activity().wakeAt == nil)
    }

    @Test func `a phone by token gets the same state beside those on the channel`() throws {
        var scene = try Scene.subscribed(phones: ["new"])
        try scene.register("old", user: "old", os: OSVersion(17, 4), startToken: "p2s-old", key: 99)
        try scene.put("a", 2, users: ["new", "old"])
        scene.wait(.seconds(2))
        let start = try scene.deliverAll().seats
        #expect(start.map(\.plan.kind) == [.start] && start[0].plan.channel == nil)
        try scene.report("old", local: "old", token: "u-old")
        scene.wait(.seconds(2))
        try scene.deliverAll()
        scene.wait(.seconds(60))
        try scene.put("a", 3)
        let (seats, errands) = try scene.deliverAll()
        #expect(seats.map(\.plan.revision) == [3] && seats.map(\.phone.device.id) == [Sample.device("old")])
        #expect(errands.map(\.flight.revision) == [3])
    }

    @Test func `changes within a second are one broadcast, and the last state always follows`() throws {
        var scene = try Scene.subscribed()
        var sent: [Revision] = []
        for step in 2...9 {
            try scene.put("a", step)
            sent += try scene.broadcast().map(\.flight.revision)
            scene.wait(.milliseconds(200))
        }
        scene.wait(.seconds(2))
        sent += try scene.broadcast().map(\.flight.revision)
        #expect(sent.count <= 3 && sent.last == 9, "\(sent)")
        #expect(sent == sent.sorted())
    }

    @Test func `each broadcast has a later timestamp than every start and broadcast before it`() throws {
        var scene = try Scene.subscribed()
        var last = try #require(try scene.channel()?.timestamp)
        let start = try scene.card().timestamp
        #expect(last >= start)
        for step in 2...6 {
            try scene.put("a", step)
            scene.wait(.milliseconds(1100))
            for errand in try scene.broadcast() {
                #expect(errand.flight.timestamp > last)
                last = errand.flight.timestamp
            }
        }
        // A card that starts now is not overwritten by a stored message.
        try scene.registerForChannels("late", user: "late", key: 77)
        try scene.changeAudience(add: ["late"])
        let seat = try #require(try scene.deliverAll().seats.first)
        #expect(seat.timestamp >= last && seat.plan.revision == 6)
    }

    @Test func `an alert is broadcast once, and a start meanwhile does not bring it again`() throws {
        var scene = try Scene.subscribed()
        try scene.put("a", 2) { $0.alert = .init(Sample.alert) }
        try scene.registerForChannels("late", user: "late", key: 77)
        try scene.changeAudience(add: ["late"])
        #expect(try scene.deliver().isEmpty, "the start waits until the alert is out")
        let errand = try #require(try scene.claimChannels().errands.first)
        #expect(errand.flight.alertRevision == 2)
        #expect(try scene.deliver().isEmpty)
        try scene.settle(errand, .done)
        #expect(try scene.deliver().map(\.plan.kind) == [.start])
        scene.wait(.seconds(5))
        try scene.put("a", 3)
        #expect(try scene.deliverAll().errands.map(\.flight.alertRevision) == [0])
    }

    @Test func `a card that is over does not bring the channel's alert again when it restarts`() throws {
        var scene = try Scene.subscribed()
        try scene.put("a", 2) {
            $0.alert = .init(Sample.alert)
            $0.restart = .onAlert
        }
        try scene.deliverAll()
        try scene.report("phone", local: "card-phone", .dismissed)
        scene.wait(.seconds(2))
        #expect(try scene.deliverAll().seats.isEmpty)
    }

    @Test func `the end is broadcast, repeated, and then the channel is deleted`() throws {
        var scene = try Scene.subscribed()
        try scene.end("a", Sample.state(9))
        let end = try scene.deliverAll()
        #expect(end.seats.isEmpty && end.errands.map(\.flight.kind) == [.end])
        let payload = try #require(try end.errands[0].request()).payload
        #expect(try JSONValue(parsing: payload.bytes).object?["aps"]?.object?["event"]?.string == "end")
        scene.wait(.seconds(15 * 60))
        #expect(try scene.broadcast().map(\.plan?.reason.code) == [.endRepeated])
        scene.wait(.seconds(2 * 3600))
        #expect(try scene.broadcast().map(\.plan?.reason.code) == [.endRepeated])
        scene.wait(.seconds(9 * 3600))
        #expect(try scene.broadcast().isEmpty, "phones may still show cards")
        scene.wait(.seconds(3600))
        #expect(try scene.broadcast().map(\.flight.kind) == [.delete])
        #expect(try scene.channel() == nil)
    }

    @Test func `a channel that no card has used is deleted as soon as its run is over`() throws {
        var scene = try Scene.onChannel()
        try scene.put(users: ["phone"])
        try scene.deliver()
        try scene.broadcast()
        try scene.end()
        #expect(try scene.broadcast().map(\.flight.kind) == [.delete])
    }

    @Test func `the next run has its own channel, and begins when the end of the earlier one was accepted`() throws {
        var scene = try Scene.subscribed()
        try scene.put("a", 2) { $0.reopen = true }
        try scene.end()
        try scene.put("a", 3) { $0.reopen = true }
        #expect(try scene.deliver().isEmpty, "the phone must not show two cards")
        let (seats, errands) = try scene.deliverAll()
        #expect(errands.map(\.flight.kind).contains(.end))
        #expect(seats.map(\.plan.kind) == [.start])
        let ids = [try scene.channel(run: 1)?.id, try scene.channel(run: 2)?.id]
        #expect(seats.first?.plan.channel == ids[1] && ids[0] != ids[1])
    }

    @Test func `who leaves the audience is not ended by a push`() throws {
        var scene = try Scene.subscribed(phones: ["ann", "bob"])
        try scene.put("a", 2)
        try scene.deliverAll()
        try scene.changeAudience(remove: ["bob"])
        let (seats, errands) = try scene.deliverAll()
        #expect(seats.isEmpty && errands.isEmpty)
        #expect(try scene.decision("bob") == .nothing(Reason(.endsAtContact)))
        #expect(try scene.decision("ann").reason.code == .channelCurrent)
    }

    @Test func `auto takes a channel from fifty phones on, and keeps to it`() throws {
        let phones = (1...50).map { "phone-\($0)" }
        var scene = try Scene.onChannel(phones: phones) { $0.delivery = .auto }
        try scene.put(users: Array(phones.prefix(49)))
        #expect(try scene.deliverAll().seats.allSatisfy { $0.plan.channel == nil })
        scene.wait(.seconds(2))
        try scene.changeAudience(add: ["phone-50"])
        let late = try scene.deliverAll().seats
        #expect(late.count == 1 && late[0].plan.channel != nil)
        #expect(try scene.card("phone-1").subscription == nil, "a card that is there stays as it is")
    }

    @Test func `auto starts cards with tokens where no channel can be made`() throws {
        let refusals: [BroadcastError] = [
            BroadcastError(.refused(status: 400, reason: .known(.featureNotEnabled)), ""),
            BroadcastError(.refused(status: 400, reason: .known(.cannotCreateChannelConfig)), ""),
        ]
        for refusal in refusals {
            var scene = try Scene.onChannel {
                $0.delivery = .auto
                $0.join = .open
            }
            try scene.put(users: ["phone"])
            try scene.deliver()
            let errand = try #require(try scene.claimChannels().errands.first)
            try scene.settle(errand, .failed(refusal))
            let seats = try scene.deliver()
            #expect(seats.count == 1 && seats[0].plan.channel == nil)
        }
    }

    @Test func `auto leaves a fifth of an app's channels free`() throws {
        var scene = try Scene.onChannel {
            $0.delivery = .auto
            $0.join = .open
        }
        try scene.put(users: ["phone"])
        try scene.deliver()
        #expect(try scene.claimChannels(inUse: 8000).errands.isEmpty)
        #expect(try scene.deliver().first?.plan.channel == nil)
    }

    @Test func `the timeline says once that auto makes no more channels, whatever their number`() throws {
        var scene = try Scene.onChannel {
            $0.delivery = .auto
            $0.join = .open
        }
        try scene.put(users: ["phone"])
        try scene.deliver()
        for count in [8000, 8001, 8002] {
            #expect(try scene.claimChannels(inUse: count).errands.isEmpty)
            scene.wait(ChannelReconciler.refusalPause)
        }
        #expect(try scene.channel()?.tries == 3)
        #expect(scene.refusals == [Reason(.channelRefused, "8000 in use")])
        #expect(try scene.deliver().map(\.plan.reason) == [Reason(.firstState, "channels-in-use")])
    }

    @Test func `L9: where builds decode different states, no card is on a channel that brings all of them the same`()
        throws
    {
        var scene = try Scene.onChannel {
            $0.delivery = .auto
            $0.join = .open
        }
        let older = #"{"type": "object", "properties": {"step": {"type": "integer"}}}"#
        let contract = try Contract(
            JSONValue(parsing: #"{"attributesType": "orderAttributes", "contentState": \#(older)}"#))
        scene.app.types["order"]?.olderContracts = [
            OlderContract(before: try #require(AppBuild("90")), contract: contract)
        ]
        try scene.put(users: ["phone"])
        let (seats, errands) = try scene.deliverAll()
        #expect(errands.isEmpty)
        #expect(seats.count == 1 && seats[0].plan.channel == nil)
    }

    @Test(arguments: [DeliveryMode.auto, .channel])
    func `where a provider computes the state, or the activity is for one device, cards get tokens`(
        delivery: DeliveryMode
    ) throws {
        for isProvided in [true, false] {
            var scene = try Scene.onChannel {
                $0.delivery = delivery
                $0.join = .open
            }
            scene.app.types["order"]?.isProvided = isProvided
            try scene.put(users: ["phone"]) { if !isProvided { $0.devices = .one(Sample.device("phone")) } }
            let (seats, errands) = try scene.deliverAll()
            #expect(errands.isEmpty, "provided: \(isProvided)")
            #expect(seats.count == 1 && seats[0].plan.channel == nil, "provided: \(isProvided)")
        }
    }

    @Test func `L12: a start on a channel has an alert, an expiration that is not 0, and its keys inside aps`() throws {
        var scene = try Scene.onChannel()
        try scene.put(users: ["phone"])
        try scene.deliver()
        try scene.broadcast()
        let flight = try scene.onlyFlight()
        let request = try #require(try flight.request(of: flight.seats[0]))
        let body = try #require(try JSONValue(parsing: request.payload).object)
        let aps = try #require(body["aps"]?.object)
        #expect(aps["alert"]?.object?["title"]?.string == "Order")
        for key in ["attributes", "attributes-type", "content-state", "input-push-channel"] {
            #expect(aps[key] != nil && body[key] == nil, "\(key)")
        }
        let expires = try #require(flight.seats.first?.plan.expiresAt)
        #expect(expires > scene.now)
    }

    @Test func `a phone whose app cannot follow a channel gets a token`() throws {
        var scene = try Scene.onChannel(phones: [])
        try scene.register("phone", user: "phone")
        try scene.put(users: ["phone"])
        let seats = try scene.deliverAll().seats
        #expect(seats.count == 1 && seats[0].plan.channel == nil)
    }
}
