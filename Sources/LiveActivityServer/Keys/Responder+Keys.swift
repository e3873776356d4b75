import APNSModel
import HTTPTypes
import Hummingbird
import LiveActivityCore
import LiveActivityStorage

extension Responder {
    /// The key of a request (RFC 6750).
    ///
    /// Unknown, wrong and revoked look the same, in words and in time.
    func authenticate(_ request: Request) async throws(Problem) -> APIKeyRecord {
        guard let header = request.headers[.authorization] else {
            throw Problem(
                .keyMissing, "this call needs an API key",
                fix: "send `Authorization: Bearer KEY`; `islet keys create` makes one",
                headers: [.wwwAuthenticate: #"Bearer realm="islet""#])
        }
        let parts = header.split(separator: " ", maxSplits: 1)
        let invalid = Problem(
            .keyInvalid, "this key is unknown, wrong or revoked",
            headers: [.wwwAuthenticate: #"Bearer realm="islet", error="invalid_token""#])
        guard parts.count == 2, parts[0].lowercased() == "bearer", let key = APIKey(String(parts[1])) else {
            throw invalid
        }
        let record = try await services.ask { () async throws(StorageError) in try await services.store.key(key.id) }
        // Proven first, so that the time tells nothing about which keys there are.
        guard key.isProven(by: record), let record, record.revokedAt == nil else { throw invalid }
        return record
    }

    /// The app of the key, when it may make a call that needs this scope.
    func authorize(_ key: APIKeyRecord, for scope: APIKeyRecord.Scope) throws(Problem) -> AppSettings {
        guard key.scope.covers(scope) else {
            throw Problem(
                .scopeMissing,
                "this call needs a key of the scope `\(scope.rawValue)`; this one has `\(key.scope.rawValue)`",
                expected: scope.rawValue, given: key.scope.rawValue,
                fix: "make one: islet keys create --app \(key.app) --scope \(scope.rawValue)",
                headers: [
                    .wwwAuthenticate: #"Bearer realm="islet", error="insufficient_scope", scope="\#(scope.rawValue)""#
                ])
        }
        guard let app = services.apps[key.app] else {
            throw Problem(
                .appNotConfigured, "this key is for the app \(key.app), which this server is not configured for",
                fix: "add the app to the configuration, or use a key of another app")
        }
        return app
    }
}
