import Hummingbird
import LiveActivityStorage

extension Responder {
    /// Which calls a listener answers.
    package enum Door: Sendable {
        case api
        /// The listener of `metrics.listen`: for whoever watches the server, and for nothing else.
        case watchers
    }

    /// The call that may have a listener of its own.
    private static let metricsPath = "/metrics"
    private static let watched: Set<String> = [metricsPath, "/healthz", "/readyz"]

    /// A call that this listener does not answer does not exist on it.
    func check(_ route: Route) throws(Problem) {
        let path = route.path.description
        switch door {
        case .watchers:
            guard !Self.watched.contains(path) else { return }
            throw Problem(.notFound, "this address answers /metrics, /healthz and /readyz alone")
        case .api:
            guard path == Self.metricsPath, services.metrics?.listensApart == true else { return }
            throw Problem(.notFound, "metrics have an address of their own", fix: "ask at `metrics.listen`")
        }
    }

    /// A call without a caller: its answer is shared, and so many wait for it at most.
    func answerOpen(
        _ route: Route, _ request: Request, _ handler: @Sendable (Services) async throws(Problem) -> Answer
    ) async throws(Problem) -> Answer {
        let place = try services.admission.enter(open: route)
        defer { withExtendedLifetime(place) {} }
        if route.path.description == Self.metricsPath, services.metrics?.needsKey == true {
            try Self.checkMayReadMetrics(try await authenticate(request))
        }
        _ = try Query(request.uri.query, known: route.query)
        return try await handler(services)
    }

    /// The numbers are those of all apps, so a key of any app will do.
    private static func checkMayReadMetrics(_ caller: Caller) throws(Problem) {
        if case .key(let key) = caller, key.scope.covers(.read) { return }
        throw Problem(
            .scopeMissing, "metrics need a key of the scope `read`", expected: "read",
            fix: "make one: islet keys create --app APP --scope read",
            headers: [.wwwAuthenticate: #"Bearer realm="islet", error="insufficient_scope", scope="read""#])
    }
}
