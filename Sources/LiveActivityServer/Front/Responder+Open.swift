import Hummingbird
import LiveActivityStorage

extension Responder {
    /// The set of calls that a listener answers.
    package enum Door: Sendable {
        case api
        /// The calls of the separate listener `metrics.listen`, for monitoring only.
        case watchers
    }

    /// The path of the call that may have a separate listener.
    private static let metricsPath = "/metrics"
    private static let watched: Set<String> = [metricsPath, "/healthz", "/readyz"]

    /// Refuses a call that this listener does not answer with `not_found`.
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

    /// Answers a call that needs no caller. Its answer is shared, and the number of waiting requests is limited.
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

    /// Checks the caller's scope. The metrics cover all apps, so a key of any app is accepted.
    private static func checkMayReadMetrics(_ caller: Caller) throws(Problem) {
        if case .key(let key) = caller, key.scope.covers(.read) { return }
        throw Problem(
            .scopeMissing, "metrics need a key of the scope `read`", expected: "read",
            fix: "make one: islet keys create --app APP --scope read",
            headers: [.wwwAuthenticate: #"Bearer realm="islet", error="insufficient_scope", scope="read""#])
    }
}
