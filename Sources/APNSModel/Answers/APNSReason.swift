/// The `reason` of a refusal by APNs. Source: Apple, "Handling notification responses from APNs".
public enum APNSReason: Sendable, Hashable {
    case known(Known)
    /// A reason that no page of Apple's lists. Only the status determines its meaning. Log it.
    case unknown(String)

    /// The reasons of Apple's table for device pushes.
    public enum Known: String, Sendable, Hashable, CaseIterable {
        case badCollapseId = "BadCollapseId"
        case badDeviceToken = "BadDeviceToken"
        case badExpirationDate = "BadExpirationDate"
        case badMessageId = "BadMessageId"
        case badPriority = "BadPriority"
        case badTopic = "BadTopic"
        case deviceTokenNotForTopic = "DeviceTokenNotForTopic"
        case duplicateHeaders = "DuplicateHeaders"
        case idleTimeout = "IdleTimeout"
        case invalidPushType = "InvalidPushType"
        case missingDeviceToken = "MissingDeviceToken"
        case missingTopic = "MissingTopic"
        case payloadEmpty = "PayloadEmpty"
        case topicDisallowed = "TopicDisallowed"
        case badCertificate = "BadCertificate"
        case badCertificateEnvironment = "BadCertificateEnvironment"
        case expiredProviderToken = "ExpiredProviderToken"
        case forbidden = "Forbidden"
        case invalidProviderToken = "InvalidProviderToken"
        case missingProviderToken = "MissingProviderToken"
        case unrelatedKeyIdInToken = "UnrelatedKeyIdInToken"
        case badEnvironmentKeyIdInToken = "BadEnvironmentKeyIdInToken"
        case badPath = "BadPath"
        case methodNotAllowed = "MethodNotAllowed"
        case expiredToken = "ExpiredToken"
        case unregistered = "Unregistered"
        case payloadTooLarge = "PayloadTooLarge"
        case tooManyProviderTokenUpdates = "TooManyProviderTokenUpdates"
        case tooManyRequests = "TooManyRequests"
        case internalServerError = "InternalServerError"
        case serviceUnavailable = "ServiceUnavailable"
        case shutdown = "Shutdown"

        /// The HTTP status that Apple's table gives for the reason.
        public var status: Int {
            switch self {
            case .badCollapseId, .badDeviceToken, .badExpirationDate, .badMessageId, .badPriority, .badTopic,
                .deviceTokenNotForTopic, .duplicateHeaders, .idleTimeout, .invalidPushType, .missingDeviceToken,
                .missingTopic, .payloadEmpty, .topicDisallowed:
                400
            case .badCertificate, .badCertificateEnvironment, .expiredProviderToken, .forbidden, .invalidProviderToken,
                .missingProviderToken, .unrelatedKeyIdInToken, .badEnvironmentKeyIdInToken:
                403
            case .badPath: 404
            case .methodNotAllowed: 405
            case .expiredToken, .unregistered: 410
            case .payloadTooLarge: 413
            case .tooManyProviderTokenUpdates, .tooManyRequests: 429
            case .internalServerError: 500
            case .serviceUnavailable, .shutdown: 503
            }
        }
    }

    /// Creates a reason from the string in an answer.
    ///
    /// Two spellings are accepted besides those of Apple's table:
    ///
    /// - `BadEnvironmentKeyInToken`, which APNs sends for the documented `BadEnvironmentKeyIdInToken`
    /// - `Service Unavailable`, which one page prints for `ServiceUnavailable`
    ///
    /// An unknown string is truncated to 64 characters.
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
