import APNSModel
import CoreMetrics
import HTTPTypes
import LiveActivityCore
import Synchronization

/// Counters of requests by route template, method and status.
final class HTTPMetrics: Sendable {
    private struct Key: Hashable {
        let route: String
        let method: String
        let status: String
    }

    /// The route label of requests that match no call.
    static let noRoute = "none"
    private static let methods: Set<HTTPRequest.Method> = [.get, .head, .put, .post, .patch, .delete, .options]

    private let factory: any MetricsFactory
    // Bounded, because routes come from the table, and methods and statuses from closed lists.
    private let requests = Mutex<[Key: Counter]>([:])
    private let seconds = Mutex<[String: CoreMetrics.Timer]>([:])

    init(_ factory: any MetricsFactory) {
        self.factory = factory
    }

    /// - Parameter status: `nil` if the connection ended before the answer.
    func answered(_ method: HTTPRequest.Method, route: String?, status: Int?, after duration: Duration) {
        let key = Key(
            route: route ?? Self.noRoute,
            method: Self.methods.contains(method) ? method.rawValue : MetricsRegistry.overflow,
            status: status.map(String.init) ?? "aborted")
        counter(key).increment()
        timer(key.route).recordNanoseconds(duration.wholeNanoseconds)
    }

    private func counter(_ key: Key) -> Counter {
        requests.withLock { known in
            if let counter = known[key] { return counter }
            let labels = zip(Metric.httpRequests.labels, [key.route, key.method, key.status]).map { ($0, $1) }
            let counter = Counter(label: Metric.httpRequests.name, dimensions: labels, factory: factory)
            known[key] = counter
            return counter
        }
    }

    private func timer(_ route: String) -> CoreMetrics.Timer {
        seconds.withLock { known in
            if let timer = known[route] { return timer }
            let labels = [(Metric.httpRequestSeconds.labels[0], route)]
            let timer = CoreMetrics.Timer(label: Metric.httpRequestSeconds.name, dimensions: labels, factory: factory)
            known[route] = timer
            return timer
        }
    }
}
