import APNSClient
import APNSModel
import StorageSQLite

/// Everything a doctor looked at; what follows from it is `Diagnosis`.
struct DoctorFacts {
    var configuration = ConfigurationFacts(file: "")
    /// `nil` when the configuration does not say where it is.
    var database: DatabaseFacts?
    /// One for each type that has a contract; `nil`: the database could not be looked into.
    var contracts: [ContractFacts]? = []
    /// When the server's own certificate ends; `nil`: it has none.
    var certificateEndsAt: UnixTime?
    /// One for each key.
    var routes: [RouteFacts] = []
    /// What the server calls beside APNs.
    var addresses: [AddressFacts] = []
    var clock: ClockFacts
    var isOffline = false

    struct ConfigurationFacts {
        var file: String
        var problems: [String] = []
        var warnings: [String] = []
    }

    struct DatabaseFacts {
        var path: String
        var inspection: DatabaseInspection
    }

    struct ContractFacts: Sendable {
        var app: BundleID
        var type: String
        /// The newest activities that run, no more than `DriftLook.most`.
        var looked = 0
        /// There may be more, behind very many of other types.
        var isCut = false
        /// Those that phones of the newest build could not decode.
        var unfit = 0
        /// One of them, and why.
        var example: String?
    }

    struct AddressFacts: Sendable {
        enum Kind { case people, provider, webhook }

        var kind: Kind
        /// Whose it is, in words.
        var subject: String
        /// Scheme, host and port: what follows them may be a secret.
        var origin: String
        /// What came of it; `nil`: nobody looked.
        var outcome: Outcome?

        enum Outcome: Equatable {
            /// It can be reached; with words on what was found.
            case good(String?)
            /// The name leads nowhere, or where it may not.
            case place(String)
            case unreachable(String)
        }
    }

    struct ClockFacts {
        var wall: UnixTime
        /// Whether the monotonic clock went on while the doctor worked, and never back.
        var monotonicAdvances = true
    }

    struct RouteFacts {
        var app: BundleID
        var environment: APNSEnvironment
        /// The key's ids.
        var key: String
        var endpoint: String
        /// Why it cannot sign; `nil` when it can.
        var signingProblem: String?
        /// `nil` when nobody looked.
        var probe: EndpointProbe.Report?
        /// What became of a push to a token that cannot be one; `nil` when none was tried.
        var push: Result<PushAnswer, PushFailure>?
        /// How far APNs's clock is ahead of this machine's.
        var skew: Duration?

        var subject: String { "\(app) \(environment.rawValue)" }
    }
}
