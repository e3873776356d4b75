public import APNSModel
public import Logging
import NIOPosix
import Synchronization

/// Sends pushes to APNs: a few HTTP/2 connections per key and endpoint, token authentication, each push within its
/// limits.
///
/// It works from the moment it is made: connections are made when pushes need them. `run()` adds an orderly end: give
/// it to the service group or task that owns the client, and cancel that. A program without one calls
/// `shutdown(within:)`.
///
/// An answer of APNs, refusals included, is a value (`PushAnswer`); only what has no answer fails (`PushFailure`). The
/// client itself sends a push again only after a definite "not processed" (a refused stream, GOAWAY, an expired
/// provider token, a request for a new connection), a few times at most and never past `Push.sendBefore`. What left
/// without an answer is never sent again: it ends as `unknownFate`, and the caller decides.
///
/// High priority pushes leave before low ones that wait, but for a share that `Options` leaves to these. Pushes of one
/// priority leave in the order in which they were submitted; APNs promises no order.
public final class APNSClient: PushSender, Sendable {
    struct RouteKey: Hashable {
        let bundleID: BundleID
        let environment: APNSEnvironment

        func fits(_ request: borrowing PushRequest) -> Bool {
            request.environment == environment && request.topic.bundleID == bundleID
        }
    }

    private struct PoolKey: Hashable {
        let key: ProviderKey
        let endpoint: Endpoint
        let trustRoots: TrustRoots
    }

    private let routes: [RouteKey: ConnectionPool]
    /// That of the only route, if there is one alone: found without hashing.
    private let onlyKey: RouteKey?
    private let pools: [ConnectionPool]
    let broadcastRoutes: [RouteKey: BroadcastRoute]
    private let callPools: [CallPool]
    let options: Options
    let time: TimeSource
    private let observer: (any APNSClientObserver)?
    private let stopSignal = AsyncStream<Never>.makeStream()
    private let isRunning = Mutex(false)

    /// - Parameters:
    ///   - time: The clocks; tests give their own. `Push.sendBefore` and `answerBy` are instants of its monotonic one.
    ///   - logger: Gets `debug` messages about connections, never a token, key or payload. Without one, nothing.
    ///   - observer: Hears what the client does; nobody when `nil`.
    ///   - dice: From 0 up to 1, for waits.
    /// - Throws: `APNSClientError`: two routes for one app and environment, trust roots that cannot be read, an option
    ///   outside its range.
    public init(
        routes: [Route], time: TimeSource = APNSClient.liveTime, options: Options = Options(),
        logger: Logger = Logger(label: "APNSClient", factory: { _ in SwiftLogNoOpLogHandler() }),
        observer: (any APNSClientObserver)? = nil,
        dice: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }
    ) throws(APNSClientError) {
        try options.validate()
        var byRoute: [RouteKey: ConnectionPool] = [:]
        var byKey: [PoolKey: ConnectionPool] = [:]
        var broadcasts: [RouteKey: BroadcastRoute] = [:]
        var calls = CallPools(options: options, time: time, dice: dice)
        for route in routes {
            let routeKey = RouteKey(bundleID: route.bundleID, environment: route.environment)
            guard byRoute[routeKey] == nil else {
                throw APNSClientError(
                    .duplicateRoute, "\(route.bundleID) has two routes for \(route.environment.rawValue); it needs one")
            }
            let poolKey = PoolKey(key: route.key, endpoint: route.endpoint, trustRoots: route.trustRoots)
            let pool: ConnectionPool
            if let known = byKey[poolKey] {
                pool = known
            } else {
                pool = try Self.makePool(route, time, options, logger, observer, dice)
            }
            byKey[poolKey] = pool
            byRoute[routeKey] = pool
            broadcasts[routeKey] = calls.route(for: route)
        }
        self.routes = byRoute
        onlyKey = byRoute.count == 1 ? byRoute.keys.first : nil
        pools = byKey.values.sorted { $0.status.endpoint.description < $1.status.endpoint.description }
        broadcastRoutes = broadcasts
        callPools = calls.all
        self.options = options
        self.time = time
        self.observer = observer
    }

    deinit {
        for pool in pools { pool.stop(within: .zero) }
        for pool in callPools { pool.stop(within: .zero) }
    }

    private static func makePool(
        _ route: Route, _ time: TimeSource, _ options: Options, _ logger: Logger,
        _ observer: (any APNSClientObserver)?, _ dice: @escaping @Sendable () -> Double
    ) throws(APNSClientError) -> ConnectionPool {
        let limits = ConnectionLimits(
            concurrentStreams: options.maximumConcurrentStreams, settingsTimeout: options.connectTimeout,
            busySilence: options.keepAliveWhileBusy, idleSilence: options.keepAliveWhileIdle,
            pingTimeout: options.keepAliveTimeout, staleSilence: options.verifyAfterIdle)
        let context = ConnectionContext(
            endpoint: route.endpoint, security: try TransportSecurity(route.trustRoots, host: route.endpoint.host),
            signer: ProviderTokenSigner(route.key), time: time, limits: limits, proxy: options.proxy,
            connectTimeout: options.connectTimeout,
            writeTimeout: options.writeTimeout, logger: logger, dice: dice, dateReceived: options.dateReceived)
        let machine = PoolMachine(
            .init(
                connections: options.maximumConnections, idleLifetime: options.idleConnectionLifetime,
                queue: .init(waiting: options.maximumQueuedPushes, lowPriorityTurn: options.lowPriorityTurn)),
            backoff: Backoff(first: options.reconnectDelay, longest: options.maximumReconnectDelay))
        return ConnectionPool(
            machine, key: route.key, context, on: MultiThreadedEventLoopGroup.singleton, observer: observer)
    }

    // MARK: Sending

    /// Sends one push and waits for APNs's answer, at the longest until `Push.answerBy`.
    ///
    /// Cancelling the task does not take the push back: its limits in time bound the wait.
    public func send(_ push: consuming Push) async throws(PushFailure) -> PushAnswer {
        let traces = observer == nil ? [] : traces([copy push])
        let batch = PendingBatch(push, traces: traces)
        let result = await withUnsafeContinuation { continuation in
            batch.continuation = continuation
            submit(batch)
        }
        return try result.get()
    }

    /// Sends many pushes; `completion` is called exactly once for each, with its index in `pushes`.
    ///
    /// It is called on an event loop of NIO, or on the calling thread for a push that is not taken, and must not block.
    /// It may submit further pushes.
    public func submit(_ pushes: [Push], completion: @escaping @Sendable (Int, Result<PushAnswer, PushFailure>) -> Void)
    {
        guard let first = pushes.first else { return }
        submit(PendingBatch(first, of: pushes, traces: traces(pushes), completion: completion))
    }

    private func traces(_ pushes: [Push]) -> [PushTrace] {
        guard let observer else { return [] }
        return pushes.map { PushTrace($0.request, observer, time) }
    }

    private func submit(_ batch: PendingBatch) {
        let indices = batch.indices
        var start = indices.lowerBound
        while start < indices.upperBound {
            // Those of one app in one environment that follow each other go to their pool at once.
            let key = batch.part(start) {
                RouteKey(bundleID: $0.request.topic.bundleID, environment: $0.request.environment)
            }
            var end = start + 1
            while end < indices.upperBound, batch.part(end, { key.fits($0.request) }) { end += 1 }
            if let pool = onlyKey == key ? pools.first : routes[key] {
                pool.submit(batch, start..<end)
            } else {
                let detail = "no key is configured for \(key.bundleID) in \(key.environment.rawValue)"
                for index in start..<end { Attempt(batch, index).fail(.notConfigured, detail) }
            }
            start = end
        }
    }

    // MARK: Life

    /// Runs until the task is cancelled or `shutdown(within:)` is called, then ends in order, as that does with
    /// `Options.shutdownGrace`.
    ///
    /// Pushes may be sent before it is called. It does not need to be called if `shutdown(within:)` is.
    ///
    /// - Throws: `APNSClientError` (`alreadyRunning`) when it was called before.
    public func run() async throws {
        let isFirst = isRunning.withLock { isRunning in
            defer { isRunning = true }
            return !isRunning
        }
        guard isFirst else { throw APNSClientError(.alreadyRunning, "run() was called before") }
        // Ends when the task is cancelled, too.
        for await _ in stopSignal.stream {}
        await shutdown(within: options.shutdownGrace)
    }

    /// Ends in order: answers what waits with `stopping`, waits for open answers, closes the connections.
    ///
    /// What has no answer when the time is over ends as `unknownFate`. Later pushes fail with `stopping`. May be called
    /// more than once; it returns when everything is closed.
    public func shutdown(within grace: Duration) async {
        for pool in pools { pool.stop(within: grace) }
        for pool in callPools { pool.stop(within: grace) }
        for pool in pools { await pool.stopped() }
        for pool in callPools { await pool.stopped() }
        stopSignal.continuation.finish()
    }

    /// How the connections do, one element per key and endpoint.
    public var status: [RouteStatus] { pools.map(\.status) }
}
