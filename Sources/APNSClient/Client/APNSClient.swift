public import APNSModel
public import Logging
import NIOPosix
import Synchronization

/// A client that sends pushes to APNs.
///
/// The client keeps a few HTTP/2 connections for each key and endpoint, and authenticates with provider tokens. It
/// keeps every push within its time limits.
///
/// The client accepts pushes as soon as it exists, and connects when pushes need a connection. Call `run()` in the
/// service group or task that owns the client, and cancel that task to stop the client in order. A program without such
/// an owner calls `shutdown(within:)`.
///
/// Every answer of APNs is a value (`PushAnswer`), also a refusal. A push without an answer is an error
/// (`PushFailure`).
///
/// The client repeats a push only after a definite "not processed":
///
/// - a stream that the peer refused
/// - a stream that a GOAWAY excludes
/// - an expired provider token
/// - an answer that asks for a new connection
///
/// It repeats a push a few times at most, and never after `Push.sendBefore`. It never repeats a push that was sent and
/// got no answer. That push ends as `unknownFate`, and the caller decides.
///
/// High-priority pushes leave before low-priority ones, except for a share that `Options.lowPriorityTurn` reserves for
/// low priority. Pushes of one priority leave in the order in which they were submitted. APNs guarantees no order of
/// delivery.
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
    /// The key of the route if there is exactly one. Its pool is found without hashing.
    private let onlyKey: RouteKey?
    private let pools: [ConnectionPool]
    let broadcastRoutes: [RouteKey: BroadcastRoute]
    private let callPools: [CallPool]
    let options: Options
    let time: TimeSource
    private let observer: (any APNSClientObserver)?
    private let stopSignal = AsyncStream<Never>.makeStream()
    private let isRunning = Mutex(false)

    /// Creates a client. It connects when the first push needs a connection.
    ///
    /// - Parameters:
    ///   - routes: The routes of the apps, one for each app and environment.
    ///   - time: The clocks. Tests pass their own. `Push.sendBefore` and `Push.answerBy` are instants of its monotonic
    ///     clock.
    ///   - options: The limits and times.
    ///   - logger: Receives `debug` messages about connections, never a token, key or payload. The default logs
    ///     nothing.
    ///   - observer: Receives the client's events, if given.
    ///   - dice: Returns random numbers from 0 up to, but not including, 1. They determine the jitter of waits.
    /// - Throws: `APNSClientError` if two routes have the same app and environment, if trust roots cannot be read, or
    ///   if an option is outside its range.
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
                    .duplicateRoute, "\(route.bundleID) has more than one route for \(route.environment.rawValue)")
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

    /// Sends one push and waits for the answer of APNs, at most until `Push.answerBy`.
    ///
    /// Canceling the task does not withdraw the push. Only the push's time limits bound the wait.
    ///
    /// - Throws: `PushFailure` if there is no answer.
    public func send(_ push: consuming Push) async throws(PushFailure) -> PushAnswer {
        let traces = observer == nil ? [] : traces([copy push])
        let batch = PendingBatch(push, traces: traces)
        func begin(_ continuation: PendingBatch.Continuation) {
            batch.continuation = continuation
            submit(batch)
        }
        #if DEBUG
            let result = await withCheckedContinuation(begin)
        #else
            let result = await withUnsafeContinuation(begin)
        #endif
        return try result.get()
    }

    /// Sends many pushes. The client calls `completion` exactly once for each push, with the push's index in `pushes`.
    ///
    /// The calls are made on an event loop of NIO. For a push that is not accepted, the call is made on the calling
    /// thread. The closure must not block. It may submit further pushes.
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
            // Consecutive pushes of one app and environment go to their pool together.
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

    // MARK: Lifecycle

    /// Runs until the task is canceled or `shutdown(within:)` is called, then stops the client in order with
    /// `Options.shutdownGrace`.
    ///
    /// The client accepts pushes before this call. A program that calls `shutdown(within:)` need not call this method.
    ///
    /// - Throws: `APNSClientError` (`alreadyRunning`) if the method was called before.
    public func run() async throws {
        let isFirst = isRunning.withLock { isRunning in
            defer { isRunning = true }
            return !isRunning
        }
        guard isFirst else { throw APNSClientError(.alreadyRunning, "run() was called before") }
        // The stream also ends when the task is canceled.
        for await _ in stopSignal.stream {}
        await shutdown(within: options.shutdownGrace)
    }

    /// Stops the client in order: fails waiting pushes with `stopping`, waits for open answers, and closes the
    /// connections.
    ///
    /// A push without an answer at the end of `grace` ends as `unknownFate`. Later pushes fail with `stopping`. The
    /// method may be called more than once. It returns when all connections are closed.
    public func shutdown(within grace: Duration) async {
        for pool in pools { pool.stop(within: grace) }
        for pool in callPools { pool.stop(within: grace) }
        for pool in pools { await pool.stopped() }
        for pool in callPools { await pool.stopped() }
        stopSignal.continuation.finish()
    }

    /// The state of the connections, one element per key and endpoint.
    public var status: [RouteStatus] { pools.map(\.status) }
}
