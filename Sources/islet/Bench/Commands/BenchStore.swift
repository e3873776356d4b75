import APNSClient
import APNSModel
import ArgumentParser
import EmbeddedIslet
import Foundation
import JSONText
import LiveActivityCore
import LiveActivityStorage
import StorageSQL

/// The `islet bench store` command, which measures the storage engine alone, in this process.
struct BenchStore: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "store",
        abstract: "Writes state changes to the database alone, by 64 writers and by one.",
        discussion: """
            Beside it: how long the same disk takes to make one page of 4 KiB durable. With --storage it writes to a \
            PostgreSQL database that holds no activities yet, and leaves its rows there.
            """)

    @OptionGroup var options: BenchOptions
    @Option(help: "How long each row writes, in seconds.") var seconds = 5

    @Option(help: "A database such as postgres://islet@localhost/bench, instead of a new SQLite file.")
    var storage: String?

    func validate() throws {
        if let storage, !DatabaseLocation.isURL(storage) {
            throw ValidationError("--storage is a URL such as postgres://islet@localhost/bench")
        }
        guard 1...600 ~= seconds else { throw ValidationError("--seconds is 1 to 600, not \(seconds)") }
    }

    private static let writers = [64, 1]

    func run() async throws {
        let seconds = seconds
        let rows = try await options.withFolder { folder in
            let probe = try SyncProbe(folder: folder)
            var rows: [StoreRow] = []
            // One ring for all, because a database keeps which keys it was opened with.
            let keys = TokenKeySource.given(.fresh(), name: "bench")
            if let storage {
                let store = try DatabaseLocation(storage).open(for: .serving, tokenKeys: keys)
                defer { store.close() }
                guard try await store.running(since: .distantFuture, after: nil, limit: 1).isEmpty else {
                    throw CommandError("\(DatabaseLocation(storage)) holds activities: name a database without any")
                }
            }
            for writers in Self.writers {
                Progress.say("\(writers) writers for \(seconds) s")
                let path = folder.appendingPathComponent("store-\(writers).db").path
                let load = StoreLoad(
                    database: DatabaseLocation(storage ?? path), tokenKeys: keys, writers: writers, seconds: seconds)
                rows.append(try await load.run(beside: probe))
            }
            return rows
        }
        try BenchReport.publish(rows, to: options.json)
    }
}

/// Concurrent writers. Each changes the state of its own activity, one change after the other.
struct StoreLoad: Sendable {
    let database: DatabaseLocation
    let tokenKeys: TokenKeySource
    let writers: Int
    let seconds: Int

    private static let type = ActivityType(name: "OrderTracking", attributesType: "OrderTrackingAttributes")

    func run(beside probe: SyncProbe) async throws -> StoreRow {
        guard let app = BundleID(DemoStage.bundleID) else { throw CommandError("the bundle id is not one") }
        let store = try database.open(for: .serving, tokenKeys: tokenKeys)
        defer { store.close() }
        let (before, counted) = (try ProcessUse(of: getpid()), try await store.statistics())
        let begin = ContinuousClock.now
        let end = begin + .seconds(seconds)
        let latencies = try await withThrowingTaskGroup(of: [Double].self) { group in
            for writer in 0..<writers { group.addTask { try await Self.write(store, app, writer, until: end) } }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        let elapsed = (ContinuousClock.now - begin).inSeconds
        let (after, counts) = (try ProcessUse(of: getpid()), try await store.statistics())
        let commits = counts.commits - counted.commits
        let writes = Double(latencies.count)
        let quantiles = Quantiles(latencies)
        return StoreRow(
            writers: writers, writes: latencies.count, writesPerSecond: (writes / elapsed).digits(0),
            medianMilliseconds: (quantiles[0.5] ?? 0).digits(3), p99Milliseconds: (quantiles[0.99] ?? 0).digits(3),
            cpuMicrosecondsPerWrite: ((after.cpuSeconds - before.cpuSeconds) / writes * 1e6).digits(1),
            commits: commits, writesPerCommit: (writes / Double(commits)).digits(2),
            statementsPerWrite: (Double(counts.statements - counted.statements) / writes).digits(2),
            bytesPerWrite: (Double(counts.bytesWritten - counted.bytesWritten) / writes).digits(0),
            syncMedianMilliseconds: probe.medianMilliseconds, syncP99Milliseconds: probe.p99Milliseconds)
    }

    /// Writes until the end.
    ///
    /// - Returns: Duration of each write in milliseconds.
    private static func write(
        _ store: SQLStore, _ app: BundleID, _ writer: Int, until end: ContinuousClock.Instant
    ) async throws -> [Double] {
        let id = try ActivityID("order-\(writer)")
        let time = APNSClient.liveTime
        var latencies: [Double] = []
        while ContinuousClock.now < end {
            let state: JSONObject = [
                "status": "preparing", "progress": .number(JSONNumber(1)),
                "eta": .number(JSONNumber(latencies.count)),
            ]
            var body = SetDesiredState.Body(state: state)
            body.attributes = ["orderId": .string(id.text), "restaurant": "Da Mario"]
            body.priority = .low
            let begin = ContinuousClock.now
            let result = try await store.commit(
                SetDesiredState(app: app, id: id, type: type, body: body, now: time.wall()))
            _ = try result.get()
            latencies.append((ContinuousClock.now - begin).inSeconds * 1000)
        }
        return latencies
    }
}

/// Figures of one run, with the names that programs read.
struct StoreRow: Encodable, Sendable {
    var writers: Int
    var writes: Int
    var writesPerSecond: Double
    var medianMilliseconds: Double
    var p99Milliseconds: Double
    var cpuMicrosecondsPerWrite: Double
    var commits: Int
    var writesPerCommit: Double
    var statementsPerWrite: Double
    var bytesPerWrite: Double
    var syncMedianMilliseconds: Double
    var syncP99Milliseconds: Double

    enum CodingKeys: String, CodingKey {
        case writers, writes, commits
        case writesPerSecond = "writes_per_second"
        case medianMilliseconds = "write_median_ms"
        case p99Milliseconds = "write_p99_ms"
        case cpuMicrosecondsPerWrite = "cpu_us_per_write"
        case writesPerCommit = "writes_per_commit"
        case statementsPerWrite = "statements_per_write"
        case bytesPerWrite = "bytes_per_write"
        case syncMedianMilliseconds = "sync_median_ms"
        case syncP99Milliseconds = "sync_p99_ms"
    }
}
