import APNSModel
import Dispatch
import LiveActivityCore
import LiveActivityStorage
import TestSupport
import Testing

@testable import StorageConformance
@testable import StorageSQL

@Suite(.timeLimit(.minutes(10)))
struct WriterQueueTests {
    /// Returns a job that notes its name once its group is committed.
    private static func job(
        _ name: String, _ rank: CommandRank, weight: Int = 1, isAlone: Bool = false, _ order: Noted<String>,
        then: @escaping @Sendable () -> Void = {}
    ) -> WriterQueue.Job {
        WriterQueue.Job(
            rank: rank, weight: weight, isAlone: isAlone,
            work: .command(keys: []) { _ in
                WriterQueue.Done {
                    order.note(name)
                    then()
                }
            }, fail: { _ in order.note("\(name) failed") })
    }

    @Test(arguments: [CommandRank.settle, .claim, .prune])
    func `among a steady stream of writes everything gets its turn within a bounded number of groups`(
        rank: CommandRank
    ) async throws {
        try await withStores { store in
            let order = Noted<String>()
            let gate = store.block()
            store.queue.submit(Self.job("it", rank, isAlone: rank > .settle, order))
            // Each write submits the next, so every group that the queue takes is full of writes.
            @Sendable func write(_ left: Int) {
                guard left > 0 else { return }
                store.queue.submit(Self.job("write", .write, weight: 1000, order) { write(left - 1) })
            }
            for _ in 0..<2 { write(30) }
            gate.signal()
            await order.has { $0.contains("it") }
            let before = order.all.prefix { $0 != "it" }.count
            // Two to a group. A claim is the last of the first.
            let groups = rank == .claim ? 1 : rank.rawValue * WriterQueue.ageing
            #expect(before == 2 * groups)
            await order.has { $0.count == 61 }
        }
    }

    @Test func `settlements of a thousand phones do not pile into one transaction`() async throws {
        try await withStores { store in
            let order = Noted<String>()
            let commits = store.counters.statistics.commits
            let gate = store.block()
            for number in 0..<10 { store.queue.submit(Self.job("\(number)", .settle, weight: 1000, order)) }
            gate.signal()
            await order.has { $0.count == 10 }
            #expect(order.all == (0..<10).map(String.init))
            #expect(store.counters.statistics.commits - commits == 1 + 5)
        }
    }

    @Test func `one that is heavier than a transaction may be has its own`() async throws {
        try await withStores { store in
            let order = Noted<String>()
            let commits = store.counters.statistics.commits
            let gate = store.block()
            let weight = WriterQueue.maximumWeight
            for (name, weight) in [("a", 1), ("b", weight * 3), ("c", 1)] {
                store.queue.submit(Self.job(name, .settle, weight: weight, order))
            }
            gate.signal()
            await order.has { $0.count == 3 }
            #expect(order.all == ["a", "b", "c"])
            #expect(store.counters.statistics.commits - commits == 1 + 3)
        }
    }

    @Test func `a claim is the last of its transaction, after what waited with it, and pruning shares with nobody`()
        async throws
    {
        try await withStores { store in
            let order = Noted<String>()
            let commits = store.counters.statistics.commits
            let gate = store.block()
            for (name, rank) in [
                ("prune", CommandRank.prune), ("claim", .claim), ("claim 2", .claim), ("settle", .settle),
                ("write", .write), ("write 2", .write),
            ] {
                store.queue.submit(Self.job(name, rank, isAlone: rank > .settle, order))
            }
            gate.signal()
            await order.has { $0.count == 6 }
            #expect(order.all == ["write", "write 2", "settle", "claim", "claim 2", "prune"])
            #expect(store.counters.statistics.commits - commits == 1 + 3)
        }
    }

    @Test func `a claim sees what its transaction has written before it`() async throws {
        try await withStores { store in
            let app = try await Self.prepare(store)
            let first = ClaimWork(now: Sample.now, node: 1, apps: [app.bundleID: app], seed: 1)
            _ = try await store.commit(first).get()
            let commits = store.counters.statistics.commits
            let gate = store.block()
            let later = Sample.now + .seconds(60)
            let claim = store.submit(ClaimWork(now: later, node: 1, apps: [app.bundleID: app], seed: 2))
            let change = store.submit(Self.put("a", 2))
            gate.signal()
            _ = try await change.result().get().get()
            _ = try await claim.result().get().get()
            #expect(store.counters.statistics.commits - commits == 1 + 1)
            let state = try #require(try await store.activity(Sample.bundleID, Sample.activityID("a")))
            #expect(state.lanes.map(\.lap) == [state.record.lap], "the claim has begun the lap of the change")
        }
    }

    @Test func `whatever goes wrong with a claim does not fail the calls before it`() async throws {
        // PostgreSQL does without an index that is missing.
        try await withStores(onServer: false) { store in
            // Only a claim uses this index.
            let app = try await Self.prepare(store, damage: "DROP INDEX lane_in_flight")
            let gate = store.block()
            let claim = store.submit(ClaimWork(now: Sample.now, node: 1, apps: [app.bundleID: app], seed: 2))
            let change = store.submit(Self.put("a", 2))
            gate.signal()
            _ = try await change.result().get().get()
            await #expect(throws: StorageError.self) { _ = try await claim.result().get() }
        }
    }

    @Test func `a row that a claim cannot read does not fail the calls before it`() async throws {
        try await withStores { store in
            let app = try await Self.prepare(store, damage: "UPDATE lane SET reason = 'odd' WHERE activity = 2")
            let commits = store.counters.statistics.commits
            let gate = store.block()
            let now = Sample.now + .seconds(60)
            let claim = store.submit(ClaimWork(now: now, node: 1, apps: [app.bundleID: app], seed: 2))
            let changes = (1...64).map { store.submit(Self.put("a", $0)) }
            gate.signal()
            for change in changes { _ = try await change.result().get().get() }
            #expect(try await !claim.result().get().get().unreadable.isEmpty)
            #expect(store.counters.statistics.commits - commits == 1 + 2, "one for the calls, one for the claim")
        }
    }

    // MARK: - A row that cannot be read

    /// Adds two people with a phone and an activity each. The row of `b` or of its lane is damaged.
    private static func prepare(_ store: SQLStore, damage: String? = nil) async throws -> AppSettings {
        let app = Sample.app()
        for (number, name) in [(1, "a"), (2, "b")] {
            var body = RegisterDevice.Body(user: Sample.user(name))
            body.osVersion = OSVersion(18, 0)
            let register = RegisterDevice(
                app: app, id: Sample.device(name), body: body, now: Sample.now, freshKey: DeviceKey(number))
            _ = try await store.commit(register).get()
            _ = try await store.commit(put(name, 1)).get()
        }
        if let damage { _ = try await store.write { sql in try sql.execute(damage) } }
        return app
    }

    private static func put(_ name: String, _ step: Int) -> SetDesiredState {
        var body = SetDesiredState.Body(state: Sample.state(step))
        body.users = [Sample.user(name)]
        return SetDesiredState(
            app: Sample.bundleID, id: Sample.activityID(name), type: Sample.type(), body: body, now: Sample.now)
    }

    private static func isFailed<Reply>(_ result: Result<Result<Reply, Refusal>, StorageError>) -> Bool {
        if case .failure(.failed(let detail)) = result { detail.contains("cannot be read") } else { false }
    }

    @Test func `a row that cannot be read fails who needs it and nobody else of the group`() async throws {
        try await withStores { store in
            _ = try await Self.prepare(store, damage: "UPDATE activity SET phase = 'odd' WHERE id = 'b'")
            let gate = store.block()
            let answers = [1, 2, 3].map { step in
                (good: store.submit(Self.put("a", step)), bad: store.submit(Self.put("b", step)))
            }
            let refused = store.submit(
                EndActivity(
                    app: Sample.app(), id: Sample.activityID("nobody"), state: nil, alert: nil,
                    dismissal: .systemDefault, now: Sample.now))
            gate.signal()
            for answer in answers {
                #expect(await Self.isFailed(answer.bad.result()))
                _ = try await answer.good.result().get().get()
            }
            let refusal = try await refused.result().get()
            #expect(throws: Refusal.self) { try refusal.get() }
            // Each command was run again, and counts once.
            #expect(try await store.activity(Sample.bundleID, Sample.activityID("a"))?.record.revision == 3)
        }
    }

    @Test func `a row that cannot be read costs its group a few transactions, not one for each command`() async throws {
        try await withStores { store in
            _ = try await Self.prepare(store, damage: "UPDATE activity SET phase = 'odd' WHERE id = 'b'")
            let commits = store.counters.statistics.commits
            let gate = store.block()
            let answers = (1...128).map { step in store.submit(Self.put(step == 50 ? "b" : "a", step)) }
            gate.signal()
            for answer in answers { _ = await answer.result() }
            #expect(answers.count { $0.value.map(Self.isFailed) == true } == 1)
            #expect(try await store.activity(Sample.bundleID, Sample.activityID("a"))?.record.revision == 127)
            // One commit for the job that held the writer, and one for each half of a half with the damaged row.
            #expect(store.counters.statistics.commits - commits == 1 + 7)
        }
    }
}

extension WriterQueueTests {
    struct Damage: Sendable, CustomTestStringConvertible {
        let text: String
        /// `true` if the activity as a whole is deferred, `false` if a phone is skipped.
        let putsOff: Bool
        let mend: String
        var testDescription: String { text }
    }

    static let damages = [
        Damage(
            text: "UPDATE lane SET reason = 'odd' WHERE activity = 2", putsOff: true,
            mend: "UPDATE lane SET reason = NULL"),
        Damage(
            text: "UPDATE activity SET phase = 'odd' WHERE no = 2", putsOff: true,
            mend: "UPDATE activity SET phase = 'active'"),
        Damage(
            text: "UPDATE content SET state = x'00' WHERE activity = 2", putsOff: true,
            mend: "UPDATE content SET state = CAST('{}' AS BLOB) WHERE activity = 2"),
        Damage(
            text: "UPDATE instance SET state = 99 WHERE dk = 2", putsOff: false,
            mend: "UPDATE instance SET state = 0, look_at = 0"),
    ]

    @Test(arguments: damages) func `a row that cannot be read does not stop the claim of all others, and is told of`(
        damage: Damage
    ) async throws {
        // The two have no way in common to write the bytes of a blob into a statement.
        try await withStores(onServer: !damage.text.contains("x'00'")) { store in
            let app = try await Self.prepare(store, damage: damage.text)
            func claim(at now: UnixTime) async throws -> ClaimWork.Reply {
                try await store.commit(ClaimWork(now: now, node: 1, apps: [app.bundleID: app], seed: 1)).get()
            }
            func nextAt(_ activity: Int) async throws -> Int64? {
                try await store.query { sql in
                    try sql.number(
                        "SELECT coalesce(next_at, wake_at) FROM lane JOIN activity ON no = activity WHERE no = ?",
                        [.int(Int64(activity))])
                }
            }
            let now = Sample.now + .seconds(60)
            let reply = try await claim(at: now)
            #expect(!reply.unreadable.isEmpty && !reply.hasMore)
            #expect(try await store.statistics().damagedRows == reply.unreadable.count)
            #expect(try await nextAt(1) == nil, "the other activity's phones were looked at")
            let later = (now + DamagedWork.pause).milliseconds
            #expect(try await nextAt(2) == (damage.putsOff ? later : nil))
            // Nothing is due until then, so the dispatcher does not loop.
            #expect(try await store.nextWakeAt().map { $0 > now } ?? true)
            _ = try await store.write { sql in try sql.execute(damage.mend) }
            let again = try await claim(at: now + DamagedWork.pause)
            #expect(again.unreadable.isEmpty)
            #expect(try await nextAt(2) == nil, "once the row is mended its work goes on")
        }
    }
}

extension Noted {
    /// Waits until the values satisfy a condition, or the test's time is over.
    fileprivate func has(_ isTrue: ([Value]) -> Bool) async {
        while !isTrue(all), !Task.isCancelled { await Task.yield() }
    }
}
