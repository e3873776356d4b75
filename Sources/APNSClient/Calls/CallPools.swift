import APNSModel
import NIOPosix

/// Creates the call pools, one for each key, endpoint and trust roots.
struct CallPools {
    private struct Key: Hashable {
        let key: ProviderKey
        let endpoint: APNSClient.Endpoint
        let trustRoots: APNSClient.TrustRoots
    }

    let options: APNSClient.Options
    let time: TimeSource
    let dice: @Sendable () -> Double
    private var pools: [Key: CallPool] = [:]

    init(options: APNSClient.Options, time: TimeSource, dice: @escaping @Sendable () -> Double) {
        self.options = options
        self.time = time
        self.dice = dice
    }

    var all: [CallPool] { Array(pools.values) }

    mutating func route(for route: APNSClient.Route) -> BroadcastRoute {
        let endpoints = route.broadcast
        return BroadcastRoute(
            send: pool(route, endpoints.send), sendFallback: endpoints.sendFallback.map { pool(route, $0) },
            management: pool(route, endpoints.management))
    }

    private mutating func pool(_ route: APNSClient.Route, _ endpoint: APNSClient.Endpoint) -> CallPool {
        let key = Key(key: route.key, endpoint: endpoint, trustRoots: route.trustRoots)
        if let known = pools[key] { return known }
        let pool = CallPool(
            CallPool.Settings(
                endpoint: endpoint, trustRoots: route.trustRoots, proxy: options.proxy,
                signer: ProviderTokenSigner(route.key), time: time, connectTimeout: options.connectTimeout,
                idleLifetime: options.idleConnectionLifetime, staleSilence: options.verifyAfterIdle,
                busySilence: options.keepAliveWhileBusy, pingTimeout: options.keepAliveTimeout, dice: dice),
            backoff: Backoff(first: options.reconnectDelay, longest: options.maximumReconnectDelay),
            on: MultiThreadedEventLoopGroup.singleton)
        pools[key] = pool
        return pool
    }
}
