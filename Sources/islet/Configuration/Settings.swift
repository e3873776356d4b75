import APNSClient
import APNSModel
import EmbeddedIslet
import Foundation
import JSONText
import LiveActivityAPI
import LiveActivityCore
import LiveActivityServer
import LiveActivityStorage
import StorageSQL
import StorageSQLite

/// The checked settings of a server.
struct Settings {
    var host: String
    var port: Int
    /// Certificates of the HTTP API. With `nil`, it uses plain HTTP.
    var certificates: Certificates?
    /// Limits of the HTTP API.
    var limits: LiveActivityServer.Limits
    var database: DatabaseLocation
    /// `true` if a change is answered only when a standby of PostgreSQL has it.
    var needsStandby: Bool
    /// Source of the keys that seal push tokens.
    var tokenKeys: TokenKeySource
    /// Addresses as one of several nodes; `nil`: this process is the only one.
    var nodes: NodeSettings?
    var metrics: Metrics
    /// `true` if `/` is the console.
    var console: Bool
    /// Destination of spans; `nil`: there are no spans.
    var tracing: Tracing?
    /// Options of the connections to APNs.
    var connections: APNSClient.Options
    /// Retention times.
    var keep: PruneLimits
    /// Idle time after which the server rejects a phone's own credential.
    var credentialIdleLimit: Duration
    var apps: [AppSettings]
    /// Sign-in of each app's people.
    var people: [BundleID: ServerParts.AppPeople]
    var routes: [APNSClient.Route]
    /// Keys by app and environment, for commands that sign something.
    var keys: [KeySettings]
    /// Backends that compute states.
    var backends: [ServerParts.Backend]
    /// Endpoints that receive events.
    var webhooks: [ServerParts.Webhook]
    /// Maximum number of people per second that each type computes in the background, without a waiting caller.
    var refreshesPerSecond: Int

    /// Returns the keys whose values differ and that a running server cannot change.
    func needingRestart(since started: Settings) -> [String] {
        var keys: [String] = []
        func compare<Value: Equatable>(_ key: String, _ value: (Settings) -> Value) {
            if value(self) != value(started) { keys.append(key) }
        }
        compare("listen") { "\($0.host):\($0.port)" }
        compare("tls") { $0.certificates?.files }
        compare("limits", \.limits)
        compare("storage", \.database)
        compare("durability", \.needsStandby)
        compare("tokenKeys", \.tokenKeys.place)
        compare("nodes", \.nodes)
        compare("metrics.listen") { $0.metrics.listener.map { "\($0.host):\($0.port)" } }
        compare("tracing", \.tracing)
        // A node that does not own the database answers it by itself.
        if nodes != nil { compare("metrics.served", \.metrics.isServed) }
        return keys
    }

    struct Metrics {
        /// `true` if the server answers `GET /metrics`.
        var isServed: Bool
        var needsKey: Bool
        /// Separate address for `GET /metrics`.
        var listener: (host: String, port: Int)?
    }

    struct Tracing: Equatable {
        /// An http or https URL.
        var endpoint: String
        var share: Double
    }

    /// `true` if only this machine can reach the HTTP API.
    var isLoopback: Bool { Self.isLoopback(host) }

    static func isLoopback(_ host: String) -> Bool {
        host == "::1" || host.lowercased() == "localhost"
            || host.hasPrefix("127.") && host.allSatisfy { $0.isNumber || $0 == "." }
    }

    struct KeySettings {
        var app: BundleID
        var environment: APNSEnvironment
        var key: ProviderKey
        var route: APNSClient.Route
        /// Pointer to the key's place in the configuration.
        var place: String
        var source: Source

        /// Origin of the `.p8` file's text.
        enum Source: Equatable {
            case file(String)
            case variable(String)
        }
    }
}
