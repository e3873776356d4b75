internal import APNSModel
internal import JSONText

/// A parsed request that has not been checked yet.
struct PushArrival: Sendable {
    var environment: APNSEnvironment
    var streamID = 1
    var method = "POST"
    var path = ""
    var authorization: String?
    var topic: String?
    var pushType: String?
    var priority: String?
    var expiration: String?
    var id: String?
    var collapseID: String?
    var channelID: String?
    var requestID: String?
    /// `true` if it arrived on the port of channel management.
    var isManagement = false
    /// `true` if a header that may occur once occurs more often.
    var hasDuplicates = false
    var bodyBytes = 0
    /// The body, if it is a JSON object.
    var body: JSONObject?
    /// Digest of the body's content state, if it has been computed already.
    var stateDigest: ContentDigest?

    static let devicePath = "/3/device/"

    /// The last part of the path in lowercase, as tokens are stored.
    var tokenText: String? {
        guard path.hasPrefix(Self.devicePath) else { return nil }
        return path.dropFirst(Self.devicePath.count).lowercased()
    }

    var event: String? { body?["aps"]?.object?["event"]?.string }
}

/// The recipient of a push, by its token.
enum Recipient: Sendable {
    case phone(TokenDirectory.Entry)
    case member(CrowdDirectory.Entry, Int)

    var phone: PhoneID? {
        if case .phone(let entry) = self { entry.phone } else { nil }
    }

    var environment: APNSEnvironment {
        switch self {
        case .phone(let entry): entry.environment
        case .member(let entry, _): entry.environment
        }
    }

    var bundleID: BundleID {
        switch self {
        case .phone(let entry): entry.bundleID
        case .member(let entry, _): entry.bundleID
        }
    }

    /// Returns `true` if the token takes pushes of this type.
    func takes(_ type: PushType) -> Bool {
        if case .phone(let entry) = self, case .other(let own) = entry.use { return type == own }
        let isForDevice =
            switch self {
            case .phone(let entry): entry.use == .device
            case .member(let entry, _): entry.kind == .device
            }
        return isForDevice ? type == .alert || type == .background : type == .liveactivity
    }
}

/// A push that APNs accepts.
struct AcceptedPush: Sendable {
    let recipient: Recipient
    let type: PushType
    let priority: Int
    /// Time until which APNs keeps it for an offline phone; `nil` if it is not kept.
    let storedUntil: UnixTime?
    /// `true` if the provider token has `iat` as a string.
    let hasTextualIssueDate: Bool
}

/// All checks of APNs for pushes, in one order.
///
/// Apple documents no order, so a test must not rely on this one.
enum PushInspection {
    /// The tables in which the checks look things up.
    struct Directory: Sendable {
        var keys: [String: ProviderKey] = [:]
        var tokens = TokenDirectory()
        var crowds = CrowdDirectory()

        func recipient(of hex: String) -> Recipient? {
            if let entry = tokens[hex] { return .phone(entry) }
            return crowds[hex].map { .member($0.entry, $0.member) }
        }
    }

    /// Apple keeps a notification for 30 days if the sender names no expiration.
    private static let longestStorage = Duration.seconds(30 * 86_400)

    /// Checks a request: method, path, repeated headers, authorization, token syntax, topic and push type, the other
    /// headers, size, body, state of the token.
    static func inspect(
        _ arrival: PushArrival, to recipient: Recipient?, session: inout ProviderSession, keys: [String: ProviderKey],
        now: UnixTime
    ) throws(Refusal) -> AcceptedPush {
        guard arrival.method == "POST" else { throw Refusal(.methodNotAllowed) }
        // APNs knows the path `/3/device` without a token, and reports the missing token.
        guard arrival.path.hasPrefix(PushArrival.devicePath) || arrival.path == "/3/device" else {
            throw Refusal(.badPath)
        }
        guard !arrival.hasDuplicates else { throw Refusal(.duplicateHeaders) }
        let (token, key) = try session.authorize(
            arrival.authorization, keys: keys, environment: arrival.environment, now: now)
        guard let hex = arrival.tokenText, !hex.isEmpty else { throw Refusal(.missingDeviceToken) }
        // A known token is well-formed.
        guard recipient != nil || (try? DeviceToken(hex: hex)) != nil else { throw Refusal(.badDeviceToken) }
        let (bundleID, type) = try topic(arrival, key: key)
        let (priority, storedUntil) = try headers(arrival, type: type, now: now)
        guard arrival.bodyBytes <= type.maximumPayloadBytes else { throw Refusal(.payloadTooLarge) }
        // Apple has no reason for a body that is not JSON. APNs answers as to an empty payload.
        guard hasContent(arrival, for: type) else { throw Refusal(.payloadEmpty) }
        guard let recipient, recipient.environment == arrival.environment else { throw Refusal(.badDeviceToken) }
        guard recipient.bundleID == bundleID, recipient.takes(type) else { throw Refusal(.deviceTokenNotForTopic) }
        if case .phone(let entry) = recipient, let end = entry.end, end.refusedFrom <= now {
            throw Refusal(end.reason, timestamp: end.at)
        }
        return AcceptedPush(
            recipient: recipient, type: type, priority: priority, storedUntil: storedUntil,
            hasTextualIssueDate: token.issuedAtIsText)
    }

    /// Content for an app's own code or extension may be outside of `aps`. An empty `aps` is refused.
    private static func hasContent(_ arrival: PushArrival, for type: PushType) -> Bool {
        guard let body = arrival.body, !body.isEmpty else { return false }
        if let aps = body["aps"] { return aps.object?.isEmpty == false }
        switch type {
        case .alert, .background, .liveactivity, .widgets, .controls, .mdm: return false
        case .complication, .fileprovider, .location, .pushtotalk, .voip: return true
        }
    }

    private static func topic(
        _ arrival: PushArrival, key: ProviderKey
    ) throws(Refusal) -> (bundleID: BundleID, type: PushType) {
        guard let topic = arrival.topic, !topic.isEmpty else { throw Refusal(.missingTopic) }
        guard let text = arrival.pushType, let type = PushType(rawValue: text) else { throw Refusal(.invalidPushType) }
        guard BundleID(topic) != nil else { throw Refusal(.badTopic) }
        guard topic.hasSuffix(type.topicSuffix) else {
            // Only Live Activities need this suffix: the token is not for the bare topic.
            throw Refusal(type == .liveactivity ? .deviceTokenNotForTopic : .invalidPushType)
        }
        if type.topicSuffix.isEmpty,
            PushType.allCases.contains(where: { !$0.topicSuffix.isEmpty && topic.hasSuffix($0.topicSuffix) })
        {
            throw Refusal(.invalidPushType)
        }
        guard let bundleID = BundleID(topic.dropLast(type.topicSuffix.count)) else { throw Refusal(.badTopic) }
        if let topics = key.topics, !topics.contains(bundleID) { throw Refusal(.topicDisallowed) }
        return (bundleID, type)
    }

    private static func headers(
        _ arrival: PushArrival, type: PushType, now: UnixTime
    ) throws(Refusal) -> (priority: Int, storedUntil: UnixTime?) {
        guard let priority = Int(arrival.priority ?? "10"), [1, 5, 10].contains(priority) else {
            throw Refusal(.badPriority)
        }
        if type == .background, priority == 10, arrival.priority != nil { throw Refusal(.badPriority) }
        var storedUntil: UnixTime? = now + longestStorage
        if let text = arrival.expiration {
            guard let seconds = Int64(text), (0...1_000_000_000_000).contains(seconds) else {
                throw Refusal(.badExpirationDate)
            }
            storedUntil = seconds == 0 ? nil : min(UnixTime(seconds: seconds), now + longestStorage)
        }
        if let id = arrival.id, PushID(id) == nil { throw Refusal(.badMessageId) }
        if let collapseID = arrival.collapseID, collapseID.utf8.count > 64 { throw Refusal(.badCollapseId) }
        return (priority, storedUntil)
    }
}
