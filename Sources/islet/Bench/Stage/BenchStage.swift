import Foundation
import JSONText

/// A simulator and a server as processes of their own, a crowd of phones, and what the server has used.
struct BenchStage: Sendable {
    let stage: DemoStage
    let calls: LoadCaller
    let crowd: CrowdCalls

    /// How long a server may take to open a large database.
    private static let restartLimit = Duration.seconds(300)
    /// A server that uses less than this share of a core for so long has nothing left to do.
    private static let quietShare = 0.03
    private static let quietTime = Duration.milliseconds(500)
    private static let quietLimit = Duration.seconds(600)

    /// Starts everything in a folder of its own, runs the body, and stops and removes everything, whatever happens.
    static func with<Value: Sendable>(
        _ options: BenchOptions, _ body: @escaping @Sendable (BenchStage) async throws -> Value
    ) async throws -> Value {
        try await options.withFolder { folder in
            guard let executable = Bundle.main.executableURL else { throw CommandError("this executable has no path") }
            let stage = try await DemoStage(directory: folder, startGrace: "0s", executable: executable)
            let calls = LoadCaller(stage.isletAddress, key: stage.key)
            let bench = BenchStage(stage: stage, calls: calls, crowd: CrowdCalls(control: stage.control))
            let result: Result<Value, any Error>
            do {
                result = .success(try await body(bench))
            } catch {
                result = .failure(error)
                let log = try? String(contentsOf: folder.appendingPathComponent("server.log"), encoding: .utf8)
                if let log, !log.isEmpty { Progress.say("the server's last words:\n\(log.suffix(2000))") }
            }
            calls.close()
            await stage.close()
            return try result.get()
        }
    }

    // MARK: - The server

    func use() throws -> ProcessUse { try ProcessUse(of: stage.serverProcess) }

    /// The server's page of metrics is the same for a second: a reading waits until that one is over.
    private static let pageTime = Duration.milliseconds(1100)

    func metrics() async throws -> MetricsText {
        try await Task.sleep(for: Self.pageTime)
        return MetricsText(try await stage.islet.text("/metrics"))
    }

    /// The database as it lies on the disk.
    var databaseBytes: Int {
        ["islet.db", "islet.db-wal"].reduce(0) { sum, name in
            let path = stage.directory.appendingPathComponent(name).path
            let size = try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int
            return sum + (size ?? 0)
        }
    }

    /// Waits until the server has nothing left to do: what it had accepted is settled.
    func quiet() async throws {
        let end = ContinuousClock.now + Self.quietLimit
        var last = try use().cpuSeconds
        while ContinuousClock.now < end {
            let begin = ContinuousClock.now
            try await Task.sleep(for: Self.quietTime)
            let now = try use().cpuSeconds
            let share = (now - last) / (ContinuousClock.now - begin).inSeconds
            last = now
            // On a machine that is busy with other things a server that has work may get no time for it.
            if share < Self.quietShare, try await isIdle() { return }
        }
        throw CommandError("the server did not come to rest within \(Int(Self.quietLimit.inSeconds)) s")
    }

    private func isIdle() async throws -> Bool {
        let metrics = try await metrics()
        return (metrics["islet_flights_open"] ?? 0) + (metrics["islet_store_waiting"] ?? 0) == 0
    }

    /// Stops the server and starts it on the same database.
    ///
    /// - Returns: Seconds from its start until it answers that it is ready.
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
