/// What an answer of APNs means: the one table of it. What follows is decided elsewhere.
///
/// Source: Apple, "Handling notification responses from APNs".
public enum Verdict: Sendable, Hashable {
    /// 200: APNs took the push. That is not "shown".
    case accepted
    /// This value of the token is dead and stays dead.
    case tokenDead(TokenDeath)
    /// Too many pushes to this one token in a row.
    case slowDown
    /// APNs itself is in trouble: nothing is said about token or request.
    case serviceTrouble
    /// The provider token was older than an hour: sign anew, once, and resend.
    case renewProviderToken
    /// The connection is at fault: resend on a new one.
    case newConnection
    /// The provider token changed too often on this connection: keep the old one and wait.
    case keepProviderToken
    /// The key, or its use in this environment or for this topic: stop, keep the work, tell a person.
    case halted(HaltScope)
    /// The request is wrong, which is our fault: sending it again changes nothing.
    case requestRefused

    /// How a token died.
    public enum TokenDeath: Sendable, Hashable {
        /// 410: inactive since that instant. A registration made later is another one.
        case inactive(since: UnixTime?)
        /// 400 BadDeviceToken: malformed, or of the other environment.
        case badToken
        /// 400 DeviceTokenNotForTopic.
        case wrongTopic
    }

    /// What a person has to mend.
    public enum HaltScope: String, Sendable, Hashable, CaseIterable {
        /// The key, its id or the team's id.
        case key
        /// The key is for the other environment.
        case environment
        /// The key may not push to this topic.
        case topic
    }

    /// The meaning of a status and a reason; total: an unknown reason is judged by its status.
    public init(status: Int, reason: APNSReason?, inactiveSince: UnixTime? = nil) {
        if case .known(let known)? = reason, known.status == status {
            self = Self(known, inactiveSince: inactiveSince)
        } else {
            self = Self(status: status, inactiveSince: inactiveSince)
        }
    }

    private init(_ reason: APNSReason.Known, inactiveSince: UnixTime?) {
        switch reason {
        case .badDeviceToken: self = .tokenDead(.badToken)
        case .deviceTokenNotForTopic: self = .tokenDead(.wrongTopic)
        case .expiredToken, .unregistered: self = .tokenDead(.inactive(since: inactiveSince))
        case .tooManyRequests: self = .slowDown
        case .internalServerError, .serviceUnavailable: self = .serviceTrouble
        case .expiredProviderToken: self = .renewProviderToken
        case .idleTimeout, .shutdown, .unrelatedKeyIdInToken: self = .newConnection
        case .tooManyProviderTokenUpdates: self = .keepProviderToken
        case .badEnvironmentKeyIdInToken: self = .halted(.environment)
        case .topicDisallowed: self = .halted(.topic)
        case .badCertificate, .badCertificateEnvironment, .forbidden, .invalidProviderToken, .missingProviderToken:
            self = .halted(.key)
        case .badCollapseId, .badExpirationDate, .badMessageId, .badPriority, .badTopic, .duplicateHeaders,
            .invalidPushType, .missingDeviceToken, .missingTopic, .payloadEmpty, .badPath, .methodNotAllowed,
            .payloadTooLarge:
            self = .requestRefused
        }
    }

    private init(status: Int, inactiveSince: UnixTime?) {
        switch status {
        case 200: self = .accepted
        case 403: self = .halted(.key)
        case 410: self = .tokenDead(.inactive(since: inactiveSince))
        case 429: self = .slowDown
        case 500...599: self = .serviceTrouble
        default: self = .requestRefused
        }
    }
}
