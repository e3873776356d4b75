import APNSClient
import APNSModel
import EmbeddedIslet
import Foundation
import JSONText
import LiveActivityStorage
import StorageSQL

/// A simulator and a server as separate processes, a crowd of phones, and the server's resource use.
struct BenchStage: Sendable {
    let stage: DemoStage
    let calls: LoadCaller
    let crowd: CrowdCalls
    /// The database server; `nil` for a file.
    let database: DatabaseLocation?

    /// Maximum time for a server to open a large database.
    private static let restartLimit = Duration.seconds(300)
    /// Share of a core below which the server counts as idle, if it stays there for `quietTime`.
    private static let quietShare = 0.03
    private static let quietTime = Duration.milliseconds(500)
    private static let quietLimit = Duration.seconds(600)

    /// Starts everything in a new folder and runs the body. Then stops and removes everything, also after an error.
    ///
    /// - Parameters:
    ///   - server: A PostgreSQL database, beside which one for the body is made; `nil` for a SQLite file.
    ///   - play: The play whose app is on the phones and in the configuration.
    static func with<Value: Sendable>(
        _ options: BenchOptions, on server: DatabaseLocation?, play: any Play = OrderPlay(),
        _ body: @escaping @Sendable (BenchStage) async throws -> Value
    ) async throws -> Value {
        guard let server else { return try await with(options, play: play, body) }
        return try await server.withScratch { try await with(options, database: $0, play: play, body) }
    }

    /// Starts everything as above, on a SQLite file or on an empty database.
    static func with<Value: Sendable>(
        _ options: BenchOptions, database: DatabaseLocation? = nil, play: any Play = OrderPlay(),
        _ body: @escaping @Sendable (BenchStage) async throws -> Value
    ) async throws -> Value {
        try await options.withFolder { folder in
            guard let executable = Bundle.main.executableURL else { throw CommandError("this executable has no path") }
            var surroundings = DemoStage.Surroundings()
            if case .postgres(let url)? = database {
                surroundings.environment = [
                    "ISLET_STORAGE": url, "ISLET_TOKEN_KEYS_ENVIRONMENT": "ISLET_BENCH_RING",
                    "ISLET_BENCH_RING": TokenKeyRing.fresh().text,
                ]
            }
            let stage = try await DemoStage(
                directory: folder, startGrace: "0s", executable: executable, play: play, surroundings: surroundings)
            let calls = LoadCaller(stage.isletAddress, key: stage.key)
            let bench = BenchStage(
                stage: stage, calls: calls, crowd: CrowdCalls(control: stage.control),
                database: database)
            let result: Result<Value, any Error>
            do {
                result = .success(try await body(bench))
            } catch {
                result = .failure(error)
                let log = try? String(contentsOf: folder.appendingPathComponent("server.log"), encoding: .utf8)
                if let log, !log.isEmpty { Progress.say("the server's last words:\n\(lastWords(of: log))") }
            }
            calls.close()
            await stage.close()
            return try result.get()
        }
    }

    /// Returns the end of a log; with the trace of the thread that crashed, if one did.
    private static func lastWords(of log: String) -> Substring {
        guard let crash = log.range(of: "*** ") ?? log.range(of: "Fatal error") else { return log.suffix(2000) }
        return log[crash.lowerBound...].prefix(20_000)
    }

    // MARK: - The server

    func use() throws -> ProcessUse { try ProcessUse(of: stage.serverProcess) }

    /// Time between two readings of the metrics, because the server repeats the same page for a second.
    private static let pageTime = Duration.milliseconds(1100)

    func metrics() async throws -> MetricsText {
        try await Task.sleep(for: Self.pageTime)
        return MetricsText(try await stage.islet.text("/metrics"))
    }

    /// Size of the database in bytes.
    var databaseBytes: Int {
        if let database {
            return Int(database.look(tokenKeys: .given(.fresh(), name: "bench"), time: APNSClient.liveTime.wall).bytes)
        }
        return ["islet.db", "islet.db-wal"].reduce(0) { sum, name in
            let path = stage.directory.appendingPathComponent(name).path
            let size = try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int
            return sum + (size ?? 0)
        }
    }

    /// Number of bytes that the server has sent to APNs since the simulator's start: HTTP/2 frames, without TLS.
    func bytesToAPNs() async throws -> Int {
        try await stage.control.call(.GET, "/v1/simulator").object?["receivedBytes"]?.int ?? 0
    }

    /// Waits until the server is idle and has settled everything that it had accepted.
    func quiet() async throws {
        let end = ContinuousClock.now + Self.quietLimit
        var last = try use().cpuSeconds
        while ContinuousClock.now < end {
            let begin = ContinuousClock.now
            try await Task.sleep(for: Self.quietTime)
            let now = try use().cpuSeconds
            let share = (now - last) / (ContinuousClock.now - begin).inSeconds
            last = now
            // Low CPU use is not enough: on a busy machine, a server with work may get no CPU time.
            if share < Self.quietShare, try await isIdle() { return }
        }
        throw CommandError("the server did not come to rest within \(Int(Self.quietLimit.inSeconds)) s")
    }

    private func isIdle() async throws -> Bool {
        let metrics = try await metrics()
        return (metrics["islet_flights_open"] ?? 0) + (metrics["islet_store_waiting"] ?? 0) == 0
    }

    /// Stops the server and starts it again on the same database.
    ///
    /// - Returns: Seconds from the start until the server is ready.
    func restart() async throws -> Double {
        await stage.stopServer()
        let begin = ContinuousClock.now
        try await stage.startServer(within: Self.restartLimit)
        try await Waiting.until("the server is ready", within: Self.restartLimit) {
            (try? await stage.islet.call(.GET, "/readyz")) != nil
        }
        return (ContinuousClock.now - begin).inSeconds
    }
}
