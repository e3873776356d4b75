import APNSClient
import APNSModel
import EmbeddedIslet
import Foundation
import JSONText
import LiveActivityAPI
import LiveActivityCore
import LiveActivityStorage

/// What the server runs with.
struct Settings {
    var host: String
    var port: Int
    var databasePath: String
    /// `GET /metrics` answers.
    var metrics: Bool
    /// The pool of connections to APNs.
    var connections: APNSClient.Options
    /// How long what is kept is kept.
    var keep: PruneLimits
    var apps: [AppSettings]
    var routes: [APNSClient.Route]
    /// The keys by app and environment, for the commands that sign something.
    var keys: [KeySettings]
    /// The backends that compute states.
    var backends: [ServerParts.Backend]
    /// People of a type that are computed in a second, of those whom nobody waits for.
    var refreshesPerSecond: Int

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
