import EmbeddedIslet
import Foundation
import JSONText
import PostgresCluster
import StorageSQL

/// Failures of the servers on one database and of the database itself, with the time until callers get answers again.
struct NodeFailures: Sendable {
    private let nodes: NodesStage
    private let callers: [JSONCaller]
    /// Number of the last change of the order.
    private var step = 0

    private static let limit = Duration.seconds(60)
    private static let person = "alice"

    init(_ nodes: NodesStage) {
        self.nodes = nodes
        let key = nodes.stage.key
        callers = nodes.addresses.map { JSONCaller($0) { key } }
    }

    /// Measures all.
    ///
    /// - Throws: `JSONCaller.Refusal` or `DemoFailure` if no answer comes again, or if the phone does not show the last
    ///   state.
    mutating func measure(calls: Int, seconds: Int, in folder: URL) async throws -> NodesRow {
        let writes = try await writes(for: seconds, in: folder)
        try await nodes.stage.addPhone(Self.person)
        try await Waiting.until("the phone is registered", within: Self.limit) { [self] in
            try await nodes.stage.hasReported(Self.person)
        }
        let (owner, door) = try await latencies(calls)
        let (killed, rescued) = try await killOwner()
        let hung = try await hangOwner()
        let promoted = try await failOver()
        return NodesRow(
            calls: calls, ownerMedianMilliseconds: (owner[0.5] ?? 0).digits(2),
            ownerP99Milliseconds: (owner[0.99] ?? 0).digits(2), doorMedianMilliseconds: (door[0.5] ?? 0).digits(2),
            doorP99Milliseconds: (door[0.99] ?? 0).digits(2), writesPerSecond64: writes[0],
            writesPerSecond256: writes[1], killedSeconds: killed, rescuedSeconds: rescued, hungSeconds: hung,
            promotedSeconds: promoted)
    }

    /// Returns the writes per second of the storage engine alone, by 64 and by 256 writers.
    private func writes(for seconds: Int, in folder: URL) async throws -> [Double] {
        try nodes.cluster.run("CREATE DATABASE bench")
        let database = DatabaseLocation(nodes.cluster.pairURL("bench"))
        let probe = try SyncProbe(folder: folder)
        let keys = TokenKeySource.given(.fresh(), name: "bench")
        var rates: [Double] = []
        for writers in [64, 256] {
            Progress.say("\(writers) writers for \(seconds) s")
            let load = StoreLoad(database: database, tokenKeys: keys, writers: writers, seconds: seconds)
            rates.append(try await load.run(beside: probe).writesPerSecond)
        }
        return rates
    }

    /// Returns the milliseconds of calls at the owner and through another server, made in turns.
    private mutating func latencies(_ calls: Int) async throws -> (owner: Quantiles, door: Quantiles) {
        Progress.say("\(calls) calls at the owner, and as many through another server")
        let owner = try await self.owner()
        var samples: [[Double]] = [[], []]
        for number in 0..<calls {
            for (index, server) in [owner, other(than: owner)].enumerated() {
                let begin = ContinuousClock.now
                _ = try await callers[server].call(
                    .PUT, "/v1/activities/plain-\(index)", Self.order("plain-\(index)", number, people: []))
                samples[index].append((ContinuousClock.now - begin).inSeconds * 1000)
            }
        }
        return (Quantiles(samples[0]), Quantiles(samples[1]))
    }

    // MARK: - Failures

    /// Kills the owner while a push is on its way, and starts it again.
    ///
    /// - Returns: Seconds until a change was answered, and until the phone showed that change.
    private mutating func killOwner() async throws -> (answered: Double, shown: Double) {
        _ = try await change(through: 0)
        try await shows()
        try await nodes.stage.control.call(
            .PUT, "/v1/faults", ["faults": [["effect": "slow", "seconds": 5, "event": "update"]]])
        let before = try await pushes()
        _ = try await change(through: 0)
        try await Waiting.until("the push is on its way", within: Self.limit) { [self] in try await pushes() > before }
        let owner = try await owner()
        Progress.say("kill -9 of the owner")
        nodes.signal(owner, SIGKILL)
        let begin = ContinuousClock.now
        try await nodes.stage.control.call(.DELETE, "/v1/faults")
        let answered = try await change(through: other(than: owner))
        try await shows()
        let shown = (ContinuousClock.now - begin).inSeconds.digits(2)
        try await nodes.restart(owner)
        return (answered, shown)
    }

    /// Stops the owner's process until a change is answered.
    private mutating func hangOwner() async throws -> Double {
        let owner = try await owner()
        Progress.say("SIGSTOP of the owner")
        nodes.signal(owner, SIGSTOP)
        let answered = try await change(through: other(than: owner))
        nodes.signal(owner, SIGCONT)
        try await shows()
        return answered
    }

    /// Kills the database and promotes its standby.
    private mutating func failOver() async throws -> Double {
        let owner = try await owner()
        Progress.say("kill -9 of PostgreSQL, and promotion of the standby")
        try nodes.cluster.crash()
        try nodes.cluster.promoteStandby()
        let answered = try await change(through: other(than: owner))
        try await shows()
        return answered
    }

    // MARK: - Calls

    private func owner() async throws -> Int {
        try await Waiting.until("a server owns the database", within: Self.limit) { [nodes] in
            try nodes.owner() != nil
        }
        return try nodes.owner() ?? 0
    }

    private func other(than owner: Int) -> Int { (owner + 1) % callers.count }

    /// Changes the order with one call, which is repeated as long as the answer is 503.
    ///
    /// - Returns: Seconds until it was answered.
    private mutating func change(through server: Int) async throws -> Double {
        step += 1
        let begin = ContinuousClock.now
        while true {
            do {
                _ = try await callers[server].call(
                    .PUT, "/v1/activities/order", Self.order("order", step, people: [.string(Self.person)]))
                return (ContinuousClock.now - begin).inSeconds.digits(2)
            } catch let refusal as JSONCaller.Refusal where refusal.status == 503 {
                guard ContinuousClock.now - begin < Self.limit else { throw refusal }
                try await Task.sleep(for: .milliseconds(10))
            }
        }
    }

    private func shows() async throws {
        try await Waiting.until("the phone shows change \(step), on one card", within: Self.limit) { [self] in
            let cards = try await nodes.stage.cards(on: Self.person)
            return cards.count == 1 && cards[0]["contentState"]?.object?["eta"]?.int == step
        }
    }

    private func pushes() async throws -> Int {
        try await nodes.stage.control.call(.GET, "/v1/simulator").object?["received"]?.int ?? 0
    }

    private static func order(_ id: String, _ step: Int, people: [JSONValue]) -> JSONValue {
        [
            "type": "OrderTracking",
            "state": ["status": "preparing", "progress": 0.5, "eta": .number(JSONNumber(step))],
            "attributes": ["orderId": .string(id), "restaurant": "Da Mario"], "audience": ["users": .array(people)],
        ]
    }
}
