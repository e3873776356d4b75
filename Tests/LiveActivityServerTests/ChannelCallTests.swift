import APNSModel
import HTTPTypes
import JSONText
import LiveActivityCore
import LiveActivityServer
import LiveActivityStorage
import StorageSQL
import Testing

/// Broadcast channels, as the app that they belong to sees them.
@Suite struct ChannelCallTests {
    /// Writes rows.
    private struct Put: Command {
        var keys: [SnapshotKey] = []
        let change: @Sendable (inout Draft) -> Void
        var rank: CommandRank { .write }

        func decide(_ draft: inout Draft) throws(Refusal) { change(&draft) }
    }

    private static func activity(
        _ name: String, of app: AppSettings = pizza, _ draft: inout Draft, at now: UnixTime
    ) -> ActivityNumber {
        var activity = ActivityRecord(
            number: draft.takeActivityNumber(), app: app.bundleID, id: ActivityID(stored: name), type: "Order", at: now)
        activity.phase = .active
        activity.run = 2
        activity.revision = 5
        draft.put(activity)
        return activity.number
    }

    private static func channel(
        _ number: ActivityNumber, run: Int, in environment: APNSEnvironment = .sandbox, of app: AppSettings = pizza,
        _ draft: inout Draft, _ change: (inout ChannelRecord) -> Void
    ) {
        var channel = ChannelRecord(
            ChannelKey(number, environment, run: run), app: app.bundleID, storage: .mostRecent)
        change(&channel)
        draft.put(channel)
    }

    /// Changes the open channel of the first run of `order-1`.
    private static func changeChannel(
        _ fixture: Fixture, _ change: @escaping @Sendable (inout ChannelRecord) -> Void
    ) async throws {
        let (id, name) = (try #require(ChannelID("AAAABBBB")), ActivityID(stored: "order-1"))
        let put = Put(keys: [.activity(pizza.bundleID, name)]) { draft in
            guard var activity = draft.activity(pizza.bundleID, name) else { return }
            activity.hasChannels = true
            draft.put(activity)
            Self.channel(activity.number, run: activity.run, &draft) { channel in
                channel.open(id)
                change(&channel)
            }
        }
        _ = try await fixture.store.commit(put).get()
    }

    /// Runs the work with five channels of the app, one of another app, and three that APNs lists besides.
    private static func with(_ work: @escaping @Sendable (Fixture) async throws -> Void) async throws {
        let (first, second) = (try #require(ChannelID("AAAABBBB")), try #require(ChannelID("AAAACCCC")))
        try await withServer { fixture in
            let now = fixture.clock.now
            let put = Put { draft in
                let match = Self.activity("match-1", &draft, at: now)
                Self.channel(match, run: 2, &draft) { channel in
                    channel.open(first)
                    channel.start(3, timestamp: now.seconds - 60)
                    var flight = ChannelFlight(
                        .update, node: 1, claimedAt: now, leaseUntil: now + ClaimChannels.lease)
                    flight.timestamp = now.seconds
                    channel.claim(flight)
                }
                Self.channel(match, run: 1, &draft) { channel in
                    channel.open(second)
                    channel.start(2, timestamp: now.seconds - 7200)
                    channel.ends = 1
                    channel.finishRun(at: now - .seconds(3600))
                }
                let other = Self.activity("match-2", &draft, at: now)
                Self.channel(other, run: 2, &draft) { channel in
                    channel.refuse(Reason(.channelRefused, "FeatureNotEnabled"), retryAt: now + .seconds(900))
                }
                // The configuration has a key for sandbox alone.
                Self.channel(other, run: 2, in: .production, &draft) { $0.await(at: now) }
                let theirs = Self.activity("theirs", of: bakery, &draft, at: now)
                Self.channel(theirs, run: 2, of: bakery, &draft) { $0.open(first) }
                // Its activity was erased.
                Self.channel(99, run: 1, &draft) { $0.life = .lost }
                draft.put(StrangerKey(PushRoute(pizza.bundleID, .sandbox), second))
                draft.put(StrangerKey(PushRoute(bakery.bundleID, .sandbox), first))
                draft.put(StrangerKey(PushRoute(bakery.bundleID, .sandbox), second))
            }
            _ = try await fixture.store.commit(put).get()
            try await work(fixture)
        }
    }

    @Test func `each channel says its state, what its cards lack, and what to do`() async throws {
        try await Self.with { fixture in
            let reply = try await fixture.call(.get, "/v1/channels", key: fixture.keys[.read]?.text)
            #expect(reply.status == 200 && reply["/channels"]?.array?.count == 5 && reply["/next"] == nil)
            let rows = reply["/channels"]?.array?.compactMap(\.object) ?? []
            try #require(rows.count == 5)
            #expect(rows[0]["state"] == "lost" && rows[0]["activity"] == nil && rows[0]["activityNumber"] == 99)
            #expect(rows[1]["state"] == "refused" && rows[1]["reason"]?.object?["code"] == "channel-refused")
            #expect(rows[1]["fix"]?.string?.contains("Broadcast Capability") == true && rows[1]["failures"] == 1)
            #expect(rows[1]["nextLookAt"] == "2027-01-15T08:15:00Z" && rows[1]["channel"] == nil)
            #expect(rows[2]["environment"] == "production" && rows[2]["state"] == "wanted")
            #expect(rows[2]["fix"]?.string?.contains("a key for production") == true)

            let live = rows[3]
            #expect(live["activity"] == "match-1" && live["run"] == 2 && live["app"] == "com.acme.pizza")
            #expect(live["channel"] == "AAAABBBB" && live["state"] == "open" && live["storage"] == "mostRecent")
            #expect(live["sentRevision"] == 3 && live["revision"] == 5 && live["isBehind"] == true)
            #expect(live["operation"] == ["kind": "update", "since": "2027-01-15T08:00:00Z"])
            #expect(live["lastAt"] == "2027-01-15T08:00:00Z" && live["lastTimestamp"] == 1_800_000_000)
            #expect(live["nextLookAt"] == "2027-01-15T08:00:45Z" && live["deletesAt"] == nil && live["fix"] == nil)

            let ending = rows[4]
            #expect(ending["state"] == "ending" && ending["run"] == 1 && ending["ends"] == 1)
            #expect(ending["deletesAt"] == "2027-01-15T19:00:00Z" && ending["operation"] == nil)
            #expect(ending["sentRevision"] == 2 && ending["revision"] == nil && ending["isBehind"] == false)
        }
    }

    @Test func `the numbers are those of the app's own environments`() async throws {
        try await Self.with { fixture in
            let routes = try await fixture.call(.get, "/v1/channels?limit=1")["/routes"]
            // The channel of production does not exist yet, and no key is configured for it.
            #expect(
                routes == [
                    [
                        "app": "com.acme.pizza", "environment": "sandbox", "channels": 2, "foreign": 1,
                        "limit": 10_000, "automaticLimit": 8000,
                    ]
                ])
            let theirs = try await fixture.call(.get, "/v1/channels", key: fixture.otherApp.text)
            #expect(theirs["/channels"]?.array?.count == 1 && theirs["/channels/0/activity"] == "theirs")
            #expect(theirs["/routes"]?.array?.count == 1 && theirs["/routes/0/foreign"] == 2)
            #expect(!theirs.text.contains("pizza"))
        }
    }

    @Test func `channels are listed by pages, and another cursor is refused`() async throws {
        try await Self.with { fixture in
            let whole = try await fixture.call(.get, "/v1/channels")["/channels"]?.array
            for limit in [1, 2, 5] {
                var found: [JSONValue] = []
                var path = "/v1/channels?limit=\(limit)"
                while true {
                    let page = try await fixture.call(.get, path)
                    let rows = try #require(page["/channels"]?.array)
                    #expect(1...limit ~= rows.count)
                    found += rows
                    guard let next = page["/next"]?.string else { break }
                    path = "/v1/channels?limit=\(limit)&after=\(next)"
                }
                #expect(found == whole, "\(limit)")
            }
            for query in ["after=x", "after=1.1", "after=1.1.dev", "limit=0", "limit=1001", "x=1"] {
                let reply = try await fixture.call(.get, "/v1/channels?\(query)")
                #expect(reply.status == 400 && reply.code == "invalid_query", "\(query)")
            }
        }
    }

    @Test func `an activity says which of its cards are on a channel`() async throws {
        try await withServer { fixture in
            for user in ["ada", "bob"] { try await fixture.registerPhone("phone-\(user)", user: user) }
            let state = #"{"type":"Order","state":{"step":1},"audience":{"users":["ada","bob"]}}"#
            #expect(try await fixture.put("/v1/activities/order-1", state).status == 200)
            for (user, way) in [("ada", #""channel":"AAAABBBB""#), ("bob", #""token":"\#(token("u"))""#)] {
                let card = #"{"type":"Order","activity":"order-1","state":"active",\#(way)}"#
                let reply = try await fixture.put("/v1/devices/phone-\(user)/instances/card-\(user)", card)
                #expect(reply.status == 200, "\(reply.text)")
            }
            let devices = try await fixture.call(.get, "/v1/activities/order-1")["/devices"]?.array ?? []
            var channels: [String: String] = [:]
            for device in devices.compactMap(\.object) {
                if let user = device["user"]?.string { channels[user] = device["channel"]?.string ?? "none" }
            }
            #expect(channels == ["ada": "AAAABBBB", "bob": "none"])
        }
    }
    @Test func `phones whose channel is behind are pending, and the summary names the broadcast`() async throws {
        try await withServer { fixture in
            func set(_ step: Int) async throws -> Reply {
                try await fixture.put(
                    "/v1/activities/order-1",
                    #"{"type":"Order","state":{"step":\#(step)},"audience":{"users":["ada","bob"]}}"#)
            }
            for user in ["ada", "bob"] { try await fixture.registerPhone("phone-\(user)", user: user) }
            _ = try await set(1)
            for user in ["ada", "bob"] {
                let card = #"{"type":"Order","activity":"order-1","state":"active","channel":"AAAABBBB"}"#
                let reply = try await fixture.put("/v1/devices/phone-\(user)/instances/card-\(user)", card)
                #expect(reply.status == 200, "\(reply.text)")
            }
            let now = fixture.clock.now
            try await Self.changeChannel(fixture) { $0.start(1, timestamp: now.seconds) }
            let behind = try await set(2)
            #expect(behind["/phones"] == ["start": 0, "update": 0, "pending": 2, "none": 0])
            #expect(behind["/reasons"] == [["reason": "channel-behind", "count": 2]])
            #expect(behind["/summary"] == "will broadcast to 2 of 2")
            // Delivery may be faster than the answer.
            try await Self.changeChannel(fixture) { channel in
                channel.start(2, timestamp: now.seconds)
                channel.lastAt = now
            }
            let sent = try await set(2)
            #expect(sent["/phones"] == ["start": 0, "update": 2, "pending": 0, "none": 0])
            #expect(sent["/summary"] == "will update 2 of 2")
            fixture.clock.advance(.seconds(5))
            let later = try await set(2)
            #expect(later["/phones"] == ["start": 0, "update": 0, "pending": 0, "none": 2])
            #expect(later["/summary"] == "nothing is sent now to any of 2; 2 up to date on a broadcast channel")
        }
    }

    @Test func `an alert by notification is counted alike before, at and after its delivery`() async throws {
        try await withServer(
            configure: { settings in
                for index in settings.apps.indices {
                    settings.apps[index].types["Order"]?.policy.channelAlerts = .notification
                }
            }
        ) { fixture in
            for user in ["ada", "bob"] {
                try await fixture.registerPhone("phone-\(user)", user: user)
                let token = #"{"user":"\#(user)","deviceToken":"\#(token("d" + user))"}"#
                #expect(try await fixture.put("/v1/devices/phone-\(user)", token).status == 200)
            }
            let first = #"{"type":"Order","state":{"step":1},"audience":{"users":["ada","bob"]}}"#
            #expect(try await fixture.put("/v1/activities/order-1", first).status == 200)
            for user in ["ada", "bob"] {
                let card = #"{"type":"Order","activity":"order-1","state":"active","channel":"AAAABBBB"}"#
                #expect(try await fixture.put("/v1/devices/phone-\(user)/instances/card-\(user)", card).status == 200)
            }
            let now = fixture.clock.now
            try await Self.changeChannel(fixture) { $0.start(1, timestamp: now.seconds) }
            let state = #"{"type":"Order","state":{"step":2},"alert":{"title":"Two","id":"two"}}"#
            let told: JSONValue = ["start": 0, "update": 0, "pending": 0, "none": 0, "fallback": 2]
            // No users are named, so the command itself loads no phone.
            let dry = try await fixture.put("/v1/activities/order-1?dryRun=true", state)
            #expect(dry["/phones"] == told, "\(dry.text)")
            let answer = try await fixture.put("/v1/activities/order-1", state)
            #expect(answer["/phones"] == told)
            #expect(answer["/reasons"] == [["reason": "alert-by-notification", "count": 2]])
            #expect(answer["/summary"] == "will broadcast to and notify 2 of 2")
            // Delivery may be faster than the answer.
            #expect(try await fixture.deliver().isEmpty)
            #expect(try await fixture.put("/v1/activities/order-1", state)["/phones"] == told)
            fixture.clock.advance(.seconds(5))
            let later = try await fixture.put("/v1/activities/order-1", state)
            #expect(later["/phones"] == ["start": 0, "update": 0, "pending": 2, "none": 0])
        }
    }
}
