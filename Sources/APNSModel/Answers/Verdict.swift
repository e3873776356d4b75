/// The meaning of an answer of APNs. The caller decides what follows.
///
/// Source: Apple, "Handling notification responses from APNs".
public enum Verdict: Sendable, Hashable {
    /// APNs accepted the push (200). This does not mean that a device showed it.
    case accepted
    /// The token is permanently invalid.
    case tokenDead(TokenDeath)
    /// APNs received too many pushes in a row for this token.
    case slowDown
    /// APNs has a problem of its own. The answer says nothing about the token or the request.
    case serviceTrouble
    /// The provider token is older than an hour. Sign a new one and send the push again, once.
    case renewProviderToken
    /// The connection is at fault. Send the push again on a new one.
    case newConnection
    /// The provider token changed too often on this connection. Keep the old one and wait.
    case keepProviderToken
    /// The key is wrong, or it may not be used in this environment or for this topic. Stop, keep the work, and inform a
    /// person.
    case halted(HaltScope)
    /// The request is wrong, which is the client's fault. Sending it again changes nothing.
    case requestRefused

    /// The reason why a token is invalid.
    public enum TokenDeath: Sendable, Hashable {
        /// The token is inactive since this instant (410). A registration after it has a new token.
        case inactive(since: UnixTime?)
        /// The token is malformed, or belongs to the other environment (400 BadDeviceToken).
        case badToken
        /// The token belongs to another topic (400 DeviceTokenNotForTopic).
        case wrongTopic
    }

    /// The part of the configuration that a person must fix.
    public enum HaltScope: String, Sendable, Hashable, CaseIterable {
        /// The key, its id, or the team id.
        case key
        /// The key belongs to the other environment.
        case environment
        /// The key may not push to this topic.
        case topic
    }

    /// Creates the verdict for a status and a reason. If the reason is unknown or contradicts the status, only the
    /// status counts.
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
