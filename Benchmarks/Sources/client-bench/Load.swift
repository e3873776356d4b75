import APNSClient
import APNSModel
import Foundation
import Synchronization

/// Sends the same thousand requests again and again: what it costs to make a request is not the client's.
final class Load: Sendable {
    static let paths = 1_000

    let client: APNSClient
    private let requests: [PushRequest]
    private let options: Options

    init(_ options: Options) throws {
        self.options = options
        var limits = APNSClient.Options()
        limits.maximumConnections = options.connections
        // Only what the first connection has no room for takes another one.
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
        requests = try (0..<Self.paths).map { number in
            let digits = String(number, radix: 16)
            let hex = String(repeating: "0", count: 64 - digits.count) + digits
            return .update(
                payload, to: try UpdateToken(hex: hex),
                PushRequest.Envelope(
                    bundleID: bundleID, environment: .sandbox, priority: .high, expiration: .once,
                    id: PushID(high: 1, low: UInt64(number))))
        }
    }

    func run(_ count: Int, rate: Int?, latencies: Latencies?) async throws {
        if let rate { return try await pace(count, rate, latencies) }
        switch options.mode {
        case .async: try await sendEach(count, latencies)
        case .batch: try await submitBatches(count, latencies)
        }
    }

    private func push(_ number: Int) -> Push {
        let deadline = APNSClient.liveTime.monotonic() + .seconds(30)
        return Push(requests[number % Self.paths], sendBefore: deadline, answerBy: deadline)
    }

    /// As many tasks as pushes are outstanding, each sends one after the other.
    private func sendEach(_ count: Int, _ latencies: Latencies?) async throws {
        let next = Counter()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<options.outstanding {
                group.addTask {
                    while true {
                        let number = next.take()
                        guard number < count else { return }
                        let begin = ContinuousClock.now
                        let answer = try await self.client.send(self.push(number))
                        guard answer.status == 200 else { throw Problem(description: "status \(answer.status)") }
                        latencies?.add(ContinuousClock.now - begin, number)
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    /// Four batches take turns: what one is answered makes room for its next.
    private func submitBatches(_ count: Int, _ latencies: Latencies?) async throws {
        let size = max(1, options.outstanding / 4)
        let next = Counter()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<min(4, options.outstanding) {
                group.addTask {
                    while true {
                        let first = next.take(size)
                        guard first < count else { return }
                        try await self.submit(first..<min(first + size, count), latencies)
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    private func submit(_ range: Range<Int>, _ latencies: Latencies?) async throws {
        let begin = ContinuousClock.now
        let deadline = APNSClient.liveTime.monotonic() + .seconds(30)
        let pushes = range.map { Push(requests[$0 % Self.paths], sendBefore: deadline, answerBy: deadline) }
        let left = Counter(pushes.count)
        let failed = Counter()
        let first = range.lowerBound
        let failures: Int = await withCheckedContinuation { continuation in
            client.submit(pushes) { index, result in
                if (try? result.get().status) != 200 { failed.take() }
                latencies?.add(ContinuousClock.now - begin, first + index)
                if left.take(-1) == 1 {
                    continuation.resume(returning: failed.current)
                }
            }
        }
        guard failures == 0 else { throw Problem(description: "\(failures) pushes were not accepted") }
    }

    /// So many a second, in steps of a millisecond, whatever the answers do; the time counts from when a push was due.
    private func pace(_ count: Int, _ rate: Int, _ latencies: Latencies?) async throws {
        let begin = ContinuousClock.now
        try await withThrowingTaskGroup(of: Void.self) { group in
            var sent = 0
            var step = 0
            while sent < count {
                step += 1
                let due = begin + .milliseconds(step)
                try await Task.sleep(until: due, tolerance: .zero, clock: .continuous)
                let end = min(count, rate * step / 1_000)
                for number in sent..<max(sent, end) {
                    group.addTask {
                        let answer = try await self.client.send(self.push(number))
                        guard answer.status == 200 else { throw Problem(description: "status \(answer.status)") }
                        latencies?.add(ContinuousClock.now - due, number)
                    }
                }
                sent = max(sent, end)
            }
            try await group.waitForAll()
        }
    }
}

/// The time of each push, at its number, so that no two write to one place.
final class Latencies: Sendable {
    private let values: Mutex<[Float]>

    init(capacity: Int) {
        values = Mutex(Array(repeating: 0, count: capacity))
    }

    func add(_ duration: Duration, _ number: Int) {
        let milliseconds = Float(duration / .milliseconds(1))
        values.withLock { $0[number] = milliseconds }
    }

    /// The median and the 99th percentile, in milliseconds.
    var quantiles: (Float, Float)? {
        let sorted = values.withLock { $0.sorted() }
        guard !sorted.isEmpty else { return nil }
        return (sorted[sorted.count / 2], sorted[min(sorted.count - 1, sorted.count * 99 / 100)])
    }
}
