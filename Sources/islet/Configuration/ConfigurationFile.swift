import JSONText
import LiveActivityAPI

/// `islet.yaml` as it is written; what it means is `Settings`.
struct ConfigurationFile: Decodable {
    var listen: String?
    var storage: String?
    var metrics: Bool?
    var refreshesPerSecond: Int?
    var apps: [App]

    struct App: Decodable {
        var bundleID: String
        var apns: Environments
        var activities: [Activity]
    }

    struct Environments: Decodable {
        var sandbox: Key?
        var production: Key?
    }

    struct Key: Decodable {
        var keyFile: String?
        var keyEnvironment: String?
        var keyID: String?
        var teamID: String?
        var endpoint: String?
        var trustRoots: String?
        /// Taken only to say why it cannot work.
        var certificateFile: String?
    }

    struct Activity: Decodable {
        var type: String
        var attributesType: String
        var activityIDAttribute: String?
        var policy: Policy?
        var provider: Provider?
    }

    struct Provider: Decodable {
        var url: String
        var secretFile: String?
        var secretEnvironment: String?
        var timeout: APIDuration?
        var allowPrivate: Bool?
    }

    struct Policy: Decodable {
        var coalescingWindow: APIDuration?
        var startGrace: APIDuration?
        var startWindow: APIDuration?
        var startStaleAfter: APIDuration?
        var staleAfter: APIDuration?
        var highPriorityInterval: APIDuration?
        var highWhen: HighWhen?
        var startAlert: Alert?
        var reusable: Bool?
        var start: ActivityRequest.Start?
        var restart: ActivityRequest.Restart?
    }

    struct HighWhen: Decodable {
        var pointer: String
        var values: [JSONValue]
    }

    struct Alert: Decodable {
        var title: AlertText
        var body: AlertText?
        var sound: String?
    }
}
