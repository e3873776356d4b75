import APNSClient
import APNSModel
import ArgumentParser
import Foundation
import JSONText
import Synchronization

/// The `islet bench send` command, which measures the APNs client alone.
struct BenchSend: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "send",
        abstract: "Pushes to the simulator with APNSClient alone: no server, no database.")

    @OptionGroup var options: BenchOptions
    @Option(help: "The number of pushes, each to a phone of its own.") var pushes = 100_000

    func validate() throws {
        guard 1...1_000_000 ~= pushes else { throw ValidationError("--pushes is 1 to 1000000, not \(pushes)") }
    }

    func run() async throws {
        let pushes = pushes
        let row = try await BenchStage.with(options) { bench in
            try await bench.crowd.make(pushes)
            let config = bench.stage.directory.appendingPathComponent("islet.yaml").path
            let client = try APNSClient(routes: try ConfigurationLoader.load(config).routes)
            let row: Result<SendRow, any Error>
            do {
                row = .success(try await SendLoad(client: client, pushes: pushes).run())
            } catch {
                row = .failure(error)
            }
            await client.shutdown(within: .seconds(1))
            return try row.get()
        }
        try BenchReport.publish([row], to: options.json)
    }
}

/// Pushes in batches.
struct SendLoad: Sendable {
    let client: APNSClient
    let pushes: Int

    private static let batch = 1000
    private static let timeLimit = Duration.seconds(30)

    func run() async throws -> SendRow {
        // One push opens the connection and learns its stream limit before the measurement begins.
        try await send(0..<1)
        let before = try ProcessUse(of: getpid())
        let begin = ContinuousClock.now
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, start) in stride(from: 1, to: pushes, by: Self.batch).enumerated() {
                // Two batches at a time: the next one leaves while the other is answered.
                if number >= 2 { try await group.next() }
                group.addTask { try await send(start..<min(start + Self.batch, pushes)) }
            }
            try await group.waitForAll()
        }
        let seconds = (ContinuousClock.now - begin).inSeconds
        let after = try ProcessUse(of: getpid())
        let sent = Double(max(1, pushes - 1))
        return SendRow(
            pushes: pushes, seconds: seconds.digits(3), pushesPerSecond: (sent / seconds).digits(0),
            cpuMicrosecondsPerPush: ((after.cpuSeconds - before.cpuSeconds) / sent * 1e6).digits(2),
            peakMegabytes: after.peakBytes.megabytes)
    }

    private func send(_ range: Range<Int>) async throws {
        let time = APNSClient.liveTime
        let deadline = time.monotonic() + Self.timeLimit
        let payload = try UpdatePayload(
            timestamp: time.wall(), contentState: try EncodedObject(parsing: Population.state(1).utf8))
        guard let bundleID = BundleID(DemoStage.bundleID) else { throw CommandError("the bundle id is not one") }
        let pushes = try range.map { phone in
            Push(
                .update(
                    payload, to: try UpdateToken(hex: CrowdCalls.token(of: phone)),
                    PushRequest.Envelope(
                        bundleID: bundleID, environment: .sandbox, priority: .low, expiration: .once,
                        id: PushID(random: .random(in: 0 ... .max), .random(in: 0 ... .max)))),
                sendBefore: deadline, answerBy: deadline)
        }
        let open = Mutex((left: pushes.count, refused: 0))
        let refused: Int = await withCheckedContinuation { continuation in
            client.submit(pushes) { _, answer in
                let isAccepted = (try? answer.get().status) == 200
                let refused: Int? = open.withLock { open in
                    open.left -= 1
                    if !isAccepted { open.refused += 1 }
                    return open.left == 0 ? open.refused : nil
                }
                if let refused { continuation.resume(returning: refused) }
            }
        }
        guard refused == 0 else { throw CommandError("\(refused) pushes were not accepted") }
    }
}

/// Figures of one run, with the names that programs read.
struct SendRow: Encodable, Sendable {
    var pushes: Int
    var seconds: Double
    var pushesPerSecond: Double
    var cpuMicrosecondsPerPush: Double
    var peakMegabytes: Double

    enum CodingKeys: String, CodingKey {
        case pushes, seconds
        case pushesPerSecond = "pushes_per_second"
        case cpuMicrosecondsPerPush = "client_cpu_us_per_push"
        case peakMegabytes = "peak_mb"
    }
}
