package import APNSModel

/// The way of an app's pushes to one environment of APNs: what a key, an endpoint and their faults belong to.
package struct PushRoute: Sendable, Hashable {
    package let app: BundleID
    package let environment: APNSEnvironment

    package init(_ app: BundleID, _ environment: APNSEnvironment) {
        self.app = app
        self.environment = environment
    }
}

extension PhoneSituation {
    /// The environment that a push of this kind goes to: its token's.
    package func environment(of kind: PushKind) -> APNSEnvironment {
        (kind == .start ? pushToStartToken?.environment : updateToken?.environment) ?? .production
    }
}

extension PhoneSituation {
    /// The value of the token that a push goes to.
    package func token(of plan: PushPlan) -> TokenValue? {
        switch (plan.kind, plan.part) {
        case (.start, _): pushToStartToken?.value
        case (_, .predecessor): updateToken?.predecessor
        case (_, .card), (_, .successor): updateToken?.value
        }
    }
}

extension PushPlan {
    /// A push that may be risked to see whether APNs is well: a start or an alert whose answer is lost cannot be
    /// repeated, an update or an end without one can.
    package var isHarmless: Bool { kind != .start && !carriesAlert }
}

/// What is wrong with a route, when it is not one phone's matter.
package enum RouteTrouble: Sendable, Hashable {
    case service(status: Int, reason: String)
    case connection(String)
    /// A person must mend it.
    case halted(status: Int, reason: String, scope: String)
    case notConfigured(APNSEnvironment)

    package var isHalt: Bool {
        switch self {
        case .halted, .notConfigured: true
        case .service, .connection: false
        }
    }

    /// In the words of the reasons, with the instant of the next attempt.
    package func reason(until time: UnixTime) -> Reason {
        switch self {
        case .service(let status, let text): Reason(.serviceTrouble, String(status), text, time.description)
        case .connection(let detail): Reason(.connection, detail, time.description)
        case .halted(let status, let text, let scope):
            Reason(.halted, String(status), text, scope, time.description)
        case .notConfigured(let environment): Reason(.notConfigured, environment.rawValue)
        }
    }
}

/// What the answers of one flight say about one route.
package struct RouteTally: Sendable, Equatable {
    /// APNs spoke, and was well: refusals of a token or a request are answers like any other.
    package private(set) var healthy = 0
    /// 429 among them.
    package private(set) var slowDowns = 0
    package private(set) var troubled = 0
    /// Some of the phones that met trouble: enough of them to tell many from one.
    package private(set) var troubledPhones: Set<DeviceKey> = []
    /// The gravest, and the first of its kind.
    package private(set) var trouble: RouteTrouble?

    static let phonesKept = 8

    package init() {}

    package var isEmpty: Bool { healthy == 0 && troubled == 0 }

    /// Counts what came of a push that was handed to the sender.
    package mutating func add(
        _ outcome: Result<PushAnswer, PushFailure>, of phone: DeviceKey, to environment: APNSEnvironment
    ) {
        switch outcome {
        case .success(let answer): add(answer, of: phone)
        case .failure(let failure): add(failure, of: phone, to: environment)
        }
    }

    private mutating func add(_ answer: PushAnswer, of phone: DeviceKey) {
        let text = answer.reason?.text ?? ""
        switch answer.verdict {
        case .accepted, .tokenDead, .requestRefused: healthy += 1
        case .slowDown:
            healthy += 1
            slowDowns += 1
        case .serviceTrouble: note(.service(status: answer.status, reason: text), of: phone)
        case .newConnection, .keepProviderToken: note(.connection(text), of: phone)
        case .renewProviderToken: note(.halted(status: answer.status, reason: text, scope: "key"), of: phone)
        case .halted(let scope):
            note(.halted(status: answer.status, reason: text, scope: scope.rawValue), of: phone)
        }
    }

    private mutating func add(_ failure: PushFailure, of phone: DeviceKey, to environment: APNSEnvironment) {
        switch failure.code {
        // Not one push left in time: seen from here that is a connection that does not work.
        case .cannotConnect, .refusedByPeer, .unknownFate, .notSentInTime:
            note(.connection(failure.code.rawValue), of: phone)
        case .notConfigured: note(.notConfigured(environment), of: phone)
        // Our own matter.
        case .overloaded, .stopping: break
        }
    }

    private mutating func note(_ trouble: RouteTrouble, of phone: DeviceKey) {
        troubled += 1
        if troubledPhones.count < Self.phonesKept { troubledPhones.insert(phone) }
        if self.trouble.map({ trouble.isHalt && !$0.isHalt }) ?? true { self.trouble = trouble }
    }
}
