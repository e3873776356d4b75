/// The `reason` of a refusal of channel management or of a broadcast (Apple, "Handling error responses from APNs").
public enum BroadcastReason: Sendable, Hashable {
    case known(Known)
    /// A string that Apple's page does not list; judged by the status alone.
    case unknown(String)

    /// Every reason of Apple's table.
    public enum Known: String, Sendable, Hashable, CaseIterable {
        /// The Broadcast Capability is off for the app id, in the developer portal.
        case featureNotEnabled = "FeatureNotEnabled"
        case missingChannelId = "MissingChannelId"
        case badChannelId = "BadChannelId"
        /// Unknown, deleted, or of the other environment: make a new one.
        case channelNotRegistered = "ChannelNotRegistered"
        case badRequestParams = "BadRequestParams"
        case badRequestPayload = "BadRequestPayload"
        case payloadEmpty = "PayloadEmpty"
        case badMessageId = "BadMessageId"
        case badPriority = "BadPriority"
        case missingPushType = "MissingPushType"
        case invalidPushType = "InvalidPushType"
        /// The app has 10,000 channels in this environment: delete some.
        case cannotCreateChannelConfig = "CannotCreateChannelConfig"
        /// Also for an expiration on a channel that stores nothing.
        case badExpirationDate = "BadExpirationDate"
        case topicDisallowed = "TopicDisallowed"
        /// The key does not cover the app.
        case topicMismatch = "TopicMismatch"
        case missingProviderToken = "MissingProviderToken"
        case expiredProviderToken = "ExpiredProviderToken"
        case invalidProviderToken = "InvalidProviderToken"
        case badCertificate = "BadCertificate"
        case badCertificateEnvironment = "BadCertificateEnvironment"
        case badEnvironmentKeyIdInToken = "BadEnvironmentKeyIdInToken"
        case unrelatedKeyIdInToken = "UnrelatedKeyIdInToken"
        case forbidden = "Forbidden"
        case badPath = "BadPath"
        case methodNotAllowed = "MethodNotAllowed"
        case payloadTooLarge = "PayloadTooLarge"
        case tooManyRequests = "TooManyRequests"
        case tooManyProviderTokenUpdates = "TooManyProviderTokenUpdates"
        case internalServerError = "InternalServerError"
        case serviceUnavailable = "ServiceUnavailable"
        case shutdown = "Shutdown"

        /// The status Apple's table gives the reason.
        public var status: Int {
            switch self {
            case .featureNotEnabled, .missingChannelId, .badChannelId, .channelNotRegistered, .badRequestParams,
                .badRequestPayload, .payloadEmpty, .badMessageId, .badPriority, .missingPushType, .invalidPushType,
                .cannotCreateChannelConfig, .badExpirationDate, .topicDisallowed:
                400
            case .topicMismatch, .missingProviderToken, .expiredProviderToken, .invalidProviderToken, .badCertificate,
                .badCertificateEnvironment, .badEnvironmentKeyIdInToken, .unrelatedKeyIdInToken, .forbidden:
                403
            case .badPath: 404
            case .methodNotAllowed: 405
            case .payloadTooLarge: 413
            case .tooManyRequests, .tooManyProviderTokenUpdates: 429
            case .internalServerError: 500
            case .serviceUnavailable, .shutdown: 503
            }
        }
    }

    /// The reason of a string that came over the wire, in any of the spellings that Apple's pages and APNs have.
    public init(_ text: String) {
        switch text {
        case "BadEnvironmentKeyInToken": self = .known(.badEnvironmentKeyIdInToken)
        case "Service Unavailable": self = .known(.serviceUnavailable)
        default: self = Known(rawValue: text).map(Self.known) ?? .unknown(String(text.prefix(64)))
        }
    }

    /// The string as Apple documents it.
    public var text: String {
        switch self {
        case .known(let known): known.rawValue
        case .unknown(let text): text
        }
    }
}

/// Why a broadcast or a call of channel management has no success.
public struct BroadcastError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What happened. Only `unknownFate` leaves open whether APNs did it.
    public enum Code: Sendable, Hashable {
        /// APNs's own answer.
        case refused(status: Int, reason: BroadcastReason?)
        /// An answer that Apple does not document, such as a 201 without a channel's id. APNs may have done it.
        case unexpectedAnswer(status: Int)
        /// No key is configured for the app and environment.
        case notConfigured
        /// No connection could be made in time; a proxy's refusal too.
        case cannotConnect
        /// The peer said that it did not process it (RFC 9113 section 8.7), time and again.
        case refusedByPeer
        /// As many calls wait as may.
        case overloaded
        /// It did not leave in time.
        case notSentInTime
        /// It left, and no answer came.
        case unknownFate
        /// The client is stopping.
        case stopping
    }

    /// What happened, for programs to switch over.
    public let code: Code
    /// `apns-request-id` of the answer: what Apple's support asks for.
    public let requestID: PushID?
    /// For logs: never a token, key or payload.
    public let detail: String

    /// For clients, and for tests that stand in for one.
    public init(_ code: Code, requestID: PushID? = nil, _ detail: String) {
        self.code = code
        self.requestID = requestID
        self.detail = detail
    }

    /// Apple's reason, when APNs refused with one that its page lists.
    public var reason: BroadcastReason.Known? {
        if case .refused(_, .known(let reason)?) = code { reason } else { nil }
    }

    /// Whether the channel is gone: forget it, and make a new one.
    public var isChannelGone: Bool { reason == .channelNotRegistered }

    /// Whether the same call may succeed later: APNs is busy or in trouble, or was not reached.
    public var mayRetryLater: Bool {
        switch code {
        case .refused(let status, _): status == 429 || status >= 500
        case .cannotConnect, .refusedByPeer, .overloaded, .notSentInTime: true
        case .unexpectedAnswer, .notConfigured, .unknownFate, .stopping: false
        }
    }

    /// Whether APNs may have done what was asked.
    public var mayHaveHappened: Bool {
        switch code {
        case .unknownFate, .unexpectedAnswer: true
        case .refused, .notConfigured, .cannotConnect, .refusedByPeer, .overloaded, .notSentInTime, .stopping: false
        }
    }

    /// What happened, in one line.
    public var description: String {
        switch code {
        case .refused(let status, let reason): "APNs refused it: \(status) \(reason?.text ?? "without a reason")"
        case .unexpectedAnswer(let status): "APNs answered \(status), which its pages do not describe: \(detail)"
        case .notConfigured, .cannotConnect, .refusedByPeer, .overloaded, .notSentInTime, .unknownFate, .stopping:
            "\(code): \(detail)"
        }
    }
}
