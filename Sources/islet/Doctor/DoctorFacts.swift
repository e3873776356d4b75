import APNSClient
import APNSModel
import StorageSQLite

/// Everything a doctor looked at; what follows from it is `Diagnosis`.
struct DoctorFacts {
    var configuration = ConfigurationFacts(file: "")
    /// `nil` when the configuration does not say where it is.
    var database: DatabaseFacts?
    /// One for each key.
    var routes: [RouteFacts] = []
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

/// One thing that was checked.
struct Finding: Equatable {
    enum Check: String, CaseIterable {
        case configuration, database, key, clock, name, connection, push
    }

    enum Outcome: String, CaseIterable {
        case ok, warning, failed, skipped
    }

    let check: Check
    let outcome: Outcome
    /// In a line.
    let detail: String
    /// What to do; `nil` when there is nothing to do.
    let advice: String?

    init(_ check: Check, _ outcome: Outcome, _ detail: String, advice: String? = nil) {
        self.check = check
        self.outcome = outcome
        self.detail = detail
        self.advice = advice
    }
}
