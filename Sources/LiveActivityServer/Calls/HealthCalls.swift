import HTTPTypes
import LiveActivityStorage

/// Whether the server runs, and whether it can work. Neither needs a key, and neither says anything else.
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
}
