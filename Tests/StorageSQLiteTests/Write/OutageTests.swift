import APNSModel
import GRDB
import LiveActivityCore
import LiveActivityStorage
import TestSupport
import Testing

@testable import StorageConformance
@testable import StorageSQL
@testable import StorageSQLite

/// The cost of an outage for activities of one phone each, whose lanes wait for a route.
struct OutageTests {
    private static let route = PushRoute(Sample.bundleID, .production)
    private static let real = 40

    private static func gate(probes: Bool = false) -> CircuitGate {
        CircuitGate(
            closed: [route: .init(until: Sample.now + .seconds(9), trouble: .connection("reset"))],
            probes: probes ? [route] : [])
    }

    private static func claim(_ gate: CircuitGate, at now: UnixTime = Sample.now) -> ClaimWork {
        ClaimWork(now: now, node: 1, apps: [Sample.bundleID: Sample.app()], gate: gate, seed: 3)
    }

    @Test func `an outage costs the same look, claim and probe, however many lanes wait`() async throws {
        struct Cost: Equatable {
            var look = 0
            var quietClaim = 0
            var probe = 0
            var quietRows = 0
            var probeRows = 0
        }
        var costs: [Cost] = []
        for lanes in [1_000, 100_000] {
            try await withStore { store in
                try await store.plantOrders(Self.real)
                while try await store.commit(Self.claim(Self.gate())).get().hasMore {}
                try await store.copyLanes(to: lanes)
                var cost = Cost()
                let (conditions, look) = try await store.steps { try $0.laneConditions() }
                #expect(conditions == [.route(Self.route, isHarmless: true)])
                cost.look = look
                let (quiet, quietSteps, quietRows) = try await store.run(Self.claim(Self.gate()))
                #expect(quiet.flights.isEmpty && quiet.held.isEmpty && !quiet.hasMore)
                (cost.quietClaim, cost.quietRows) = (quietSteps, quietRows)
                let later = Sample.now + .seconds(60)
                let (probe, probeSteps, probeRows) = try await store.run(
                    Self.claim(Self.gate(probes: true), at: later))
                #expect(probe.flights.count == 1 && !probe.hasMore)
                (cost.probe, cost.probeRows) = (probeSteps, probeRows)
                costs.append(cost)
            }
        }
        #expect(costs[0].quietRows == 0 && (1...3).contains(costs[0].probeRows), "\(costs)")
        #expect(costs[0].probe > 0)
        #expect(costs[0] == costs[1])
    }

    /// As when a server starts that was stopped for long, or a route opens.
    @Test(arguments: ["next_at = 1, waits_for = NULL", "next_at = NULL"])
    func `a claim costs the same, however many lanes are due`(state: String) async throws {
        var costs: [Int] = []
        for lanes in [1_000, 100_000] {
            try await withStore { store in
                try await store.plantOrders(1)
                _ = try await store.commit(Self.claim(Self.gate())).get()
                try await store.copyLanes(to: lanes)
                try await store.pool.write { db in try db.execute(sql: "UPDATE lane SET \(state)") }
                let (reply, steps, _) = try await store.run(Self.claim(.open))
                #expect(reply.hasMore)
                costs.append(steps)
            }
        }
        #expect(costs[0] > 0 && costs[1] <= costs[0] + costs[0] / 10, "\(costs)")
    }

    @Test func `an activity that cannot be read is put off when its condition is met`() async throws {
        try await withStore { store in
            try await store.plantOrders(2)
            _ = try await store.commit(Self.claim(Self.gate())).get()
            try await store.pool.write { db in try db.execute(sql: "UPDATE activity SET phase = '?' WHERE no = 1") }
            let reply = try await store.commit(Self.claim(.open)).get()
            #expect(reply.flights.map(\.lane.activity) == [2] && !reply.unreadable.isEmpty)
            #expect(try await store.nextWork().conditions.isEmpty)
            #expect(try await store.commit(Self.claim(.open)).get().unreadable.isEmpty)
        }
    }

    @Test func `lanes whose condition is damaged do not stop the others`() async throws {
        try await withStore { store in
            try await store.plantOrders(2)
            _ = try await store.commit(Self.claim(Self.gate())).get()
            try await store.pool.write { db in
                try db.execute(sql: "UPDATE lane SET waits_for = 'nobody knows' WHERE activity = 1")
            }
            let next = try await store.nextWork()
            #expect(next.conditions == [.route(Self.route, isHarmless: true)])
            let reply = try await store.commit(Self.claim(.open)).get()
            #expect(reply.flights.map(\.lane.activity) == [2])
        }
    }
}

extension SQLStore {
    /// Adds activities of one phone each that shows an old state.
    fileprivate func plantOrders(_ count: Int) async throws {
        for number in 1...count {
            let put = SetDesiredState(
                app: Sample.bundleID, id: Sample.activityID("order-\(number)"), type: Sample.type(),
                body: SetDesiredState.Body(state: Sample.state(1)), now: Sample.now - .seconds(60))
            _ = try await commit(put).get()
        }
        let phones = PutRows { draft in
            for key in Int64(1)...Int64(count) {
                draft.put(Sample.deviceRecord(key, user: draft.user(Sample.bundleID, Sample.user("user-\(key)"))))
                draft.addMember(key, to: key)
                var card = CardMachine(activity: key, device: key, run: 1, at: Sample.now - .seconds(60))
                card.columns.state = .live
                card.columns.localID = Sample.local("card-\(key)")
                card.lookAt = Sample.now
                draft.put(card)
                draft.put(Sample.updateToken(key, key))
            }
        }
        _ = try await commit(phones).get()
    }

    /// Adds lanes that wait like the first one.
    fileprivate func copyLanes(to count: Int) async throws {
        try await pool.write { db in
            for (table, key) in [("activity", "no"), ("lane", "activity")] {
                let values = try db.columns(in: table).map(\.name).map { name in
                    name == key ? "value" : name == "id" ? "'copy-' || value" : name
                }
                try db.execute(
                    sql: """
                        WITH RECURSIVE numbers(value) AS
                            (SELECT ? UNION ALL SELECT value + 1 FROM numbers WHERE value < ?)
                        INSERT INTO \(table) SELECT \(values.joined(separator: ", "))
                        FROM numbers JOIN \(table) WHERE \(key) = 1
                        """, arguments: [1_000, 1_000 + count])
            }
        }
    }

    /// Returns the number of instructions of SQLite's virtual machine, in hundreds.
    fileprivate func steps<Value: Sendable>(
        _ body: @escaping @Sendable (Statements) throws -> Value
    ) async throws -> (Value, steps: Int) {
        let counter = StepCounter()
        let value = try await query { sql in
            counter.begin(sql.db)
            defer { counter.end(sql.db) }
            return try body(sql)
        }
        return (value, counter.steps)
    }

    /// Commits a claim, and returns what its load costs and how many rows it writes.
    fileprivate func run(_ claim: ClaimWork) async throws -> (ClaimWork.Reply, steps: Int, rows: Int) {
        let keys = claim.keys
        let (_, steps) = try await steps { sql in
            var snapshot = Snapshot()
            for case .due(let due) in keys { try DueLoader.load(due, sql, &snapshot) }
        }
        let before = try await totalChanges()
        let reply = try await commit(claim).get()
        return (reply, steps, try await totalChanges() - before)
    }

    fileprivate func totalChanges() async throws -> Int {
        try await pool.writeWithoutTransaction { db in db.totalChangesCount }
    }
}
