import APNSModel
import LiveActivityAPI
import LiveActivityCore
import LiveActivityStorage
import ServiceLifecycle
import Synchronization

/// One reading of the server's own figures, over all apps.
struct FigureSample: Sendable, Equatable {
    var at: UnixTime
    /// Pushes whose result is known, by app, verdict and reason.
    var pushes: [Outcome: Int] = [:]
    var lag = BucketCounts(bounds: Metric.deliveryLag.bounds)
    var failedLag = BucketCounts(bounds: Metric.deliveryFailedLag.bounds)
    var inFlight = 0
    var queueAge: Duration?
    var waiting: Int?
    var connections: [ConnectionReading] = []
    var memory: Int?
    /// The figures that commands counted.
    var tally = Tally()

    struct Outcome: Sendable, Hashable {
        let app: String
        let verdict: String
        let reason: String
    }
}

/// The samples of the last 15 minutes, and the readers that wait for the next one.
final class Figures: Sendable {
    static let interval = Duration.seconds(2)
    /// Number of samples in 15 minutes.
    static let kept = 450

    private struct State {
        var samples: [FigureSample] = []
        var readers: [Int: AsyncStream<FigureSample>.Continuation] = [:]
        var nextReader = 0
        var isOver = false
    }

    private let state = Mutex(State())

    /// The samples, the oldest first.
    var all: [FigureSample] { state.withLock(\.samples) }

    func add(_ sample: FigureSample) {
        let readers = state.withLock { state in
            state.samples.append(sample)
            if state.samples.count > Self.kept { state.samples.removeFirst(state.samples.count - Self.kept) }
            return Array(state.readers.values)
        }
        for reader in readers { reader.yield(sample) }
    }

    /// Returns a stream of every sample from now on. A slow reader gets only the newest. It ends when the server stops.
    func samples() -> AsyncStream<FigureSample> {
        let (stream, continuation) = AsyncStream.makeStream(of: FigureSample.self, bufferingPolicy: .bufferingNewest(1))
        let number: Int? = state.withLock { state in
            guard !state.isOver else { return nil }
            state.nextReader += 1
            state.readers[state.nextReader] = continuation
            return state.nextReader
        }
        guard let number else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { state in _ = state.readers.removeValue(forKey: number) }
        }
        return stream
    }

    func end() {
        let readers = state.withLock { state in
            state.isOver = true
            defer { state.readers = [:] }
            return Array(state.readers.values)
        }
        for reader in readers { reader.finish() }
    }
}

/// A service that takes a sample every 2 seconds.
package struct FigureSampler: Service {
    let figures: Figures
    let registry: MetricsRegistry?
    let store: any AdminStore
    let delivery: DeliverySources
    let time: TimeSource
    let clock: any Clock<Duration>

    package func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                await step()
                try? await clock.sleep(for: Figures.interval)
            }
        }
    }

    /// Takes one sample.
    package func step() async {
        var sample = FigureSample(at: time.wall())
        sample.connections = delivery.connections()
        for family in registry?.families ?? [] { sample.read(family) }
        sample.memory = ProcessReading.now()?.residentBytes
        if let statistics = try? await store.statistics() {
            sample.waiting = statistics.waiting
            sample.tally = statistics.tally
            sample.queueAge = max(statistics.earliestDue.map { sample.at - $0 } ?? .zero, .zero)
        }
        figures.add(sample)
    }
}

extension FigureSample {
    fileprivate mutating func read(_ family: MetricFamily) {
        for series in family.series {
            switch (family.metric, series.value) {
            case (.deliveries, .number(let count)) where series.labels.count == 5:
                let outcome = Outcome(app: series.labels[0], verdict: series.labels[3], reason: series.labels[4])
                pushes[outcome, default: 0] += Int(count)
            case (.deliveryLag, .buckets(let buckets)): lag.add(buckets)
            case (.deliveryFailedLag, .buckets(let buckets)): failedLag.add(buckets)
            case (.pushesInFlight, .number(let count)): inFlight += Int(count)
            default: break
            }
        }
    }
}
