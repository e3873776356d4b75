import HTTPTypes
import LiveActivityStorage

/// Whether the server runs, whether it can work, and how it does. None needs a key, and none says whose work it is.
enum HealthCalls {
    private struct Status: Encodable {
        let status: String
    }

    /// `GET /healthz`: 200 as long as the process answers.
    @Sendable static func alive(_ services: Services) async throws(Problem) -> Answer {
        try Answer(Status(status: "ok"))
    }

    /// `GET /readyz`: 200 when the store answers, else 503 `not_ready`.
    @Sendable static func ready(_ services: Services) async throws(Problem) -> Answer {
        do throws(Problem) {
            try await services.ask { () async throws(StorageError) in try await services.store.check() }
        } catch {
            throw Problem(.notReady, "the database does not answer", headers: [.retryAfter: "5"])
        }
        return try Answer(Status(status: "ready"))
    }

    /// `GET /metrics`: every number of `docs/metrics.md` in the text format of Prometheus, or 404 when turned off.
    @Sendable static func metrics(_ services: Services) async throws(Problem) -> Answer {
        guard let sources = services.metrics else {
            throw Problem(.notFound, "metrics are turned off", fix: "set `metrics: true` in the configuration")
        }
        let text = await MetricsPage(sources: sources, services: services).text()
        return Answer(text: text, contentType: PrometheusText.contentType)
    }
}
