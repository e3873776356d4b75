import APNSModel
import JSONText
import LiveActivityCore
import LiveActivityStorage
import TestSupport
import Testing

@testable import StorageConformance
@testable import StorageSQL

/// Tests that finished rows are erased completely and in small steps, and that running ones are not touched.
struct ErasureTests {
    /// Bytes counted for all apps together.
    private static let historyBytes =
        "SELECT CAST(coalesce(sum(value), 0) AS BIGINT) FROM meta WHERE name LIKE 'history_bytes:%'"

    private static let day = Duration.seconds(86_400)

    private static func number(_ store: SQLStore, _ text: String) async throws -> Int64 {
        try await store.query { sql in try sql.number(text) ?? 0 }
    }

    @Test func `F6: update tokens of an ended activity are erased after 12 hours, and only then`() async throws {
        try await withStores { store in
            try await Erasing.fill(store, "a", phones: 30)
            try await Erasing.fill(store, "b", phones: 3, from: 100)
            try await Erasing.end(store, "a")
            try await Erasing.prune(store, at: Sample.now + .seconds(12 * 3600 - 1))
            #expect(try await Self.number(store, "SELECT count(*) FROM update_token WHERE activity = 1") == 30)
            let pages = try await Erasing.prune(store, at: Sample.now + .seconds(12 * 3600 + 1), rows: 7)
            #expect(pages >= 4, "a page at a time")
            #expect(try await Self.number(store, "SELECT count(*) FROM update_token WHERE activity = 1") == 0)
            #expect(try await Self.number(store, "SELECT count(*) FROM update_token WHERE activity = 2") == 3)
            #expect(try await Self.number(store, "SELECT count(*) FROM token_owner") == 3)
            #expect(try await store.statistics().erased["update_token"] == 30)
            // The phones' states stay until the activity is erased.
            #expect(try await Self.number(store, "SELECT count(*) FROM instance WHERE activity = 1") == 30)
        }
    }

    @Test func `F6: an activity goes 30 days after its end, page by page, and its id is free`() async throws {
        try await withStores { store in
            try await Erasing.fill(store, "a", phones: 40)
            try await Erasing.fill(store, "b", phones: 2, from: 100)
            try await Erasing.end(store, "a")
            let late = Sample.now + Self.day + Self.day
            try await Erasing.prune(store, at: late)
            #expect(try await store.activity(Sample.bundleID, Sample.activityID("a")) != nil)
            let over = Sample.now + .seconds(30 * 86_400 + 1)
            // One page hides the activity. From then on, its id means a new activity.
            var limits = PruneLimits()
            limits.rows = 5
            #expect(try await store.prune(limits, at: over))
            #expect(try await store.activity(Sample.bundleID, Sample.activityID("a")) == nil)
            #expect(try await Self.number(store, "SELECT count(*) FROM instance WHERE activity = 1") > 0)
            try await Erasing.fill(store, "a", phones: 1, from: 200, at: over)
            let reborn = try #require(try await store.activity(Sample.bundleID, Sample.activityID("a")))
            #expect(reborn.record.number == 3 && reborn.record.revision == 1 && reborn.phones == 1)
            #expect(try await Erasing.prune(store, at: over, rows: 5) > 8)
            for table in ["activity", "content", "lane", "audience", "member", "instance", "update_token", "history"] {
                let column = table == "activity" ? "no" : "activity"
                #expect(
                    try await Self.number(store, "SELECT count(*) FROM \(table) WHERE \(column) = 1") == 0, "\(table)")
            }
            #expect(
                try await Self.number(store, Self.historyBytes)
                    == Self.number(store, "SELECT sum(length(body)) FROM history"))
            #expect(try await store.activity(Sample.bundleID, Sample.activityID("b"))?.phones == 2)
        }
    }

    @Test func `a channel of an erased activity is deleted at APNs before its row goes`() async throws {
        try await withStores { store in
            try await Erasing.fill(store, "a", phones: 2)
            try await Erasing.fill(store, "b", phones: 2, from: 100)
            let id = try #require(ChannelID("AAAABBBB"))
            let key = ChannelKey(1, .production, run: 1)
            let put = PutRows { draft in
                var channel = ChannelRecord(key, app: Sample.bundleID, storage: .mostRecent)
                channel.open(id)
                channel.hasCards = true
                draft.put(channel)
            }
            _ = try await store.commit(put)
            try await Erasing.end(store, "a")
            let over = Sample.now + .seconds(30 * 86_400 + 1)
            try await Erasing.prune(store, at: over)
            #expect(try await store.activity(Sample.bundleID, Sample.activityID("a")) == nil)
            #expect(try await store.nextChannelAt() == over)
            let app = Sample.app(Sample.type { $0.delivery = .channel })
            // Nobody can tell any more when its run ended: cards may be there for twelve hours.
            var done: [ChannelFlight.Kind] = []
            for at in [over, over + .seconds(12 * 3600)] {
                let claim = ClaimChannels(
                    DueChannels(at: at, node: 1, limit: 10), apps: [Sample.bundleID: app], inUse: [:])
                for errand in try await store.commit(claim).get().errands {
                    #expect(errand.channel.id == id)
                    done.append(errand.flight.kind)
                    _ = try await store.commit(SettleChannel(errand, .done, now: at, dice: 0)).get()
                }
            }
            #expect(done == [.end, .delete])
            #expect(try await store.channels(of: Sample.bundleID, after: nil, limit: 10).rows.isEmpty)
        }
    }

    @Test func `a timeline goes with its activity, though it is younger than timelines are kept`() async throws {
        try await withStores { store in
            try await Erasing.fill(store, "a", phones: 3)
            try await Erasing.fill(store, "b", phones: 1, from: 100)
            try await Erasing.end(store, "a")
            #expect(try await Self.number(store, "SELECT count(*) FROM history WHERE activity = 1") > 0)
            try await Erasing.prune(store, at: Sample.now + .seconds(31 * 86_400), rows: 3) {
                $0.history = .seconds(90 * 86_400)
            }
            #expect(try await Self.number(store, "SELECT count(*) FROM history WHERE activity = 1") == 0)
            #expect(
                try await Self.number(store, Self.historyBytes)
                    == Self.number(store, "SELECT sum(length(body)) FROM history"))
        }
    }

    @Test func `the token of a card that another took the place of is forgotten with the other's`() async throws {
        try await withStores { store in
            try await Erasing.fill(store, "a", phones: 1)
            try await Erasing.fill(store, "b", phones: 1, from: 100)
            try await store.write(rank: .prune) { sql in
                var tokens: [UpdateTokenRecord] = []
                try sql.query("SELECT \(UpdateTokenRow.list) FROM update_token WHERE activity = 1") { row in
                    tokens.append(try UpdateTokenRow(&row).record)
                }
                let earlier = TokenValue(stored: "ab12")
                for var token in tokens {
                    token.predecessor = earlier
                    let row = try UpdateTokenRow(sealing: token, app: Sample.bundleID.text, sql.sealing)
                    try sql.write([row])
                    let owner = TokenOwnerRecord(
                        app: Sample.bundleID, value: earlier, kind: .update, device: token.device, activity: 1,
                        firstSeenAt: token.firstSeenAt)
                    try sql.write([try TokenOwnerRow(sealing: owner, sql.sealing)])
                }
            }
            #expect(try await Self.number(store, "SELECT count(*) FROM token_owner") == 3)
            try await Erasing.end(store, "a")
            try await Erasing.prune(store, at: Sample.now + .seconds(12 * 3600 + 1))
            #expect(try await Self.number(store, "SELECT count(*) FROM token_owner") == 1)
        }
    }

    @Test func `the activity that came last stays, since the next number follows from it`() async throws {
        try await withStores { store in
            try await Erasing.fill(store, "a", phones: 1)
            try await Erasing.end(store, "a")
            let over = Sample.now + .seconds(60 * 86_400)
            try await Erasing.prune(store, at: over)
            #expect(try await store.activity(Sample.bundleID, Sample.activityID("a")) != nil)
            try await Erasing.fill(store, "b", phones: 1, from: 5, at: over)
            try await Erasing.prune(store, at: over)
            #expect(try await store.activity(Sample.bundleID, Sample.activityID("a")) == nil)
        }
    }

    @Test func `an activity that was opened anew is kept, and swept again after its next end`() async throws {
        try await withStores { store in
            try await Erasing.fill(store, "a", phones: 3)
            try await Erasing.fill(store, "z", phones: 1, from: 50)
            try await Erasing.end(store, "a")
            try await Erasing.prune(store, at: Sample.now + Self.day)
            let again = Sample.now + Self.day + Self.day
            var body = SetDesiredState.Body(state: Sample.state(2))
            body.reopen = true
            _ = try await store.commit(
                SetDesiredState(
                    app: Sample.bundleID, id: Sample.activityID("a"), type: Sample.type(), body: body, now: again)
            ).get()
            try await Erasing.prune(store, at: again + .seconds(40 * 86_400))
            #expect(try await store.activity(Sample.bundleID, Sample.activityID("a"))?.record.run == 2)
            var report = CardReport(localID: Sample.local("new"), type: Sample.type(), state: .active)
            report.activity = Sample.activityID("a")
            report.token = Sample.token("new")
            report.startedAt = again + .seconds(10)
            _ = try await store.commit(
                ReportCard(app: Sample.app(), device: Sample.device("d1"), report: report, now: again + .seconds(10))
            ).get()
            try await Erasing.end(store, "a", at: again + .seconds(20))
            #expect(try await Self.number(store, "SELECT count(*) FROM update_token WHERE activity = 1") == 1)
            try await Erasing.prune(store, at: again + Self.day)
            #expect(try await Self.number(store, "SELECT count(*) FROM update_token WHERE activity = 1") == 0)
        }
    }

    @Test func `F6: who signed out keeps tokens for 12 hours and a device for 30 days`() async throws {
        try await withStores { store in
            try await Erasing.fill(store, "a", phones: 3)
            _ = try await store.commit(
                RegisterPushToStartToken(
                    app: Sample.app(), id: Sample.device("d1"), type: "order", token: Sample.token("start"),
                    now: Sample.now)
            ).get()
            _ = try await store.commit(
                SignOutDevice(app: Sample.bundleID, id: Sample.device("d1"), now: Sample.now)
            ).get()
            #expect(try await Self.number(store, "SELECT count(*) FROM update_token WHERE dk = 1") == 1)
            try await Erasing.prune(store, at: Sample.now + .seconds(13 * 3600))
            for table in ["update_token", "device_token"] {
                #expect(try await Self.number(store, "SELECT count(*) FROM \(table) WHERE dk = 1") == 0, "\(table)")
            }
            #expect(try await Self.number(store, "SELECT count(*) FROM device") == 3)
            try await Erasing.prune(store, at: Sample.now + .seconds(31 * 86_400))
            for table in ["device", "instance", "budget", "tombstone"] {
                #expect(try await Self.number(store, "SELECT count(*) FROM \(table) WHERE dk = 1") == 0, "\(table)")
            }
            let state = try #require(try await store.activity(Sample.bundleID, Sample.activityID("a")))
            #expect(state.phones == 2 && state.counts.live == 2, "the lanes count it no more")
        }
    }

    @Test func `devices that were not heard of are found by a walk, and people of whom nothing is left go with them`()
        async throws
    {
        try await withStores { store in
            try await Erasing.fill(store, "a", phones: 5)
            let year = Sample.now + .seconds(366 * 86_400)
            try await Erasing.fill(store, "b", phones: 2, from: 3, at: year - Self.day)
            try await Erasing.end(store, "a")
            _ = try await store.write { sql in
                try sql.execute("INSERT INTO memo SELECT no, 'order', 'UTC', '2026-11-21', NULL FROM user")
            }
            try await Erasing.prune(store, at: year, rows: 3)
            try await Erasing.prune(store, at: year, rows: 3)
            let left = try await store.query { sql in
                var keys: [Int64] = []
                try sql.query("SELECT dk FROM device ORDER BY dk") { keys.append($0.int()) }
                return keys
            }
            #expect(left == [3, 4])
            #expect(try await Self.number(store, "SELECT count(*) FROM user WHERE id IN ('u1', 'u2')") == 0)
            #expect(try await Self.number(store, "SELECT count(*) FROM user WHERE id IN ('u3', 'u4')") == 2)
            #expect(
                try await Self.number(store, "SELECT count(*) FROM memo")
                    == Self.number(store, "SELECT count(*) FROM user"))
        }
    }

    @Test func `what only a phone has spoken of goes after two days, dead values are remembered for 90`() async throws {
        try await withStores { store in
            let app = Sample.app()
            var body = RegisterDevice.Body(user: Sample.user("ann"))
            body.osVersion = OSVersion(18, 0)
            _ = try await store.commit(
                RegisterDevice(app: app, id: Sample.device("d"), body: body, now: Sample.now, freshKey: 1)
            ).get()
            for token in ["one", "two"] {
                var report = CardReport(localID: Sample.local("c"), type: Sample.type(), state: .active)
                report.activity = Sample.activityID("early")
                report.token = Sample.token(token)
                _ = try await store.commit(
                    ReportCard(app: app, device: Sample.device("d"), report: report, now: Sample.now)
                ).get()
            }
            try await Erasing.fill(store, "z", phones: 1, from: 50)
            try await Erasing.prune(store, at: Sample.now + Self.day)
            #expect(try await store.activity(Sample.bundleID, Sample.activityID("early")) != nil)
            try await Erasing.prune(store, at: Sample.now + .seconds(49 * 3600))
            #expect(try await store.activity(Sample.bundleID, Sample.activityID("early")) == nil)
            #expect(try await Self.number(store, "SELECT count(*) FROM token_owner WHERE dead_at IS NOT NULL") == 1)
            try await Erasing.prune(store, at: Sample.now + .seconds(91 * 86_400))
            #expect(try await Self.number(store, "SELECT count(*) FROM token_owner WHERE dead_at IS NOT NULL") == 0)
        }
    }

    /// Queries that must return 0 after each page: no row without its parent, and correct counts in lanes.
    private static let orphans = [
        "SELECT count(*) FROM instance WHERE activity NOT IN (SELECT no FROM activity)",
        "SELECT count(*) FROM update_token WHERE activity NOT IN (SELECT no FROM activity)",
        "SELECT count(*) FROM lane WHERE activity NOT IN (SELECT no FROM activity)",
        "SELECT count(*) FROM member WHERE activity NOT IN (SELECT no FROM activity)",
        "SELECT count(*) FROM content WHERE activity NOT IN (SELECT no FROM activity)",
        "SELECT count(*) FROM instance WHERE dk NOT IN (SELECT dk FROM device)",
        "SELECT count(*) FROM device_token WHERE dk NOT IN (SELECT dk FROM device)",
        "SELECT count(*) FROM device WHERE user NOT IN (SELECT no FROM user)",
        "SELECT count(*) FROM member WHERE user NOT IN (SELECT no FROM user)",
        """
        SELECT count(*) FROM lane JOIN activity ON no = activity WHERE app <> 'islet.erased'
        AND absent + open + live + over <>
            (SELECT count(*) FROM instance i WHERE i.activity = lane.activity AND dk >= from_dk AND dk < to_dk)
        """,
    ]

    @Test(arguments: UInt64(1)...20)
    func `whatever was lived, erasing leaves whole things alone and no orphans, and life goes on`(
        seed: UInt64
    ) async throws {
        try await withStores(onServer: seed.isMultiple(of: 8)) { store in
            var life = RandomLife(seed: seed, Pair(store))
            try await life.live(groups: 20)
            var dice = SeededDice(seed: seed)
            var now = life.now
            for _ in 0..<6 {
                now = now + .seconds(dice.roll(20 * 86_400))
                var limits = PruneLimits()
                limits.rows = 1 + dice.roll(8)
                limits.ended = .seconds(86_400 * dice.roll(20))
                limits.signedOut = .seconds(86_400 * dice.roll(20))
                limits.silent = .seconds(86_400 * (5 + dice.roll(60)))
                for _ in 0..<dice.roll(30) where try await store.prune(limits, at: now) {}
                for orphans in Self.orphans {
                    #expect(try await Self.number(store, orphans) == 0, "seed \(seed): \(orphans)")
                }
                let app = Sample.app()
                let claim = ClaimWork(now: now, node: 99, apps: [app.bundleID: app], seed: dice.next())
                for flight in try await store.commit(claim).get().flights {
                    let entries = flight.seats.map {
                        SettleFlight.Entry(seat: $0, outcome: .answered(.success(PushAnswer(status: 200))), dice: 0.5)
                    }
                    _ = try await store.commit(SettleFlight(flight: flight, entries: entries, app: app, now: now)).get()
                }
            }
        }
    }
}
