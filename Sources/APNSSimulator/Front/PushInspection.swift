internal import APNSModel
internal import JSONText

/// A request as it came off the wire, taken apart but not judged.
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
    /// A header that may come once came more often.
    var hasDuplicates = false
    var bodyBytes = 0
    /// The body when it is a JSON object.
    var body: JSONObject?

    static let devicePath = "/3/device/"

    /// The last part of the path, in lower case as tokens are kept.
    var tokenText: String? {
        guard path.hasPrefix(Self.devicePath) else { return nil }
        return path.dropFirst(Self.devicePath.count).lowercased()
    }

    var event: String? { body?["aps"]?.object?["event"]?.string }
}

/// A push that APNs takes.
struct AcceptedPush: Sendable {
    let phone: PhoneID
    let use: TokenUse
    let type: PushType
    let priority: Int
    /// Until when it is kept for a phone that is offline; `nil` when it is not kept.
    let storedUntil: UnixTime?
    /// The sender writes `iat` as a string.
    let hasTextualIssueDate: Bool
}

/// Everything APNs checks, in one order. Apple documents none; a test that needs another one relies on an accident.
enum PushInspection {
    /// What the checks look things up in.
    struct Directory: Sendable {
        var keys: [String: ProviderKey] = [:]
        var tokens = TokenDirectory()
    }

    /// Apple keeps a notification for 30 days when the sender does not say how long.
    private static let longestStorage = Duration.seconds(30 * 86_400)

    /// Judges a request: method, path, repeated headers, authorization, token syntax, topic and push type, the other
    /// headers, size, body, state of the token.
    static func inspect(
        _ arrival: PushArrival, session: inout ProviderSession, directory: Directory, now: UnixTime
    ) throws(Refusal) -> AcceptedPush {
        guard arrival.method == "POST" else { throw Refusal(.methodNotAllowed) }
        // `/3/device` without a token is a path that APNs knows, and says what is missing.
        guard arrival.path.hasPrefix(PushArrival.devicePath) || arrival.path == "/3/device" else {
            throw Refusal(.badPath)
        }
        guard !arrival.hasDuplicates else { throw Refusal(.duplicateHeaders) }
        let (token, key) = try session.authorize(
            arrival.authorization, keys: directory.keys, environment: arrival.environment, now: now)
        guard let hex = arrival.tokenText, !hex.isEmpty else { throw Refusal(.missingDeviceToken) }
        guard (try? DeviceToken(hex: hex)) != nil else { throw Refusal(.badDeviceToken) }
        let (bundleID, type) = try topic(arrival, key: key)
        let (priority, storedUntil) = try headers(arrival, type: type, now: now)
        guard arrival.bodyBytes <= type.maximumPayloadBytes else { throw Refusal(.payloadTooLarge) }
        // No reason of Apple's says "not JSON"; an empty payload is what APNs makes of it.
        guard let aps = arrival.body?["aps"]?.object, !aps.isEmpty else { throw Refusal(.payloadEmpty) }
        let entry = try state(of: hex, in: directory.tokens, arrival, bundleID, type, now: now)
        return AcceptedPush(
            phone: entry.phone, use: entry.use, type: type, priority: priority, storedUntil: storedUntil,
            hasTextualIssueDate: token.issuedAtIsText)
    }

    private static func topic(
        _ arrival: PushArrival, key: ProviderKey
    ) throws(Refusal) -> (bundleID: BundleID, type: PushType) {
        guard let topic = arrival.topic, !topic.isEmpty else { throw Refusal(.missingTopic) }
        guard let text = arrival.pushType, let type = PushType(rawValue: text) else { throw Refusal(.invalidPushType) }
        guard BundleID(topic) != nil else { throw Refusal(.badTopic) }
        guard topic.hasSuffix(type.topicSuffix) else {
            // The suffix that is missing belongs to Live Activities alone: the token is not for the bare topic.
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

    private static func state(
        of hex: String, in tokens: TokenDirectory, _ arrival: PushArrival, _ bundleID: BundleID, _ type: PushType,
        now: UnixTime
    ) throws(Refusal) -> TokenDirectory.Entry {
        guard let entry = tokens[hex], entry.environment == arrival.environment else { throw Refusal(.badDeviceToken) }
        let fits =
            switch entry.use {
            case .device: type == .alert || type == .background
            case .pushToStart, .update: type == .liveactivity
            }
        guard entry.bundleID == bundleID, fits else { throw Refusal(.deviceTokenNotForTopic) }
        if let end = entry.end, end.refusedFrom <= now { throw Refusal(end.reason, timestamp: end.at) }
        return entry
    }
}
