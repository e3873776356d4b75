import APNSModel
import Dispatch
import GRDB
import LiveActivityCore
import LiveActivityStorage
import Synchronization
import TestSupport
import Testing

@testable import StorageConformance
@testable import StorageSQL
@testable import StorageSQLite

/// Tests of claims that a transaction makes of the work that its commands make due.
struct OwnClaimTests {
    private let app = Sample.app()
    private let later = Sample.now + .seconds(60)

    /// Claims that were offered, and how they ended.
    private final class Offers: Sendable {
        private let state = Mutex((begun: 0, ended: [ClaimWork.Reply?]()))

        var begun: Int { state.withLock(\.begun) }
        var ended: [ClaimWork.Reply?] { state.withLock(\.ended) }

        func claim(_ app: AppSettings, at now: UnixTime, pushes: Int) -> ClaimAtOnce {
            let number = state.withLock { state in
                state.begun += 1
                return state.begun
            }
            let pace = Pacer.Grant(pushes: pushes, activityPushes: pushes, onTheWay: [:], halvings: 0)
            let claim = ClaimWork(
                now: now, node: 1, apps: [app.bundleID: app], pace: pace, seed: UInt64(number))
            return ClaimAtOnce(claim) { reply in self.state.withLock { $0.ended.append(reply) } }
        }

        /// Waits until each claim that was begun has ended.
        func over() async { while state.withLock({ $0.ended.count < $0.begun }) { await Task.yield() } }
    }

    private func offer(_ store: SQLStore, pushes: Int = 8000) -> Offers {
        let offers = Offers()
        store.claimAtOnce(from: { [app, later] in offers.claim(app, at: later, pushes: pushes) })
        return offers
    }

    /// Adds people with a phone and an activity each, whose first state was sent and settled.
    private func prepare(_ store: SQLStore, _ names: [String] = ["a", "b"]) async throws {
        for (index, name) in names.enumerated() {
            var body = RegisterDevice.Body(user: Sample.user(name))
            body.osVersion = OSVersion(18, 0)
            let register = RegisterDevice(
                app: app, id: Sample.device(name), body: body, now: Sample.now, freshKey: DeviceKey(index + 1))
            _ = try await store.commit(register).get()
            var content = SetDesiredState.Body(state: Sample.state(1))
            content.users = [Sample.user(name)]
            _ = try await store.commit(put(name, content)).get()
            _ = try await store.commit(report(name, token: name)).get()
        }
        // Nothing is left to send: each phone shows the state.
        _ = try await store.commit(ClaimWork(now: Sample.now, node: 1, apps: [app.bundleID: app], seed: 9)).get()
    }

    private func report(_ name: String, token: String) -> ReportCard {
        var report = CardReport(localID: Sample.local("card-\(name)"), type: Sample.type(), state: .active)
        report.activity = Sample.activityID(name)
        report.token = Sample.token(token)
        report.contentState = Sample.state(1)
        return ReportCard(app: app, device: Sample.device(name), report: report, now: Sample.now)
    }

    private func put(_ name: String, _ body: SetDesiredState.Body) -> SetDesiredState {
        SetDesiredState(
            app: Sample.bundleID, id: Sample.activityID(name), type: Sample.type(), body: body, now: later)
    }

    private func put(_ name: String, _ step: Int) -> SetDesiredState {
        put(name, SetDesiredState.Body(state: Sample.state(step)))
    }

    @Test func `a change and its claim are one transaction, and an ordinary claim finds nothing`() async throws {
        try await withStore { store in
            try await prepare(store)
            let first = store.counters.statistics
            _ = try await store.commit(put("b", 2)).get()
            let before = store.counters.statistics
            let offers = offer(store)
            _ = try await store.commit(put("a", 2)).get()
            await offers.over()
            let reply = try #require(offers.ended.first ?? nil)
            #expect(offers.begun == 1 && reply.flights.map(\.seats.count) == [1])
            let after = store.counters.statistics
            #expect(after.commits - before.commits == 1)
            #expect((after.commands[.claim] ?? 0) - (before.commands[.claim] ?? 0) == 1)
            // A change without a claim writes neither the lane, which gets the flight, nor the phone's budget.
            #expect(after.rowsWritten - before.rowsWritten == before.rowsWritten - first.rowsWritten + 2)
            let next = ClaimWork(now: later, node: 1, apps: [app.bundleID: app], seed: 9)
            let claimed = try await store.commit(next).get()
            #expect(claimed.flights.map(\.desired.activity.id) == [Sample.activityID("b")])
        }
    }

    @Test func `a phone that the transaction changes is left to an ordinary claim`() async throws {
        try await withStore { store in
            try await prepare(store)
            let offers = offer(store)
            let gate = store.block()
            let answers = [store.submit(put("a", 2)), store.submit(put("b", 2))]
            let token = store.submit(report("a", token: "a2"))
            gate.signal()
            for answer in answers { _ = try await answer.result().get().get() }
            _ = try await token.result().get().get()
            await offers.over()
            let reply = try #require(offers.ended.last ?? nil)
            #expect(reply.flights.map(\.desired.activity.id) == [Sample.activityID("b")])
            let next = ClaimWork(now: later, node: 1, apps: [app.bundleID: app], seed: 9)
            let claimed = try await store.commit(next).get()
            let new: UpdateToken = Sample.token("a2")
            #expect(claimed.flights.flatMap(\.seats).map(\.phone.updateToken?.value) == [TokenValue(new)])
        }
    }

    @Test func `no more is claimed at once than may be sent, and the rest is announced`() async throws {
        try await withStore { store in
            try await prepare(store, ["a", "b", "c"])
            var wakeUps = store.wakeUps.makeAsyncIterator()
            let offers = offer(store, pushes: 2)
            let gate = store.block()
            let answers = ["a", "b", "c"].map { store.submit(put($0, 2)) }
            gate.signal()
            for answer in answers { _ = try await answer.result().get().get() }
            await offers.over()
            #expect(offers.ended.compactMap(\.self).flatMap(\.flights).count == 2)
            while let due = await wakeUps.next(), due > later {}
            #expect(try await store.nextWakeAt().map { $0 <= later } == true)
        }
    }

    @Test func `what goes wrong with a claim at once does not fail the change`() async throws {
        try await withStore { store in
            try await prepare(store)
            _ = try await store.write { sql in try sql.execute("UPDATE instance SET state = 99 WHERE activity = 1") }
            let offers = offer(store)
            _ = try await store.commit(put("a", 2)).get()
            await offers.over()
            #expect(offers.ended.map { $0 == nil } == [true])
            let state = try await store.activity(Sample.bundleID, Sample.activityID("a"))
            #expect(state?.record.revision == 2)
        }
    }

    @Test func `a claim whose commit may not stand is not flown`() async throws {
        try await withStore { store in
            try await prepare(store)
            let offers = offer(store)
            store.pool.add(transactionObserver: RefusingObserver(), extent: .databaseLifetime)
            await #expect(throws: StorageError.self) { _ = try await store.commit(put("a", 2)) }
            await offers.over()
            #expect(offers.begun == 1 && offers.ended.map { $0 == nil } == [true])
        }
    }
}
