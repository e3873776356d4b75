package import APNSModel
package import LiveActivityStorage
package import Logging
import ServiceLifecycle

/// Periodically erases what is no longer needed, one page at a time, so that it never delays a change for long.
///
/// The closure given to it decides what is erased, and how much a page is.
package struct Pruner: Service {
    package typealias Failure = StorageError

    package struct Limits: Sendable {
        /// Time from the end of one round to the next.
        package var interval = Duration.seconds(600)
        /// Maximum number of pages in one round. The rest waits for the next.
        package var pages = 10_000

        package init() {}
    }

    private let mayPrune: @Sendable () async -> Bool
    private let prune: @Sendable (UnixTime) async throws(Failure) -> Bool
    private let time: TimeSource
    private let clock: any Clock<Duration>
    private let limits: Limits
    private let logger: Logger
    private let signal = Signal()

    /// - Parameters:
    ///   - mayPrune: Called before each round. Returns `true` if the time is certain enough to erase by it.
    ///   - prune: Erases one page of what is too old at that instant. Returns `true` if there is more.
    package init(
        time: TimeSource, clock: any Clock<Duration> = ContinuousClock(), limits: Limits = Limits(), logger: Logger,
        mayPrune: @escaping @Sendable () async -> Bool = { true },
        prune: @escaping @Sendable (UnixTime) async throws(Failure) -> Bool
    ) {
        self.mayPrune = mayPrune
        self.prune = prune
        self.time = time
        self.clock = clock
        self.limits = limits
        self.logger = logger
    }

    /// Prunes at once and then after each interval until the service stops. A page that has begun is finished.
    package func run() async throws {
        await withGracefulShutdownHandler {
            while !signal.isStopped && !Task.isCancelled {
                await round()
                await signal.wait(for: limits.interval, on: clock)
            }
        } onGracefulShutdown: {
            signal.stop()
        }
    }

    private func round() async {
        guard await mayPrune() else {
            return logger.debug("nothing is pruned: no answer of APNs has confirmed the time since the server started")
        }
        do throws(Failure) {
            for _ in 0..<limits.pages where !signal.isStopped && !Task.isCancelled {
                guard try await prune(time.wall()) else { return }
            }
        } catch {
            // The next round, in ten minutes, finds the same records.
            logger.error("old records could not be pruned", metadata: ["error": "\(error)"])
        }
    }
}
