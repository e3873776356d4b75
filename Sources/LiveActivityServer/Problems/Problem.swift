package import HTTPTypes
package import LiveActivityAPI

/// A reason to refuse a call, before it is written as a problem document (RFC 9457).
package struct Problem: Error, Sendable, Equatable {
    /// The stable codes of problems. They are part of the API, and each has one status.
    package enum Code: String, Sendable, CaseIterable {
        case invalidJSON = "invalid_json"
        case invalidID = "invalid_id"
        case invalidPath = "invalid_path"
        case invalidQuery = "invalid_query"
        case invalidHeader = "invalid_header"
        case keyMissing = "key_missing"
        case keyInvalid = "key_invalid"
        case keyExpired = "key_expired"
        case tokenInvalid = "token_invalid"
        case tokenExpired = "token_expired"
        case credentialInvalid = "credential_invalid"
        case scopeMissing = "scope_missing"
        case originRefused = "origin_refused"
        case userDiffers = "user_differs"
        case deviceTaken = "device_taken"
        case appNotConfigured = "app_not_configured"
        case notFound = "not_found"
        case unknownActivity = "unknown_activity"
        case unknownDevice = "unknown_device"
        case unknownWebhook = "unknown_webhook"
        case methodNotAllowed = "method_not_allowed"
        case activityEnded = "activity_ended"
        case noStateYet = "no_state_yet"
        case typeDiffers = "type_differs"
        case attributesDiffer = "attributes_differ"
        case deadToken = "dead_token"
        case sessionReplaced = "session_replaced"
        case sessionClosed = "session_closed"
        case eventsErased = "events_erased"
        case revisionDiffers = "revision_differs"
        case requestTimeout = "request_timeout"
        case bodyTooLarge = "body_too_large"
        case unsupportedMediaType = "unsupported_media_type"
        case invalidBody = "invalid_body"
        case unknownType = "unknown_type"
        case noProvider = "no_provider"
        case activityIDConflict = "activity_id_conflict"
        case activityNotNamed = "activity_not_named"
        case contractViolation = "contract_violation"
        case payloadTooLarge = "payload_too_large"
        case audienceTooLarge = "audience_too_large"
        case idempotencyKeyReused = "idempotency_key_reused"
        case tooManyAwaiting = "too_many_awaiting"
        case tooManyCards = "too_many_cards"
        case tooManyDevices = "too_many_devices"
        case tooManyTokens = "too_many_tokens"
        case deviceChangesHands = "device_changes_hands"
        case ignoredByIOS = "ignored_by_ios"
        case rateLimited = "rate_limited"
        case trialTooLong = "trial_too_long"
        case typeMisconfigured = "type_misconfigured"
        case internalError = "internal_error"
        case storageUnavailable = "storage_unavailable"
        case commitUnknown = "commit_unknown"
        case overloaded = "overloaded"
        case notReady = "not_ready"
        case keysUnavailable = "keys_unavailable"

        /// The HTTP status of every answer with this code.
        package var status: Int {
            switch self {
            case .invalidJSON, .invalidID, .invalidPath, .invalidQuery, .invalidHeader: 400
            case .keyMissing, .keyInvalid, .keyExpired, .tokenInvalid, .tokenExpired, .credentialInvalid: 401
            case .scopeMissing, .originRefused, .appNotConfigured, .userDiffers, .deviceTaken: 403
            case .notFound, .unknownActivity, .unknownDevice, .unknownWebhook: 404
            case .methodNotAllowed: 405
            case .requestTimeout: 408
            case .activityEnded, .noStateYet, .typeDiffers, .attributesDiffer, .deadToken, .sessionReplaced,
                .sessionClosed:
                409
            case .eventsErased: 410
            case .revisionDiffers: 412
            case .bodyTooLarge: 413
            case .unsupportedMediaType: 415
            case .invalidBody, .unknownType, .noProvider, .activityIDConflict, .activityNotNamed, .contractViolation,
                .payloadTooLarge, .audienceTooLarge, .idempotencyKeyReused, .ignoredByIOS, .tooManyAwaiting,
                .tooManyCards, .tooManyDevices, .trialTooLong:
                422
            case .rateLimited, .tooManyTokens: 429
            case .typeMisconfigured, .internalError: 500
            case .storageUnavailable, .commitUnknown, .overloaded, .notReady, .keysUnavailable, .deviceChangesHands: 503
            }
        }

        /// A short title, the same in every answer with this code.
        package var title: String {
            switch self {
            case .invalidJSON: "The body is not JSON"
            case .invalidID: "An id in the path is not allowed"
            case .invalidPath: "The path is not percent-encoded UTF-8"
            case .invalidHeader: "A header is not allowed"
            case .invalidQuery: "A query parameter is not allowed"
            case .keyMissing: "An API key is needed"
            case .keyInvalid: "The API key is not valid"
            case .keyExpired: "The API key has expired"
            case .tokenInvalid: "The person's token is not valid"
            case .tokenExpired: "The person's token has expired"
            case .credentialInvalid: "The device credential is not valid"
            case .scopeMissing: "The caller may not do this"
            case .originRefused: "The request does not come from the console's own pages"
            case .userDiffers: "The token is of another person"
            case .deviceTaken: "Another person is signed in on this device"
            case .tooManyAwaiting: "Too many cards of activities that do not know this person"
            case .tooManyCards: "Too many new cards on this device"
            case .tooManyDevices: "Too many devices of this person"
            case .tooManyTokens: "Too many new tokens on this device"
            case .deviceChangesHands: "The device is being handed over to another person"
            case .keysUnavailable: "The keys that verify this token are not loaded yet"
            case .appNotConfigured: "The app of this key is not configured"
            case .notFound: "There is no such call"
            case .unknownActivity: "There is no such activity"
            case .unknownDevice: "There is no such device"
            case .unknownWebhook: "There is no such webhook"
            case .methodNotAllowed: "This path does not take this method"
            case .activityEnded: "The activity has ended"
            case .noStateYet: "The activity has no state yet"
            case .typeDiffers: "The activity is of another type"
            case .attributesDiffer: "The activity has other attributes"
            case .deadToken: "The token is dead"
            case .sessionReplaced: "A newer replacement of the audience has begun"
            case .sessionClosed: "The replacement of the audience is complete"
            case .eventsErased: "Events that followed are erased"
            case .revisionDiffers: "The activity is at another revision"
            case .idempotencyKeyReused: "The idempotency key belongs to another call"
            case .requestTimeout: "The request did not come in time"
            case .bodyTooLarge: "The body is too large"
            case .unsupportedMediaType: "The body is not declared as JSON"
            case .invalidBody: "The body does not have the form of this call"
            case .unknownType: "There is no such activity type"
            case .noProvider: "The activity type has no provider"
            case .activityIDConflict: "The attributes name another activity"
            case .activityNotNamed: "The report does not say which activity the card is"
            case .contractViolation: "The phones could not decode it"
            case .payloadTooLarge: "The push would be larger than APNs takes"
            case .audienceTooLarge: "The audience is too large for one call"
            case .ignoredByIOS: "iOS would silently ignore this"
            case .rateLimited: "Too many requests"
            case .trialTooLong: "The replay of the day takes too long"
            case .typeMisconfigured: "The configuration of the activity type is incomplete"
            case .internalError: "The server failed"
            case .storageUnavailable: "The database is not available"
            case .commitUnknown: "The change may or may not have been stored"
            case .overloaded: "The server is overloaded"
            case .notReady: "The server is not ready"
            }
        }
    }

    package var code: Code
    package var detail: String
    package var pointer: String?
    package var expected: String?
    package var given: String?
    package var fix: String?
    /// The activity's current revision.
    package var revision: Int?
    /// Every value that does not match the contract.
    package var errors: [ProblemDetails.FieldError]?
    /// The members that take the most space of a push that is too large.
    package var sizes: [ProblemDetails.FieldSize]?
    /// Additional headers: `Allow`, `WWW-Authenticate`, `Retry-After`.
    package var headers: HTTPFields = [:]

    package init(
        _ code: Code, _ detail: String, pointer: String? = nil, expected: String? = nil, given: String? = nil,
        fix: String? = nil, headers: HTTPFields = [:]
    ) {
        self.code = code
        self.detail = detail
        self.pointer = pointer
        self.expected = expected
        self.given = given
        self.fix = fix
        self.headers = headers
    }

    /// Creates a refusal of a value that has the right JSON type but is not allowed.
    static func invalid(
        _ pointer: String, _ problem: String, expected: String? = nil, given: String? = nil, fix: String? = nil
    ) -> Problem {
        Problem(.invalidBody, "\(pointer): \(problem)", pointer: pointer, expected: expected, given: given, fix: fix)
    }

    /// Creates a refusal of a value that APNs accepts, but that the phone silently drops or misunderstands.
    static func ignored(
        _ pointer: String, _ problem: String, expected: String, given: String? = nil, fix: String
    ) -> Problem {
        Problem(.ignoredByIOS, "\(pointer): \(problem)", pointer: pointer, expected: expected, given: given, fix: fix)
    }

    /// Returns the problem document. `type` is relative to the server, and `docs/api/errors.md` explains the codes.
    func document(requestID: String) -> ProblemDetails {
        ProblemDetails(
            type: "/problems/\(code.rawValue)", title: code.title, status: code.status, detail: detail,
            code: code.rawValue, pointer: pointer, expected: expected, given: given, fix: fix,
            instance: "/requests/\(requestID)", revision: revision, errors: errors, sizes: sizes)
    }
}
