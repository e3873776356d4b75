import APNSClient
import APNSModel
import Foundation
import JSONText

/// Sends the same thousand requests repeatedly, so that the cost of making a request is not measured.
final class Load: Sendable {
    static let paths = 1_000

    let client: APNSClient
    private let pushes: [Push]
    /// The requests in batches. Batches and pushes are made before the measurement.
    private let batches: [[Push]]
    private let options: Options

    init(_ options: Options) throws {
        self.options = options
        var limits = APNSClient.Options()
        limits.maximumConnections = options.connections
        // A further connection opens only when the first one has no room.
        limits.maximumConcurrentStreams = max(1, options.outstanding / options.connections)
        guard let bundleID = BundleID("com.example.bench") else { throw Problem(description: "no bundle id") }
        let p8 = try String(contentsOfFile: options.key, encoding: .utf8)
        let route = APNSClient.Route(
            bundleID: bundleID, environment: .sandbox,
            key: try ProviderKey(keyID: "ABC123DEFG", teamID: "XYZ987MNOP", p8: p8),
            endpoint: try APNSClient.Endpoint(host: "127.0.0.1", port: options.port),
            trustRoots: .file(options.authority))
        client = try APNSClient(routes: [route], options: limits)
        let text = #"{"driver":"Ada","eta":"2026-11-22T10:15:00Z","phase":"onTheWay","stops":[3,1,4,1,5],"note":""#
        let payload = try UpdatePayload(
            timestamp: APNSClient.liveTime.wall(),
            contentState: try EncodedObject(parsing: (text + String(repeating: "x", count: 150) + "\"}").utf8))
        let deadline = Self.now() + .seconds(3_600)
        let pushes = try (0..<Self.paths).map { number in
            let digits = String(number, radix: 16)
            let hex = String(repeating: "0", count: 64 - digits.count) + digits
            let request = PushRequest.update(
                payload, to: try UpdateToken(hex: hex),
                PushRequest.Envelope(
                    bundleID: bundleID, environment: .sandbox, priority: .high, expiration: .once,
                    id: PushID(high: 1, low: UInt64(number))))
            return Push(request, sendBefore: deadline, answerBy: deadline)
        }
        self.pushes = pushes
        let size = min(max(1, options.outstanding / 4), Self.paths)
        batches = (0..<Self.paths / size).map { Array(pushes[$0 * size..<($0 + 1) * size]) }
    }

    func run(_ count: Int, rate: Int?, latencies: Latencies?) async throws {
        if let rate { return try await pace(count, rate, latencies) }
        switch options.mode {
        case .async: try await sendEach(count, latencies)
        case .batch: try await submitBatches(count, latencies)
        }
    }

    private static func now() -> MonotonicTime { APNSClient.liveTime.monotonic() }

    /// Sends with one task for each outstanding push. Each task sends one push after another.
    private func sendEach(_ count: Int, _ latencies: Latencies?) async throws {
        let next = Counter()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<options.outstanding {
                group.addTask {
                    var begin = Self.now()
                    while true {
                        let number = next.take()
                        guard number < count else { return }
                        let answer = try await self.client.send(self.pushes[number % Self.paths])
                        guard answer.status == 200 else { throw Problem(description: "status \(answer.status)") }
                        // The next push is sent as soon as this one is answered.
                        let end = Self.now()
                        latencies?.add(from: begin, to: end, number)
                        begin = end
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    /// Submits four batches at a time. A batch that is answered makes room for the next one.
    private func submitBatches(_ count: Int, _ latencies: Latencies?) async throws {
        let next = Counter()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<min(4, options.outstanding) {
                group.addTask {
                    while true {
                        let number = next.take()
                        let batch = self.batches[number % self.batches.count]
                        let first = number * batch.count
                        guard first < count else { return }
                        let isLast = first + batch.count > count
                        try await self.submit(isLast ? Array(batch.prefix(count - first)) : batch, first, latencies)
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    private func submit(_ pushes: [Push], _ first: Int, _ latencies: Latencies?) async throws {
        let begin = Self.now()
        let left = Counter(pushes.count)
        let failed = Counter()
        let failures: Int = await withCheckedContinuation { continuation in
            client.submit(pushes) { index, result in
                if (try? result.get().status) != 200 { failed.take() }
                latencies?.add(from: begin, to: Self.now(), first + index)
                if left.take(-1) == 1 {
                    continuation.resume(returning: failed.current)
                }
            }
        }
        guard failures == 0 else { throw Problem(description: "\(failures) pushes were not accepted") }
    }

    /// Sends at a fixed rate per second, in steps of one millisecond, whatever the answers. Latency counts from the
    /// instant at which a push was due.
    private func pace(_ count: Int, _ rate: Int, _ latencies: Latencies?) async throws {
        let begin = ContinuousClock.now
        let start = Self.now()
        // A discarding group, so that results of finished tasks are not kept until the end.
        try await withThrowingDiscardingTaskGroup { group in
            var sent = 0
            var step = 0
            while sent < count {
                step += 1
                let due = start + .milliseconds(step)
                try await Task.sleep(until: begin + .milliseconds(step), tolerance: .zero, clock: .continuous)
                let end = min(count, rate * step / 1_000)
                for number in sent..<max(sent, end) {
                    group.addTask {
                        let answer = try await self.client.send(self.pushes[number % Self.paths])
                        guard answer.status == 200 else { throw Problem(description: "status \(answer.status)") }
                        latencies?.add(from: due, to: Self.now(), number)
                    }
                }
                sent = max(sent, end)
            }
        }
    }
}

/// The latency of each push, stored at its number, so that no two tasks write to one place.
final class Latencies: Sendable {
    private nonisolated(unsafe) let values: UnsafeMutableBufferPointer<Float>

    init(capacity: Int) {
        values = .allocate(capacity: capacity)
        values.initialize(repeating: 0)
    }

    deinit {
        values.deallocate()
    }

    func add(from begin: MonotonicTime, to end: MonotonicTime, _ number: Int) {
        values[number] = Float(end.nanoseconds - begin.nanoseconds) / 1e6
    }

    /// The median and the 99th percentile, in milliseconds. Read them after the last push has ended.
    var quantiles: (Float, Float)? {
        let sorted = values.sorted()
        guard !sorted.isEmpty else { return nil }
        return (sorted[sorted.count / 2], sorted[min(sorted.count - 1, sorted.count * 99 / 100)])
    }
}
