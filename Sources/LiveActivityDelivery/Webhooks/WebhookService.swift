package import APNSModel
package import LiveActivityCore
package import LiveActivityStorage
package import Logging
import ServiceLifecycle

/// Tells endpoints what happened: each by itself, so that one that does not answer holds up no other.
///
/// What an endpoint was told is written down after it took it. So whatever happens to the process in between, an event
/// is told at least once, and may be told twice.
package struct WebhookService: Service {
    /// Who is told, and how.
    package struct Endpoint: Sendable {
        package typealias Send = @Sendable (WebhookMessage) async -> WebhookQueue.Outcome

        package var key: WebhookKey
        /// `nil`: all.
        package var kinds: Set<EventRecord.Kind>?
        /// How long one call may take; what goes on longer is cancelled, and counts as failed.
        package var deadline: Duration
        package var send: Send

        package init(
            key: WebhookKey, kinds: Set<EventRecord.Kind>? = nil, deadline: Duration = .seconds(15),
            send: @escaping Send
        ) {
            self.key = key
            self.kinds = kinds
            self.deadline = deadline
            self.send = send
        }
    }

    package struct Limits: Sendable {
        package var queue = WebhookQueue.Limits()
        /// How often the database is asked whether somebody has turned an endpoint on, or has it told again.
        package var look = Duration.seconds(10)
        /// How long to wait when the store fails.
        package var storagePause = Duration.seconds(1)
        /// Events of one read.
        package var page = 500

        package init() {}
    }

    let store: any WebhookStore
    let endpoints: [Endpoint]
    let time: TimeSource
    let clock: any Clock<Duration>
    let dice: @Sendable () -> UInt64
    let limits: Limits
    let metrics: WebhookMetrics
    let logger: Logger

    package init(
        store: any WebhookStore, endpoints: [Endpoint], time: TimeSource,
        clock: any Clock<Duration> = ContinuousClock(), dice: @escaping @Sendable () -> UInt64,
        limits: Limits = Limits(), metrics: WebhookMetrics = WebhookMetrics(), logger: Logger
    ) {
        self.store = store
        self.endpoints = endpoints
        self.time = time
        self.clock = clock
        self.dice = dice
        self.limits = limits
        self.metrics = metrics
        self.logger = logger
    }

    /// Makes endpoints known that are new: they are told what happens from now on, though `run()` may come later.
    package func makeKnown() async {
        // What fails here is made good by `run()`, which says so.
        for endpoint in endpoints { _ = try? await store.webhook(endpoint.key) }
    }

    /// Until it is stopped; calls that are on their way then are finished and written down.
    package func run() async throws {
        await withDiscardingTaskGroup { group in
            for endpoint in endpoints {
                group.addTask { await WebhookCourier(endpoint, self).run() }
            }
        }
    }
}
