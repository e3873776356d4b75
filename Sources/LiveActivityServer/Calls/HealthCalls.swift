import APNSModel
import HTTPTypes
import LiveActivityAPI
import LiveActivityCore
import LiveActivityStorage

/// Whether the server runs, whether it can work, and how it does. None needs a key, and none says whose work it is.
enum HealthCalls {
    private struct Status: Encodable {
        let status: String
    }

    /// The server is ready while it can take what should be shown: what waits for APNs or for a key is kept.
    private struct Readiness: Encodable {
        let status = "ready"
        let routes: [Route]
        let damagedRows: Int?

        struct Route: Encodable {
            let app: String
            let environment: String
            /// `halted` (a person must mend it) or `inTrouble` (APNs or the network; it goes on by itself).
            let state: String
            let code: String
            let text: String
            let since: Instant
            let nextAttemptAt: Instant
        }
    }

    /// `GET /healthz`: 200 as long as the process answers.
    @Sendable static func alive(_ services: Services) async throws(Problem) -> Answer {
        try Answer(Status(status: "ok"))
    }

    /// `GET /readyz`: 200 when the store answers, else 503 `not_ready`. Routes that are not well, and rows that cannot
    /// be read, are named and leave the server ready: other apps' work goes on, and a restart would mend nothing.
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

    /// How long one page is everybody's: reading it counts rows.
    static let pageFreshness = Duration.seconds(1)

    /// `GET /metrics`: every number of `docs/metrics.md` in the text format of Prometheus, or 404 when turned off.
    /// Whoever asks within a second gets the same page.
    @Sendable static func metrics(_ services: Services) async throws(Problem) -> Answer {
        guard let sources = services.metrics, sources.isServed else {
            throw Problem(.notFound, "metrics are turned off", fix: "set `metrics: true` in the configuration")
        }
        let text = await services.metricsPage.value(at: services.time.monotonic()) {
            await MetricsPage(sources: sources, services: services).text()
        }
        return Answer(text: text, contentType: PrometheusText.contentType)
    }

    /// `GET /openapi.json`: what this API is, for programs. The same while the process lives.
    @Sendable static func description(_ services: Services) async throws(Problem) -> Answer {
        var answer = Answer(bytes: OpenAPIDocument.bytes, contentType: "application/json")
        answer.headers[.cacheControl] = "public, max-age=3600"
        return answer
    }
}
