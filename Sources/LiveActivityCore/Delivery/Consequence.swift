package import APNSModel

/// Consequence of one push's outcome. The table is in `docs/internals/answers.md`, "What follows an answer".
package enum Consequence: Sendable, Equatable {
    /// APNs accepted the push.
    case accepted
    /// This value of the token is dead and stays dead.
    case tokenDead(Reason)
    /// The push did not arrive. It is retried for this phone alone.
    case retry(at: UnixTime, Reason)
    /// The push may have arrived. It is retried for this phone alone, unless it is a start, which could make a second
    /// card.
    case unknownFate(retryAt: UnixTime, Reason)
    /// A fault that is not the phone's. It is written once, for the lane.
    case laneFault(Fault)
    /// The request is wrong. It is not repeated for this revision.
    case parked(Reason)
    /// APNs refused the push for its environment, which the phone had never named. It is tried once in the other
    /// environment.
    case otherEnvironment(APNSEnvironment, Reason)

    package struct Fault: Sendable, Equatable {
        package enum Kind: Int, Sendable, Comparable {
            case notSent, connection, service, halted
            package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
        }
        package var kind: Kind
        package var retryAt: UnixTime
        package var reason: Reason

        /// Returns when to retry if the fault concerns one phone alone. This wait may be longer than the lane's,
        /// because no other phone waits with it.
        package func retryAt(ofPhone tries: Int, now: UnixTime, dice: Double) -> UnixTime {
            switch kind {
            case .notSent: now + RetryDelay.notSent
            case .connection: now + RetryDelay.unknownFate(tries: tries + 1, dice: dice)
            case .service: now + RetryDelay.service(tries: tries + 1, dice: dice)
            case .halted: now + RetryDelay.halted
            }
        }
    }

    /// Facts that the table depends on.
    package struct Context: Sendable {
        package var isStart: Bool
        package var tries: Int
        package var laneTries: Int
        package var tokenFirstSeenAt: UnixTime
        package var environment: APNSEnvironment
        /// `true` if a key of the other environment is configured and the phone never named its environment.
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

    /// Maximum number of retries for a token that APNs reports as inactive since a time before the token was first
    /// seen.
    ///
    /// Each of these pushes left after that time. So after these retries, the token itself is the one that arrived
    /// late, out of the order in which the phone reported its tokens.
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
            // A start is not retried, so the timeline must not name a next attempt.
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
    /// Reason for the timeline.
    package var reason: Reason {
        switch self {
        case .accepted: Reason(.accepted)
        case .tokenDead(let reason), .retry(_, let reason), .unknownFate(_, let reason), .parked(let reason),
            .otherEnvironment(_, let reason):
            reason
        case .laneFault(let fault): fault.reason
        }
    }

    /// Returns whether another push follows. A start of unknown fate is not retried, because it could make a second
    /// card.
    func isTriedAgain(isStart: Bool) -> Bool {
        switch self {
        case .retry, .laneFault, .otherEnvironment: true
        case .unknownFate: !isStart
        case .accepted, .tokenDead, .parked: false
        }
    }

    /// `true` if the phone may have received the push.
    var mayHaveArrived: Bool {
        switch self {
        case .accepted, .unknownFate: true
        case .tokenDead, .retry, .laneFault, .parked, .otherEnvironment: false
        }
    }

    /// `true` if the consequence concerns this phone and is written to its row.
    var isPhones: Bool {
        if case .laneFault = self { false } else { true }
    }
}
