import APNSModel
import HTTPTypes
import LiveActivityAPI
import LiveActivityCore
import LiveActivityStorage

/// The calls about the server's health. They need no key, and do not reveal whose work the server does.
enum HealthCalls {
    private struct Status: Encodable {
        let status: String
    }

    /// The answer of a server that is ready. It is ready while it can accept states: work that waits for APNs or a key
    /// is kept.
    private struct Readiness: Encodable {
        let status = "ready"
        let routes: [Route]
        let damagedRows: Int?

        struct Route: Encodable {
            let app: String
            let environment: String
            /// `halted` (a person must repair it) or `inTrouble` (APNs or the network; it continues by itself).
            let state: String
            let code: String
            let text: String
            let since: Instant
            let nextAttemptAt: Instant
        }
    }

    /// `GET /healthz`: answers 200 as long as the process runs.
    @Sendable static func alive(_ services: Services) async throws(Problem) -> Answer {
        try Answer(Status(status: "ok"))
    }

    /// `GET /readyz`: answers 200 if the store answers, otherwise 503 `not_ready`.
    ///
    /// Routes with a problem and unreadable rows are reported, but the server stays ready. The work of other apps goes
    /// on, and a restart would not help.
    @Sendable static func ready(_ services: Services) async throws(Problem) -> Answer {
        do throws(Problem) {
            try await services.ask { () async throws(StorageError) in try await services.store.check() }
        } catch {
            throw Problem(.notReady, "the database does not answer", headers: [.retryAfter: "5"])
        }
        let damaged = try? await services.store.statistics().damagedRows
        let routes = services.delivery.routes().map { route, status in
            Readiness.Route(
                app: route.app.text, environment: route.environment.rawValue,
                state: status.isHalt ? "halted" : "inTrouble", code: status.reason.code.rawValue,
                text: status.reason.text, since: Instant(status.openSince), nextAttemptAt: Instant(status.nextProbeAt))
        }
        return try Answer(
            Readiness(
                routes: routes.sorted { ($0.app, $0.environment) < ($1.app, $1.environment) },
                damagedRows: damaged.flatMap { $0 > 0 ? $0 : nil }))
    }

    /// Time for which all readers share one page, because reading it counts rows.
    static let pageFreshness = Duration.seconds(1)

    /// `GET /metrics`: returns all metrics of `docs/metrics.md` in Prometheus's text format.
    ///
    /// Answers 404 if metrics are turned off. All requests within a second get the same page.
    @Sendable static func metrics(_ services: Services) async throws(Problem) -> Answer {
        guard let sources = services.metrics, sources.isServed else {
            throw Problem(.notFound, "metrics are turned off", fix: "set `metrics: true` in the configuration")
        }
        let text = await services.metricsPage.value(at: services.time.monotonic()) {
            await MetricsPage(sources: sources, services: services).text()
        }
        return Answer(text: text, contentType: PrometheusText.contentType)
    }

    /// `GET /openapi.json`: returns the API's description for programs. It does not change while the process runs.
    @Sendable static func description(_ services: Services) async throws(Problem) -> Answer {
        var answer = Answer(bytes: OpenAPIDocument.bytes, contentType: "application/json")
        answer.headers[.cacheControl] = "public, max-age=3600"
        return answer
    }
}
