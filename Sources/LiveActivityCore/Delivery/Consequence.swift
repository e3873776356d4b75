package import APNSModel

/// What follows from the outcome of one push: the table of `docs/architecture.md`, "What follows an answer".
package enum Consequence: Sendable, Equatable {
    /// APNs has it.
    case accepted
    /// This value of the token is dead and stays dead.
    case tokenDead(Reason)
    /// This phone alone is tried again then; the push did not arrive.
    case retry(at: UnixTime, Reason)
    /// The push may have arrived. This phone alone is tried again then, but not with a start: that might be a second
    /// card.
    case unknownFate(retryAt: UnixTime, Reason)
    /// A fault that is not the phone's: written once, for the lane.
    case laneFault(Fault)
    /// The request is wrong: not repeated for this revision.
    case parked(Reason)
    /// Refused for its environment, which the phone never named: once in the other.
    case otherEnvironment(APNSEnvironment, Reason)

    package struct Fault: Sendable, Equatable {
        package enum Kind: Int, Sendable, Comparable {
            case notSent, connection, service, halted
            package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
        }
        package var kind: Kind
        package var retryAt: UnixTime
        package var reason: Reason

        /// Where it is one phone's own matter: others do not wait with it, so that it may wait longer.
        package func retryAt(ofPhone tries: Int, now: UnixTime, dice: Double) -> UnixTime {
            switch kind {
            case .notSent: now + RetryDelay.notSent
            case .connection: now + RetryDelay.unknownFate(tries: tries + 1, dice: dice)
            case .service: now + RetryDelay.service(tries: tries + 1, dice: dice)
            case .halted: now + RetryDelay.halted
            }
        }
    }

    /// What the table may look at.
    package struct Context: Sendable {
        package var isStart: Bool
        package var tries: Int
        package var laneTries: Int
        package var tokenFirstSeenAt: UnixTime
        package var environment: APNSEnvironment
        /// A key of the other environment is there, and the phone never named its own.
        package var mayTryOtherEnvironment: Bool
        package var now: UnixTime
        package var dice: Double

        package init(
            isStart: Bool = false, tries: Int, laneTries: Int, tokenFirstSeenAt: UnixTime,
            environment: APNSEnvironment, mayTryOtherEnvironment: Bool, now: UnixTime, dice: Double
        ) {
            self.isStart = isStart
            self.tries = tries
            self.laneTries = laneTries
            self.tokenFirstSeenAt = tokenFirstSeenAt
            self.environment = environment
            self.mayTryOtherEnvironment = mayTryOtherEnvironment
            self.now = now
            self.dice = dice
        }
    }

    package init(_ outcome: Result<PushAnswer, PushFailure>, _ context: Context) {
        switch outcome {
        case .success(let answer): self = Self.of(answer, context)
        case .failure(let failure): self = Self.of(failure, context)
        }
    }

    /// So often a token is tried again that APNs calls inactive since before it was seen: each of these pushes left
    /// after that, so that it is the token that came late, out of the order in which the phone named them.
    static let doubts = 9

    private static func of(_ answer: PushAnswer, _ context: Context) -> Self {
        let now = context.now
        let reasonText = answer.reason?.text ?? ""
        let serviceAt = now + RetryDelay.lane(tries: context.laneTries + 1, dice: context.dice)
        switch answer.verdict {
        case .accepted: return .accepted
        case .tokenDead(.inactive(let since)):
            if let since, context.tokenFirstSeenAt > since, context.tries < Self.doubts {
                let at = now + RetryDelay.unknownFate(tries: context.tries + 1, dice: context.dice)
                return .retry(at: at, Reason(.tokenNewer, at.description))
            }
            return .tokenDead(Reason(.tokenInactive, reasonText))
        case .tokenDead(.badToken):
            if context.mayTryOtherEnvironment {
                let other = context.environment.other
                return .otherEnvironment(other, Reason(.otherEnvironment, other.rawValue))
            }
            return .tokenDead(Reason(.tokenBad))
        case .tokenDead(.wrongTopic): return .tokenDead(Reason(.tokenWrongTopic))
        case .slowDown:
            let at = now + RetryDelay.token(tries: context.tries + 1, dice: context.dice)
            return .retry(at: at, Reason(.slowDown, at.description))
        case .serviceTrouble:
            return .laneFault(
                Fault(
                    kind: .service, retryAt: serviceAt,
                    reason: Reason(.serviceTrouble, String(answer.status), reasonText, serviceAt.description)))
        case .newConnection:
            return .laneFault(
                Fault(
                    kind: .connection, retryAt: serviceAt,
                    reason: Reason(.connection, reasonText, serviceAt.description)))
        case .keepProviderToken, .renewProviderToken:
            let at = answer.verdict == .keepProviderToken ? serviceAt : now + RetryDelay.halted
            return .laneFault(
                Fault(
                    kind: answer.verdict == .keepProviderToken ? .connection : .halted, retryAt: at,
                    reason: Reason(.providerToken, reasonText, at.description)))
        case .halted(let scope):
            let at = now + RetryDelay.halted
            return .laneFault(
                Fault(
                    kind: .halted, retryAt: at,
                    reason: Reason(.halted, String(answer.status), reasonText, scope.rawValue, at.description)))
        case .requestRefused: return .parked(Reason(.parked, String(answer.status), reasonText))
        }
    }

    private static func of(_ failure: PushFailure, _ context: Context) -> Self {
        let now = context.now
        switch failure.code {
        case .unknownFate:
            let at = now + RetryDelay.unknownFate(tries: context.tries + 1, dice: context.dice)
            // The timeline promises no attempt that will not be made.
            let reason =
                context.isStart
                ? Reason(.unknownFate, failure.detail) : Reason(.unknownFate, failure.detail, at.description)
            return .unknownFate(retryAt: at, reason)
        case .cannotConnect, .refusedByPeer:
            let at = now + RetryDelay.lane(tries: context.laneTries + 1, dice: context.dice)
            return .laneFault(
                Fault(
                    kind: .connection, retryAt: at,
                    reason: Reason(.notSent, failure.description, at.description)))
        case .notSentInTime, .overloaded, .stopping:
            let at = now + RetryDelay.notSent
            return .laneFault(
                Fault(kind: .notSent, retryAt: at, reason: Reason(.notSent, failure.code.rawValue, at.description)))
        case .notConfigured:
            return .laneFault(
                Fault(
                    kind: .halted, retryAt: now + RetryDelay.halted,
                    reason: Reason(.notConfigured, context.environment.rawValue)))
        }
    }
}

extension Consequence {
    /// Why, for the timeline.
    package var reason: Reason {
        switch self {
        case .accepted: Reason(.accepted)
        case .tokenDead(let reason), .retry(_, let reason), .unknownFate(_, let reason), .parked(let reason),
            .otherEnvironment(_, let reason):
            reason
        case .laneFault(let fault): fault.reason
        }
    }

    /// Another push follows. Of a start whose fate is unknown none does: it might be a second card.
    func isTriedAgain(isStart: Bool) -> Bool {
        switch self {
        case .retry, .laneFault, .otherEnvironment: true
        case .unknownFate: !isStart
        case .accepted, .tokenDead, .parked: false
        }
    }

    /// The phone may have the push.
    var mayHaveArrived: Bool {
        switch self {
        case .accepted, .unknownFate: true
        case .tokenDead, .retry, .laneFault, .parked, .otherEnvironment: false
        }
    }

    /// It concerns this phone, and is written in its row.
    var isPhones: Bool {
        if case .laneFault = self { false } else { true }
    }
}
