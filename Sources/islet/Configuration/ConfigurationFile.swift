import JSONText
import LiveActivityAPI

/// The contents of `islet.yaml` as written. `Settings` holds what they mean.
struct ConfigurationFile: Decodable {
    var listen: String?
    var tls: TLS?
    var limits: Limits?
    var storage: String?
    var durability: String?
    var tokenKeys: TokenKeys?
    var nodes: Nodes?
    var metrics: Metrics?
    var console: Bool?
    var tracing: Tracing?
    var connections: Connections?
    var keep: Keep?
    var refreshesPerSecond: Int?
    var apps: [App]

    struct TokenKeys: Decodable {
        var file: String?
        var environment: String?
    }

    struct Nodes: Decodable {
        var listen: String
        var address: String?
        var trustRoots: String?
    }

    struct Metrics: Decodable {
        var served: Bool?
        var listen: String?
        var needsKey: Bool?
    }

    struct Tracing: Decodable {
        var endpoint: String
        var share: Double?
    }

    struct TLS: Decodable {
        var certificate: String
        var key: String
    }

    struct Limits: Decodable {
        var requestsPerSecond: Rate?
        var requestsPerSecondPerDevice: Rate?
        var joinsPerMinutePerAddress: Rate?
        var openRequests: Int?
        var connections: Int?
        var connectionsPerAddress: Int?
    }

    /// A number of calls per second or minute, or no limit.
    enum Rate: Decodable {
        case off
        case calls(Int)

        init(from decoder: any Decoder) throws {
            switch try JSONValue(from: decoder) {
            case .string("off"): self = .off
            case let value:
                guard let number = value.int else {
                    throw DecodingError.dataCorrupted(
                        .init(codingPath: decoder.codingPath, debugDescription: "a whole number, or `off`"))
                }
                self = .calls(number)
            }
        }
    }

    struct Connections: Decodable {
        var maximum: Int?
        var idleLifetime: APIDuration?
        var queuedPushes: Int?
    }

    struct Keep: Decodable {
        var historyDays: Int?
        var endedDays: Int?
        var signedOutDays: Int?
        var silentDays: Int?
        var credentialDays: Int?
        var eventDays: Int?
    }

    struct App: Decodable {
        var bundleID: String
        var apns: Environments
        var people: People?
        var activities: [Activity]
        var webhooks: [Webhook]?
    }

    struct Webhook: Decodable {
        var name: String
        var url: String
        var secretFile: String?
        var secretEnvironment: String?
        var kinds: [String]?
        var timeout: APIDuration?
        var allowPrivate: Bool?
    }

    struct People: Decodable {
        var issuers: [String]
        var audience: String
        var secretFile: String?
        var secretEnvironment: String?
        var keyFile: String?
        var jwks: JWKS?
        var algorithms: [String]?
        var user: String?
        var leeway: APIDuration?
    }

    struct JWKS: Decodable {
        var url: String
        var refresh: APIDuration?
        var allowPrivate: Bool?
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
        var channelEndpoint: String?
        var trustRoots: String?
        /// Decoded only so that the error can explain why APNs certificates cannot work here.
        var certificateFile: String?
    }

    struct Activity: Decodable {
        var type: String
        var attributesType: String
        var activityIDAttribute: String?
        var contract: String?
        var contracts: [ContractOfBuilds]?
        var policy: Policy?
        var provider: Provider?
        var `public`: Bool?
        var view: View?
    }

    struct View: Decodable {
        var title: String?
        var subtitle: String?
        var progress: String?
        var countdown: String?
        var image: String?
    }

    struct ContractOfBuilds: Decodable {
        var builds: String?
        var file: String
    }

    struct Provider: Decodable {
        var url: String
        var secretFile: String?
        var secretEnvironment: String?
        var timeout: APIDuration?
        var allowPrivate: Bool?
    }

    struct Policy: Decodable {
        var endAfter: APIDuration?
        var coalescingWindow: APIDuration?
        var startGrace: APIDuration?
        var startWindow: APIDuration?
        var startStaleAfter: APIDuration?
        var staleAfter: APIDuration?
        var highPriorityInterval: APIDuration?
        var highWhen: HighWhen?
        var startAlert: Alert?
        var fallback: Alert?
        var reusable: Bool?
        var start: ActivityRequest.Start?
        var restart: ActivityRequest.Restart?
        var dismissAfter: APIDuration?
        var quietHours: QuietHours?
        var renewal: Bool?
        var authority: String?
        var atCeiling: String?
        var ceiling: Int?
        var join: String?
        var delivery: String?
        var channelStorage: String?
        var channelAlerts: String?
        var budgets: Budgets?
    }

    struct QuietHours: Decodable {
        var from: String
        var to: String
        var zone: String?
        var holdAlerts: Bool?
    }

    struct Budgets: Decodable {
        var highPerHour: Int?
        var highPerDay: Int?
        var frequentPerHour: Int?
        var frequentPerDay: Int?
        var startsPerHour: Int?
        var startsPerDay: Int?
        var reserve: Int?
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
