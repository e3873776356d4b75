package import APNSModel

/// One app's way to one environment of APNs. Keys, endpoints and their faults belong to a route.
package struct PushRoute: Sendable, Hashable, Comparable {
    package let app: BundleID
    package let environment: APNSEnvironment

    package init(_ app: BundleID, _ environment: APNSEnvironment) {
        self.app = app
        self.environment = environment
    }

    package static func < (left: Self, right: Self) -> Bool {
        (left.app.text, left.environment.rawValue) < (right.app.text, right.environment.rawValue)
    }
}

extension PhoneSituation {
    /// Returns the environment of the token that a push of this kind goes to.
    package func environment(of kind: PushKind) -> APNSEnvironment {
        (kind == .start ? pushToStartToken?.environment : updateToken?.environment) ?? .production
    }
}

extension PhoneSituation {
    /// Returns the value of the token that a push goes to.
    package func token(of plan: PushPlan) -> TokenValue? {
        switch (plan.kind, plan.part) {
        case (.start, _): pushToStartToken?.value
        case (_, .predecessor): updateToken?.predecessor
        case (_, .card), (_, .successor): updateToken?.value
        }
    }
}

extension PushPlan {
    /// `true` if the push may be risked as a probe. An update or an end without an alert can be repeated when its
    /// answer is lost. A start or an alert cannot.
    package var isHarmless: Bool { kind != .start && !carriesAlert }
}

/// Fault of a route, as opposed to one phone's.
package enum RouteTrouble: Sendable, Hashable {
    case service(status: Int, reason: String)
    case connection(String)
    /// A fault that a person must fix.
    case halted(status: Int, reason: String, scope: String)
    case notConfigured(APNSEnvironment)

    package var isHalt: Bool {
        switch self {
        case .halted, .notConfigured: true
        case .service, .connection: false
        }
    }

    /// Returns the reason for the timeline.
    ///
    /// - Parameter time: The time of the next attempt; `nil` if the attempt waits for the route.
    package func reason(until time: UnixTime?) -> Reason {
        switch self {
        case .service(let status, let text): Reason(.serviceTrouble, [String(status), text], until: time)
        case .connection(let detail): Reason(.connection, [detail], until: time)
        case .halted(let status, let text, let scope): Reason(.halted, [String(status), text, scope], until: time)
        case .notConfigured(let environment): Reason(.notConfigured, environment.rawValue)
        }
    }
}

extension Reason {
    fileprivate init(_ code: Code, _ arguments: [String], until time: UnixTime?) {
        self.init(code, arguments: arguments + (time.map { [$0.description] } ?? []))
    }
}

/// Counts of what one flight's answers say about one route.
package struct RouteTally: Sendable, Equatable {
    /// Number of answers that show APNs to be healthy. A refusal of a token or a request counts as healthy.
    package private(set) var healthy = 0
    /// Number of 429 answers. They count as healthy too.
    package private(set) var slowDowns = 0
    package private(set) var troubled = 0
    /// Some of the phones that met the fault: at most `phonesKept`, enough to tell many phones from one.
    package private(set) var troubledPhones: Set<DeviceKey> = []
    /// Most serious fault; the first one of its kind.
    package private(set) var trouble: RouteTrouble?

    static let phonesKept = 8

    package init() {}

    package var isEmpty: Bool { healthy == 0 && troubled == 0 }

    /// Counts the outcome of a push that was handed to the sender.
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
        // A push that could not leave in time looks like a connection that does not work.
        case .cannotConnect, .refusedByPeer, .unknownFate, .notSentInTime:
            note(.connection(failure.code.rawValue), of: phone)
        case .notConfigured: note(.notConfigured(environment), of: phone)
        // These failures are Islet's own and say nothing about the route.
        case .overloaded, .stopping: break
        }
    }

    /// Counts the outcome of a call about a broadcast channel.
    ///
    /// - Parameters:
    ///   - error: `nil` if the call succeeded.
    ///   - activity: Activity of the channel. It stands in for a phone: one channel's fault is not the route's.
    package mutating func add(
        _ error: BroadcastError?, about activity: ActivityNumber, in environment: APNSEnvironment
    ) {
        switch error?.code {
        case nil: healthy += 1
        case .refused(let status, let reason)?:
            switch status {
            case 403: note(.halted(status: status, reason: reason?.text ?? "", scope: "key"), of: activity)
            case 500...: note(.service(status: status, reason: reason?.text ?? ""), of: activity)
            case 429:
                healthy += 1
                slowDowns += 1
            default: healthy += 1
            }
        case .cannotConnect?: note(.connection(PushFailure.Code.cannotConnect.rawValue), of: activity)
        case .refusedByPeer?: note(.connection(PushFailure.Code.refusedByPeer.rawValue), of: activity)
        case .unknownFate?: note(.connection(PushFailure.Code.unknownFate.rawValue), of: activity)
        case .notSentInTime?: note(.connection(PushFailure.Code.notSentInTime.rawValue), of: activity)
        case .notConfigured?: note(.notConfigured(environment), of: activity)
        // These failures are Islet's own and say nothing about the route.
        case .overloaded?, .stopping?, .unexpectedAnswer?: break
        }
    }

    private mutating func note(_ trouble: RouteTrouble, of phone: DeviceKey) {
        troubled += 1
        if troubledPhones.count < Self.phonesKept { troubledPhones.insert(phone) }
        if self.trouble.map({ trouble.isHalt && !$0.isHalt }) ?? true { self.trouble = trouble }
    }
}
