internal import APNSModel
internal import JSONText

/// A refusal of a broadcast or of a call of channel management.
struct ChannelRefusal: Error, Sendable, Hashable {
    let reason: BroadcastReason.Known

    init(_ reason: BroadcastReason.Known) {
        self.reason = reason
    }

    /// Creates a refusal because of the provider token, with the reason that pushes get.
    init(_ refusal: Refusal) {
        reason = BroadcastReason.Known(rawValue: refusal.reason.rawValue) ?? .forbidden
    }
}

/// An operation, named by a path and a method.
enum ChannelOperation: Sendable, Hashable {
    case create
    case read
    case delete
    case list
    case broadcast
}

/// A broadcast that APNs accepts.
struct AcceptedBroadcast: Sendable {
    let channel: ChannelStore.Channel
    let priority: Int
    /// Time until which APNs keeps it for offline phones; `nil` if it is not kept.
    let storedUntil: UnixTime?
}

/// All checks of APNs for broadcasts and channels, in one order (Apple, "Handling error responses from APNs").
enum ChannelInspection {
    static let broadcastPath = "/4/broadcasts/apps/"
    private static let managementPath = "/1/apps/"
    /// Maximum size of a broadcast's body, in bytes.
    static let maximumBytes = 5_120

    /// Checks method, path, ids and provider token, which all operations have in common.
    static func operation(
        _ arrival: PushArrival, isManagement: Bool, session: inout ProviderSession,
        directory: PushInspection.Directory, enabledApps: Set<BundleID>?, now: UnixTime
    ) throws(ChannelRefusal) -> (operation: ChannelOperation, owner: ChannelStore.Owner) {
        let (operation, text) = try path(arrival, isManagement: isManagement)
        if let id = arrival.requestID, PushID(id) == nil { throw ChannelRefusal(.badMessageId) }
        let key: ProviderKey
        do throws(Refusal) {
            key = try session.authorize(
                arrival.authorization, keys: directory.keys, environment: arrival.environment, now: now
            ).key
        } catch {
            throw ChannelRefusal(error)
        }
        guard let bundleID = BundleID(text) else { throw ChannelRefusal(.badPath) }
        guard !PushType.allCases.contains(where: { !$0.topicSuffix.isEmpty && text.hasSuffix($0.topicSuffix) }) else {
            throw ChannelRefusal(.topicDisallowed)
        }
        if let topics = key.topics, !topics.contains(bundleID) { throw ChannelRefusal(.topicMismatch) }
        if let enabledApps, !enabledApps.contains(bundleID) { throw ChannelRefusal(.featureNotEnabled) }
        return (operation, ChannelStore.Owner(bundleID: bundleID, environment: arrival.environment))
    }

    private static func path(
        _ arrival: PushArrival, isManagement: Bool
    ) throws(ChannelRefusal) -> (ChannelOperation, Substring) {
        guard isManagement else {
            guard arrival.path.hasPrefix(broadcastPath) else { throw ChannelRefusal(.badPath) }
            guard arrival.method == "POST" else { throw ChannelRefusal(.methodNotAllowed) }
            return (.broadcast, arrival.path.dropFirst(broadcastPath.count))
        }
        let parts = arrival.path.dropFirst(managementPath.count)
            .split(separator: "/", omittingEmptySubsequences: false)
        guard arrival.path.hasPrefix(managementPath), parts.count == 2 else { throw ChannelRefusal(.badPath) }
        switch (parts[1], arrival.method) {
        case ("channels", "POST"): return (.create, parts[0])
        case ("channels", "GET"): return (.read, parts[0])
        case ("channels", "DELETE"): return (.delete, parts[0])
        case ("all-channels", "GET"): return (.list, parts[0])
        case ("channels", _), ("all-channels", _): throw ChannelRefusal(.methodNotAllowed)
        default: throw ChannelRefusal(.badPath)
        }
    }

    /// Returns the channel that the header names.
    static func channel(
        _ arrival: PushArrival, of owner: ChannelStore.Owner, in store: ChannelStore
    ) throws(ChannelRefusal) -> ChannelStore.Channel {
        guard let text = arrival.channelID, !text.isEmpty else { throw ChannelRefusal(.missingChannelId) }
        guard let id = ChannelID(text) else { throw ChannelRefusal(.badChannelId) }
        guard let channel = store[id, owner] else { throw ChannelRefusal(.channelNotRegistered) }
        return channel
    }

    /// Returns the policy for a new channel.
    static func policy(_ arrival: PushArrival) throws(ChannelRefusal) -> MessageStoragePolicy {
        guard arrival.bodyBytes > 0 else { throw ChannelRefusal(.payloadEmpty) }
        guard arrival.bodyBytes <= maximumBytes else { throw ChannelRefusal(.payloadTooLarge) }
        guard let body = arrival.body else { throw ChannelRefusal(.badRequestPayload) }
        for (name, _) in body where name != "message-storage-policy" && name != "push-type" {
            throw ChannelRefusal(.badRequestParams)
        }
        guard let type = body["push-type"] else { throw ChannelRefusal(.missingPushType) }
        guard type.string?.lowercased() == "liveactivity" else { throw ChannelRefusal(.invalidPushType) }
        guard let policy = body["message-storage-policy"]?.int.flatMap(MessageStoragePolicy.init) else {
            throw ChannelRefusal(.badRequestParams)
        }
        return policy
    }

    /// Checks a broadcast: channel id, push type, expiration, priority, the channel itself, body.
    static func broadcast(
        _ arrival: PushArrival, of owner: ChannelStore.Owner, in store: ChannelStore, now: UnixTime
    ) throws(ChannelRefusal) -> AcceptedBroadcast {
        guard let text = arrival.channelID, !text.isEmpty else { throw ChannelRefusal(.missingChannelId) }
        guard ChannelID(text) != nil else { throw ChannelRefusal(.badChannelId) }
        guard let type = arrival.pushType else { throw ChannelRefusal(.missingPushType) }
        guard type.lowercased() == "liveactivity" else { throw ChannelRefusal(.invalidPushType) }
        guard let seconds = arrival.expiration.flatMap(Int64.init), (0...1_000_000_000_000).contains(seconds) else {
            throw ChannelRefusal(.badExpirationDate)
        }
        guard let priority = arrival.priority.flatMap(Int.init), [1, 5, 10].contains(priority) else {
            throw ChannelRefusal(.badPriority)
        }
        let channel = try channel(arrival, of: owner, in: store)
        guard seconds == 0 || channel.policy == .mostRecent else { throw ChannelRefusal(.badExpirationDate) }
        guard arrival.bodyBytes <= maximumBytes else { throw ChannelRefusal(.payloadTooLarge) }
        guard let aps = arrival.body?["aps"]?.object, !aps.isEmpty else { throw ChannelRefusal(.payloadEmpty) }
        let until = seconds == 0 ? nil : min(UnixTime(seconds: seconds), now + longestStorage)
        return AcceptedBroadcast(channel: channel, priority: priority, storedUntil: until)
    }

    /// Longest storage of a message. A message is useful for as long as a Live Activity may run.
    private static let longestStorage = Duration.seconds(8 * 3_600)
}
