/// The `reason` of a refused broadcast or channel call. Source: Apple, "Handling error responses from APNs".
public enum BroadcastReason: Sendable, Hashable {
    case known(Known)
    /// A reason that Apple's page does not list. Only the status determines its meaning.
    case unknown(String)

    /// The reasons of Apple's table.
    public enum Known: String, Sendable, Hashable, CaseIterable {
        /// The app id lacks the Broadcast Capability in the developer portal.
        case featureNotEnabled = "FeatureNotEnabled"
        case missingChannelId = "MissingChannelId"
        case badChannelId = "BadChannelId"
        /// The channel is unknown, deleted, or of the other environment. Create a new one.
        case channelNotRegistered = "ChannelNotRegistered"
        case badRequestParams = "BadRequestParams"
        case badRequestPayload = "BadRequestPayload"
        case payloadEmpty = "PayloadEmpty"
        case badMessageId = "BadMessageId"
        case badPriority = "BadPriority"
        case missingPushType = "MissingPushType"
        case invalidPushType = "InvalidPushType"
        /// The app has 10,000 channels in this environment. Delete some.
        case cannotCreateChannelConfig = "CannotCreateChannelConfig"
        /// The expiration is not valid. This includes any expiration on a channel that stores no messages.
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

        /// The HTTP status that Apple's table gives for the reason.
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

    /// Creates a reason from the string in an answer. Accepts all spellings of Apple's pages and of APNs.
    public init(_ text: String) {
        switch text {
        case "BadEnvironmentKeyInToken": self = .known(.badEnvironmentKeyIdInToken)
        case "Service Unavailable": self = .known(.serviceUnavailable)
        default: self = Known(rawValue: text).map(Self.known) ?? .unknown(String(text.prefix(64)))
        }
    }

    /// The reason as Apple documents it.
    public var text: String {
        switch self {
        case .known(let known): known.rawValue
        case .unknown(let text): text
        }
    }
}

/// An error of a broadcast or of a channel call.
public struct BroadcastError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of error. After `unknownFate` and `unexpectedAnswer`, APNs may have performed the call.
    public enum Code: Sendable, Hashable {
        /// APNs refused the call.
        case refused(status: Int, reason: BroadcastReason?)
        /// APNs answered in a way that Apple does not document, such as 201 without a channel id. APNs may have
        /// performed the call.
        case unexpectedAnswer(status: Int)
        /// No key is configured for the app and environment.
        case notConfigured
        /// No connection could be made in time, or a proxy refused.
        case cannotConnect
        /// The peer repeatedly reported that it did not process the call (RFC 9113 section 8.7).
        case refusedByPeer
        /// The maximum number of calls is waiting.
        case overloaded
        /// The call was not sent in time.
        case notSentInTime
        /// The call was sent, and no answer came.
        case unknownFate
        /// The client is stopping.
        case stopping
    }

    /// The kind of error, for programs.
    public let code: Code
    /// The `apns-request-id` of the answer, for Apple's support.
    public let requestID: PushID?
    /// A description for logs. It never contains a token, key or payload.
    public let detail: String

    /// Creates an error. For clients, and for tests that replace one.
    public init(_ code: Code, requestID: PushID? = nil, _ detail: String) {
        self.code = code
        self.requestID = requestID
        self.detail = detail
    }

    /// Apple's reason, if APNs refused the call with a reason of its table.
    public var reason: BroadcastReason.Known? {
        if case .refused(_, .known(let reason)?) = code { reason } else { nil }
    }

    /// `true` if the channel does not exist. Forget it, and create a new one.
    public var isChannelGone: Bool { reason == .channelNotRegistered }

    /// `true` if the same call may succeed later, because APNs is busy, has a problem, or was not reached.
    public var mayRetryLater: Bool {
        switch code {
        case .refused(let status, _): status == 429 || status >= 500
        case .cannotConnect, .refusedByPeer, .overloaded, .notSentInTime: true
        case .unexpectedAnswer, .notConfigured, .unknownFate, .stopping: false
        }
    }

    /// `true` if APNs may have performed the call.
    public var mayHaveHappened: Bool {
        switch code {
        case .unknownFate, .unexpectedAnswer: true
        case .refused, .notConfigured, .cannotConnect, .refusedByPeer, .overloaded, .notSentInTime, .stopping: false
        }
    }

    /// A description in one line.
    public var description: String {
        switch code {
        case .refused(let status, let reason): "APNs refused the call: \(status) \(reason?.text ?? "without a reason")"
        case .unexpectedAnswer(let status): "APNs answered \(status) unexpectedly: \(detail)"
        case .notConfigured, .cannotConnect, .refusedByPeer, .overloaded, .notSentInTime, .unknownFate, .stopping:
            "\(code): \(detail)"
        }
    }
}
