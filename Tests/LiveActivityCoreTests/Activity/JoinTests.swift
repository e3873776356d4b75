import APNSModel
import LiveActivityCore
import TestSupport
import Testing

/// Offers to apps that want to start a card themselves.
struct JoinTests {
    private static let ann = Joiner.person(Sample.user("ann"))
    private static let bob = Joiner.person(Sample.user("bob"))
    /// The phone of ``Scene/register(_:user:os:environment:startToken:key:)``.
    private static let phone = Joiner.phone(7, Sample.user("ann"))

    /// A type whose cards are on channels, and which anybody may join.
    private static func match(_ change: (inout TypePolicy) -> Void = { _ in }) -> ActivityType {
        Sample.type {
            $0.delivery = .channel
            $0.join = .anonymous
            change(&$0)
        }
    }

    private static func command(
        _ scene: Scene, _ joiner: Joiner, of id: String = "a", in environment: APNSEnvironment? = nil
    ) -> JoinActivity {
        JoinActivity(
            app: scene.app, id: Sample.activityID(id), joiner: joiner, environment: environment, now: scene.now)
    }

    private static func refusal(_ scene: Scene, _ joiner: Joiner, of id: String = "a") -> Refusal? {
        var store = scene.store
        guard case .failure(let refusal) = store.run(command(scene, joiner, of: id)) else { return nil }
        return refusal
    }

    private static let unknown = Refusal.unknownActivity(Sample.activityID("a"))

    // MARK: - Who may join

    @Test func `the audience may join, everybody if the type is open, and anybody if it is anonymous`() throws {
        let allowed: [TypePolicy.Join: Set<Joiner>] = [
            .audience: [.backend, Self.ann], .open: [.backend, Self.ann, Self.bob],
            .anonymous: [.backend, Self.ann, Self.bob, .anybody],
        ]
        for join in TypePolicy.Join.allCases {
            var scene = Scene(Sample.type { $0.join = join })
            try scene.put(users: ["ann"])
            for joiner in [Joiner.backend, Self.ann, Self.bob, .anybody] {
                let isAllowed = allowed[join]?.contains(joiner) == true
                #expect(Self.refusal(scene, joiner) == (isAllowed ? nil : Self.unknown), "\(join): \(joiner)")
            }
        }
    }

    @Test func `a phone joins for its person, as long as the person is signed in there`() throws {
        var scene = Scene()
        try scene.register()
        try scene.put(users: ["ann"])
        #expect(try scene.run(Self.command(scene, Self.phone)).mayStart)
        #expect(Self.refusal(scene, .phone(7, Sample.user("bob"))) == Self.unknown)
        #expect(Self.refusal(scene, .phone(8, Sample.user("ann"))) == Self.unknown)
        _ = try scene.run(SignOutDevice(app: scene.app.bundleID, id: Sample.device("phone"), now: scene.now))
        #expect(Self.refusal(scene, Self.phone) == Self.unknown)
        #expect(Self.refusal(scene, Self.ann) == nil)
    }

    @Test func `an activity that has ended is said to have, to those who might have joined`() throws {
        var scene = Scene()
        try scene.put(users: ["ann"])
        try scene.end()
        #expect(Self.refusal(scene, Self.ann) == .activityEnded(Sample.activityID("a")))
        #expect(Self.refusal(scene, .backend) == .activityEnded(Sample.activityID("a")))
        #expect(Self.refusal(scene, Self.bob) == Self.unknown)
    }

    @Test func `an activity that only a phone has reported is unknown to everybody`() throws {
        var scene = Scene(Sample.type { $0.join = .anonymous })
        try scene.register()
        try scene.report(activity: "a")
        #expect(try scene.activity().phase == .announced)
        for joiner in [Joiner.backend, Self.ann, Self.phone, .anybody] {
            #expect(Self.refusal(scene, joiner) == Self.unknown, "\(joiner)")
        }
    }

    // MARK: - What is offered

    @Test func `the offer has the newest state, and changes nothing where cards have tokens`() throws {
        var scene = Scene()
        try scene.put(users: ["ann"])
        try scene.put("a", 2)
        let offer = try scene.run(Self.command(scene, Self.ann))
        #expect(offer.activity.revision == 2 && offer.mayStart)
        let content = scene.store.rows.contents[offer.activity.number]
        #expect(offer.content == content)
        #expect(offer.channel == nil && offer.retryAfter == nil)
        #expect(scene.store.lastChanges.isEmpty)
    }

    @Test func `a phone that shows a card starts no second one, and may follow again after a swipe`() throws {
        var scene = try Scene.live()
        let shown = try scene.run(Self.command(scene, Self.phone))
        #expect(!shown.mayStart && shown.card?.localID == Sample.local("card"))
        // The server does not know on which phone of hers a person asks.
        #expect(try scene.run(Self.command(scene, Self.ann)).mayStart)
        try scene.report("phone", .dismissed)
        #expect(try scene.run(Self.command(scene, Self.phone)).mayStart)
    }

    @Test func `nobody is offered a start that the backend has ruled out`() throws {
        var scene = Scene(Sample.type { $0.join = .anonymous })
        try scene.register()
        try scene.put(users: ["ann"]) { $0.devices = .only([Sample.device("phone")]) }
        func mayStart(_ joiner: Joiner) throws -> Bool { try scene.run(Self.command(scene, joiner)).mayStart }
        #expect(try mayStart(Self.phone) && mayStart(.backend))
        #expect(try !mayStart(Self.ann) && !mayStart(.anybody))
        try scene.put("a", 2) { $0.devices = .only([Sample.device("tablet")]) }
        #expect(try !mayStart(Self.phone))
        try scene.put("a", 3) {
            $0.devices = .all
            $0.start = .never
        }
        #expect(try !mayStart(Self.phone) && !mayStart(.backend) && !mayStart(.anybody))
    }

    // MARK: - Channels

    @Test func `the first who joins has the channel made, and the next is given it`() throws {
        var scene = Scene(Self.match())
        try scene.put()
        let first = try scene.run(Self.command(scene, .anybody))
        #expect(first.mayStart && first.channel == nil && first.retryAfter == JoinActivity.channelPause)
        #expect(scene.store.lastChanges.channels.count == 1)
        // To ask again changes nothing.
        for joiner in [Joiner.anybody, .backend, Self.ann] {
            #expect(try scene.run(Self.command(scene, joiner)).retryAfter == JoinActivity.channelPause)
            #expect(scene.store.lastChanges.isEmpty)
        }
        #expect(try scene.broadcast().map(\.flight.kind) == [.create])
        let next = try scene.run(Self.command(scene, .anybody))
        let id = try #require(try scene.channel()?.id)
        #expect(next.channel == id && next.retryAfter == nil)
        _ = try scene.run(Self.command(scene, .anybody))
        #expect(scene.store.lastChanges.isEmpty)
    }

    @Test func `whoever was given a channel gets the next state by it, and the end, though no phone is known`() throws {
        var scene = Scene(Self.match())
        try scene.put()
        _ = try scene.run(Self.command(scene, .anybody))
        try scene.broadcast()
        scene.wait(.seconds(60))
        // Nobody has the channel yet.
        try scene.put("a", 2)
        #expect(try scene.broadcast().isEmpty)
        scene.wait(.seconds(60))
        let offer = try scene.run(Self.command(scene, .anybody))
        #expect(offer.activity.revision == 2 && offer.channel != nil)
        #expect(try scene.broadcast().isEmpty, "the app has the state already")
        scene.wait(.seconds(60))
        try scene.put("a", 3)
        let states = try scene.broadcast()
        #expect(states.map(\.flight.kind) == [.update] && states.map(\.flight.revision) == [3])
        let later = try scene.run(Self.command(scene, .anybody))
        #expect(later.timestamp == states.first?.flight.timestamp)
        scene.wait(.seconds(60))
        try scene.end()
        #expect(try scene.broadcast().map(\.flight.kind) == [.end])
    }

    @Test func `each run and environment has one channel at most, and none where no key is`() throws {
        var scene = Scene(Self.match(), environments: [.production])
        try scene.put()
        #expect(try scene.run(Self.command(scene, .anybody, in: .sandbox)).retryAfter == nil)
        #expect(scene.store.rows.channels.isEmpty)
        scene.app.environments = [.sandbox, .production]
        for environment in [APNSEnvironment.sandbox, .production, .sandbox, .production] {
            #expect(try scene.run(Self.command(scene, .anybody, in: environment)).retryAfter != nil)
        }
        #expect(scene.store.rows.channels.keys.map(\.environment.rawValue).sorted() == ["production", "sandbox"])
    }

    @Test func `an app whose key is for the sandbox alone is asked about the sandbox`() throws {
        var scene = Scene(Self.match(), environments: [.sandbox])
        try scene.put()
        #expect(try scene.run(Self.command(scene, .anybody)).retryAfter != nil)
        #expect(scene.store.rows.channels.keys.map(\.environment) == [.sandbox])
    }

    @Test func `a phone is given a channel of its own environment if its system can, and else a token`() throws {
        var scene = Scene(Self.match())
        try scene.put()
        try scene.registerForChannels("new", user: "new", key: 21)
        try scene.register("old", user: "old", os: OSVersion(17, 4), startToken: nil, key: 22)
        let new = Self.command(scene, .phone(21, Sample.user("new")), in: .sandbox)
        let old = Self.command(scene, .phone(22, Sample.user("old")))
        #expect(try scene.run(old).retryAfter == nil)
        #expect(scene.store.rows.channels.isEmpty)
        #expect(try scene.run(new).retryAfter != nil)
        #expect(scene.store.rows.channels.keys.map(\.environment) == [.production])
        try scene.broadcast()
        #expect(try scene.run(new).channel != nil)
        #expect(try scene.run(old).channel == nil)
    }

    @Test func `a small audience has no channel made for it, unless the type says so or anybody may join`() throws {
        for (delivery, join, isMade) in [
            (DeliveryMode.token, TypePolicy.Join.anonymous, false), (.auto, .audience, false), (.auto, .open, true),
            (.auto, .anonymous, true), (.channel, .audience, true),
        ] {
            var scene = Scene(
                Sample.type {
                    $0.delivery = delivery
                    $0.join = join
                })
            try scene.put(users: ["ann"])
            let offer = try scene.run(Self.command(scene, Self.ann))
            #expect((offer.retryAfter != nil) == isMade, "\(delivery), \(join)")
            #expect(scene.store.rows.channels.isEmpty == !isMade, "\(delivery), \(join)")
        }
    }

    @Test func `nobody without a credential starts a card that nobody could change`() throws {
        var scene = Scene(
            Sample.type {
                $0.delivery = .token
                $0.join = .anonymous
            })
        try scene.put()
        #expect(try !scene.run(Self.command(scene, .anybody)).mayStart)
        #expect(try scene.run(Self.command(scene, Self.ann)).mayStart)
    }

    @Test func `while APNs makes no channel, the app learns when to ask again`() throws {
        var scene = Scene(Self.match())
        try scene.put()
        _ = try scene.run(Self.command(scene, .anybody))
        let refusal = BroadcastError(.refused(status: 400, reason: .known(.featureNotEnabled)), "")
        try scene.settle(try #require(try scene.claimChannels().errands.first), .failed(refusal))
        let pause = try #require(try scene.run(Self.command(scene, .anybody)).retryAfter)
        #expect(pause > JoinActivity.channelPause && pause <= ChannelReconciler.refusalPause)
        scene.wait(pause)
        #expect(try scene.broadcast().map(\.flight.kind) == [.create])
        #expect(try scene.run(Self.command(scene, .anybody)).channel != nil)
    }
}
