import APNSClient
import APNSModel
import EmbeddedIslet
import StorageSQL
import StorageSQLite

/// The facts that `islet doctor` gathers. `Diagnosis` derives the findings.
struct DoctorFacts {
    var configuration = ConfigurationFacts(file: "")
    /// `nil` if the configuration does not name a database.
    var database: DatabaseFacts?
    /// One for each type with a contract; `nil` if the database could not be opened.
    var contracts: [ContractFacts]? = []
    /// End of the validity of the server's own certificate; `nil` without a certificate.
    var certificateEndsAt: UnixTime?
    /// One for each key.
    var routes: [RouteFacts] = []
    /// Hosts that the server calls besides APNs.
    var addresses: [AddressFacts] = []
    var clock: ClockFacts
    var isOffline = false

    struct ConfigurationFacts {
        var file: String
        var problems: [String] = []
        var warnings: [String] = []
    }

    struct DatabaseFacts {
        /// What was found, which depends on what the database is.
        enum Look {
            case file(DatabaseInspection)
            case server(DatabaseServerLook)
        }

        var path: String
        var look: Look
        /// `true` if a standby must have each change.
        var needsStandby = false
    }

    struct ContractFacts: Sendable {
        var app: BundleID
        var type: String
        /// Number of running activities that were checked: the newest, up to `DriftLook.most`.
        var looked = 0
        /// `true` if there may be more activities of the type, because the search ended among those of other types.
        var isCut = false
        /// Number of activities that phones of the newest build could not decode.
        var unfit = 0
        /// One of them, with the reason.
        var example: String?
    }

    struct AddressFacts: Sendable {
        enum Kind { case people, provider, webhook }

        var kind: Kind
        /// Owner of the address, in words.
        var subject: String
        /// Scheme, host and port. The path is left out because it may be a secret.
        var origin: String
        /// Result of the check; `nil` if the address was not checked.
        var outcome: Outcome?

        enum Outcome: Equatable {
            /// The address is reachable, with a remark on the result.
            case good(String?)
            /// The name does not resolve, or resolves to an address that is not allowed.
            case place(String)
            case unreachable(String)
        }
    }

    struct ClockFacts {
        var wall: UnixTime
        /// `true` if the monotonic clock moved forward during the checks and never back.
        var monotonicAdvances = true
    }

    struct RouteFacts {
        var app: BundleID
        var environment: APNSEnvironment
        /// Ids of the key.
        var key: String
        var endpoint: String
        /// Reason why the key cannot sign; `nil` if it can.
        var signingProblem: String?
        /// Result of the connection; `nil` if it was not tried.
        var probe: EndpointProbe.Report?
        /// Result of a push to a token that cannot exist; `nil` if none was sent.
        var push: Result<PushAnswer, PushFailure>?
        /// Time by which APNs's clock is ahead of this machine's.
        var skew: Duration?
        /// `true` if a type of the app may put cards on broadcast channels.
        var usesChannels = false
        /// Number of channels that APNs has, or why it did not say; `nil` if it was not asked.
        var channels: Result<Int, BroadcastError>?

        var subject: String { "\(app) \(environment.rawValue)" }
    }
}
