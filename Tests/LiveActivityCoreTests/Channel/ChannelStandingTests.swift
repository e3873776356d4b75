import APNSModel
import LiveActivityCore
import TestSupport
import Testing

/// The status of a channel that people read.
struct ChannelStandingTests {
    private static let now = Sample.now

    private static func channel(_ change: (inout ChannelRecord) -> Void = { _ in }) -> ChannelRecord {
        var channel = ChannelRecord(ChannelKey(3, .sandbox, run: 2), app: Sample.bundleID, storage: .mostRecent)
        change(&channel)
        return channel
    }

    private static func existing(_ change: (inout ChannelRecord) -> Void = { _ in }) throws -> ChannelRecord {
        let id = try #require(Sample.channel)
        return channel { channel in
            channel.open(id)
            channel.hasCards = true
            channel.sentRevision = 5
            change(&channel)
        }
    }

    private static func activity(
        run: Int = 2, phase: ActivityRecord.Phase = .active, type: String = "order"
    ) -> ActivityRecord {
        var activity = ActivityRecord(
            number: 3, app: Sample.bundleID, id: Sample.activityID("a"), type: type, at: now)
        activity.run = run
        activity.phase = phase
        activity.revision = 5
        return activity
    }

    private static func standing(_ channel: ChannelRecord, _ activity: ActivityRecord?) -> ChannelStanding {
        ChannelStanding(channel, of: activity, in: Sample.app(), now: now)
    }

    @Test func `a state says what APNs has, and whether the run goes on`() throws {
        let existing = try Self.existing()
        let lives: [(ChannelRecord, ChannelStanding.State, ChannelStanding.State)] = [
            (Self.channel(), .wanted, .wanted), (Self.channel { $0.life = .lost }, .lost, .lost),
            (Self.channel { $0.life = .refused }, .refused, .refused), (existing, .open, .ending),
        ]
        for (channel, state, whenOver) in lives {
            #expect(Self.standing(channel, Self.activity()).state == state)
            for activity in [Self.activity(phase: .ended), Self.activity(run: 3), nil] {
                #expect(Self.standing(channel, activity).state == whenOver)
            }
        }
    }

    @Test func `a channel with cards is deleted twelve hours after its run, one without at the next look`() throws {
        let ended = Self.activity(phase: .ended)
        let hours = Duration.seconds(12 * 3600)
        #expect(try Self.standing(Self.existing(), Self.activity()).deletesAt == nil)
        let over = try Self.existing { $0.overAt = Self.now - .seconds(60) }
        #expect(Self.standing(over, ended).deletesAt == Self.now - .seconds(60) + hours)
        // The run has just ended, and no claim has looked at the channel since.
        var justEnded = ended
        justEnded.endedAt = Self.now - .seconds(5)
        #expect(try Self.standing(Self.existing(), justEnded).deletesAt == Self.now - .seconds(5) + hours)
        let refused = try Self.existing { channel in
            channel.overAt = Self.now - hours
            channel.retryAt = Self.now + .seconds(900)
        }
        #expect(Self.standing(refused, nil).deletesAt == Self.now + .seconds(900))
        let empty = try Self.existing { channel in
            channel.hasCards = false
            channel.dueAt = Self.now + .seconds(1)
        }
        #expect(Self.standing(empty, ended).deletesAt == Self.now + .seconds(1))
        let leaving = try Self.existing { channel in
            channel.overAt = Self.now - hours
            channel.claim(
                ChannelFlight(.delete, node: 1, claimedAt: Self.now, leaseUntil: Self.now + ClaimChannels.lease))
        }
        #expect(Self.standing(leaving, nil).deletesAt == Self.now)
    }

    @Test func `a channel is behind while its cards lack the newest state or the end`() throws {
        let old = try Self.existing { $0.sentRevision = 4 }
        #expect(Self.standing(old, Self.activity()).isBehind)
        #expect(Self.standing(old, Self.activity()).revision == 5)
        #expect(try !Self.standing(Self.existing(), Self.activity()).isBehind)
        #expect(try Self.standing(Self.existing(), Self.activity(phase: .ended)).isBehind, "no end was accepted")
        let ended = try Self.existing { $0.ends = 1 }
        #expect(!Self.standing(ended, Self.activity(phase: .ended)).isBehind)
        let earlier = try Self.existing { ($0.ends, $0.sentRevision) = (1, 2) }
        // The revisions of another run are none of the channel's.
        #expect(!Self.standing(earlier, Self.activity(run: 3)).isBehind)
        #expect(Self.standing(earlier, Self.activity(run: 3)).revision == nil)
        let empty = try Self.existing { ($0.hasCards, $0.sentRevision) = (false, 0) }
        #expect(!Self.standing(empty, Self.activity()).isBehind, "nobody lacks anything")
    }

    @Test(
        arguments: [
            (Reason(.channelRefused, "FeatureNotEnabled"), "Broadcast Capability"),
            (Reason(.channelRefused, "CannotCreateChannelConfig"), "end activities"),
            (Reason(.channelRefused, "InvalidProviderToken"), "`islet doctor`"),
            (Reason(.channelRefused, "notConfigured"), "`islet doctor`"),
            (Reason(.channelRefused, "TooManyRequests"), nil),
            (Reason(.halted, "403", "", "key", ""), "`islet doctor`"),
            (Reason(.notConfigured, "sandbox"), "`islet doctor`"), (Reason(.parked, "400", ""), "set another state"),
            (Reason(.payloadRefused, ""), "set another state"), (Reason(.slowDown, ""), nil),
            (Reason(.unknownFate, "lost", ""), nil), (Reason(.rescued), nil),
        ] as [(Reason, String?)])
    func `the advice goes with the reason`(reason: Reason, words: String?) throws {
        let channel = try Self.existing { channel in
            channel.reason = reason
            channel.parkedRevision = 5
        }
        let fix = Self.standing(channel, Self.activity()).fix
        if let words { #expect(fix?.contains(words) == true, "\(fix ?? "none")") } else { #expect(fix == nil) }
    }

    @Test func `a refusal at the limit of auto says what may be done`() throws {
        var scene = try Scene.onChannel {
            $0.delivery = .auto
            $0.join = .open
        }
        try scene.put(users: ["phone"])
        try scene.deliver()
        #expect(try scene.claimChannels(inUse: ClaimChannels.automaticLimit).errands.isEmpty)
        let channel = try #require(try scene.channel())
        let standing = ChannelStanding(channel, of: try scene.activity(), in: scene.app, now: scene.now)
        #expect(standing.state == .refused && standing.fix?.contains("`auto` makes no more") == true)
    }

    @Test func `a state that was replaced since, and a refused deletion, need no other state`() throws {
        let parked = try Self.existing { channel in
            channel.reason = Reason(.parked, "400", "BadRequestPayload")
            channel.parkedRevision = 4
        }
        #expect(Self.standing(parked, Self.activity()).fix == nil)
        #expect(Self.standing(parked, nil).fix == nil)
    }

    @Test func `what the configuration lacks comes first`() throws {
        let channel = try Self.existing { $0.reason = Reason(.parked, "400", "") }
        func fix(_ activity: ActivityRecord?, _ app: AppSettings?) -> String {
            ChannelStanding(channel, of: activity, in: app, now: Self.now).fix ?? "none"
        }
        #expect(fix(Self.activity(), nil).contains("configure the app com.acme.pizza"))
        #expect(fix(Self.activity(), Sample.app(environments: [.production])).contains("a key for sandbox"))
        #expect(fix(Self.activity(type: "ride"), Sample.app()).contains("the type `ride`"))
        #expect(fix(nil, Sample.app()) == "none")
    }

    @Test func `a cursor names its channel, and no other text is one`() {
        for key in [ChannelKey(0, .production, run: 1), ChannelKey(.max, .sandbox, run: 12)] {
            #expect(ChannelKey(cursor: key.cursor) == key)
        }
        for text in ["", "1", "1.1", "1.1.dev", "-1.1.sandbox", "1.-1.sandbox", "1.1.sandbox.", "!.1.sandbox"] {
            #expect(ChannelKey(cursor: text) == nil, "\(text)")
        }
    }
}
