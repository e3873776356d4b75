package import APNSModel
package import LiveActivityCore
package import LiveActivityStorage
package import Logging
import ServiceLifecycle

/// Sends events to the configured endpoints. Each endpoint is independent, so a slow one delays no other.
///
/// An event's result is stored after the endpoint has accepted the event. If the process ends in between, the event is
/// sent again. So an event is sent at least once, and may be sent twice.
package struct WebhookService: Service {
    /// An endpoint, and the way to call it.
    package struct Endpoint: Sendable {
        package typealias Send = @Sendable (WebhookMessage) async -> WebhookQueue.Outcome

        package var key: WebhookKey
        /// Kinds of events that the endpoint gets; `nil` for all.
        package var kinds: Set<EventRecord.Kind>?
        /// Time that one call may take. A longer call is canceled and counts as failed.
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
        /// Time between two looks at the database, for endpoints that somebody turned on or events that are to be
        /// replayed.
        package var look = Duration.seconds(10)
        /// Pause after a failure of the store.
        package var storagePause = Duration.seconds(1)
        /// Number of events in one read.
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

    /// Registers new endpoints. They get all events from now on, even if `run()` comes later.
    package func makeKnown() async {
        // A failure here is repeated, and reported, by `run()`.
        for endpoint in endpoints { _ = try? await store.webhook(endpoint.key) }
    }

    /// Runs until the service stops. Calls that are on their way are finished, and their results stored.
    package func run() async throws {
        await withDiscardingTaskGroup { group in
            for endpoint in endpoints {
                group.addTask { await WebhookCourier(endpoint, self).run() }
            }
        }
    }
}
