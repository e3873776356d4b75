import APNSClient
import APNSModel
import EmbeddedIslet
import Foundation
import JSONText
import LiveActivityAPI
import LiveActivityCore
import LiveActivityServer
import LiveActivityStorage
import StorageSQLite

/// What the server runs with.
struct Settings {
    var host: String
    var port: Int
    /// The front speaks TLS with them.
    var certificates: Certificates?
    /// What the HTTP API takes at most.
    var limits: LiveActivityServer.Limits
    var databasePath: String
    /// Where the keys are that seal push tokens.
    var tokenKeys: TokenKeySource
    var metrics: Metrics
    /// `/` is the console.
    var console: Bool
    /// Where spans go.
    var tracing: Tracing?
    /// The pool of connections to APNs.
    var connections: APNSClient.Options
    /// How long what is kept is kept.
    var keep: PruneLimits
    /// How long a phone's own credential may be unused.
    var credentialIdleLimit: Duration
    var apps: [AppSettings]
    /// How the people of apps prove who they are.
    var people: [BundleID: ServerParts.AppPeople]
    var routes: [APNSClient.Route]
    /// The keys by app and environment, for the commands that sign something.
    var keys: [KeySettings]
    /// The backends that compute states.
    var backends: [ServerParts.Backend]
    /// The endpoints that events are told to.
    var webhooks: [ServerParts.Webhook]
    /// People of a type that are computed in a second, of those whom nobody waits for.
    var refreshesPerSecond: Int

    struct Metrics {
        /// `GET /metrics` answers.
        var isServed: Bool
        var needsKey: Bool
        /// An address of its own.
        var listener: (host: String, port: Int)?
    }

    struct Tracing {
        /// An http or https URL.
        var endpoint: String
        var share: Double
    }

    /// No other machine reaches the address.
    var isLoopback: Bool {
        host == "::1" || host.lowercased() == "localhost"
            || host.hasPrefix("127.") && host.allSatisfy { $0.isNumber || $0 == "." }
    }

    struct KeySettings {
        var app: BundleID
        var environment: APNSEnvironment
        var key: ProviderKey
        var route: APNSClient.Route
        /// Where in the configuration it stands.
        var place: String
        var source: Source

        /// Where the text of the `.p8` file comes from.
        enum Source: Equatable {
            case file(String)
            case variable(String)
        }
    }
}
