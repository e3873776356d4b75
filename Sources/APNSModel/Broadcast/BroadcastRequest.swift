public import JSONText

/// The body of a push to a channel, at most 5,120 bytes. A broadcast can update and end Live Activities, but not start
/// them.
///
/// Source: Apple, "Sending broadcast push notification requests to APNs". ActivityKit still limits the data of a Live
/// Activity to 4 KB. The larger body has room for an alert, not for a larger state.
public struct BroadcastPayload: Sendable, Hashable {
    /// Maximum size of the body in bytes.
    public static let maximumBytes = 5_120

    /// The body as it is sent.
    public let bytes: [UInt8]

    /// Creates a body that updates every Live Activity of the channel.
    ///
    /// - Throws: `PayloadError.tooLarge` if the body exceeds 5,120 bytes.
    public static func update(
        timestamp: UnixTime, contentState: EncodedObject, alert: PushAlert? = nil, staleDate: UnixTime? = nil,
        relevance: RelevanceScore? = nil
    ) throws(PayloadError) -> Self {
        Self(
            bytes: try PayloadText.update(timestamp, contentState, alert, staleDate, relevance, limit: maximumBytes))
    }

    /// Creates a body that ends every Live Activity of the channel.
    ///
    /// - Parameter contentState: The last state to show. Without one, each Live Activity keeps the state that it shows.
    /// - Throws: `PayloadError.tooLarge` if the body exceeds 5,120 bytes.
    public static func end(
        timestamp: UnixTime, contentState: EncodedObject?, dismissal: Dismissal = .systemDefault,
        alert: PushAlert? = nil, relevance: RelevanceScore? = nil
    ) throws(PayloadError) -> Self {
        Self(bytes: try PayloadText.end(timestamp, contentState, dismissal, alert, relevance, limit: maximumBytes))
    }
}

/// A push to all subscribers of a channel.
public struct BroadcastRequest: Sendable {
    /// The bundle id of the app.
    public let bundleID: BundleID
    /// The environment of the channel.
    public let environment: APNSEnvironment
    /// The id of the channel.
    public let channelID: ChannelID
    /// The value of `apns-priority`.
    public let priority: PushPriority
    /// Time until which APNs stores the push for offline phones (`apns-expiration`). `nil` sends 0, which stores
    /// nothing.
    public let storedUntil: UnixTime?
    /// The value of `apns-request-id`, which the answer repeats. If it is `nil`, APNs creates one.
    public let id: PushID?
    /// The body.
    public let payload: BroadcastPayload

    /// Creates a request.
    ///
    /// - Throws: `BroadcastRequestError.channelStoresNothing` if `storedUntil` is set and the channel stores no
    ///   messages. APNs would refuse it with BadExpirationDate.
    public init(
        _ payload: BroadcastPayload, to channel: BroadcastChannel, priority: PushPriority = .high,
        storedUntil: UnixTime? = nil, id: PushID? = nil
    ) throws(BroadcastRequestError) {
        guard storedUntil == nil || channel.policy != .none else { throw .channelStoresNothing }
        bundleID = channel.bundleID
        environment = channel.environment
        channelID = channel.id
        self.priority = priority
        self.storedUntil = storedUntil
        self.id = id
        self.payload = payload
    }

    /// The value of `apns-expiration`, in seconds since 1970. 0 means that nothing is stored, so no instant becomes 0.
    public var expirationValue: Int64 { storedUntil.map { max(1, $0.seconds) } ?? 0 }
}

/// An error in a broadcast request that APNs would refuse.
public enum BroadcastRequestError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The request has an expiration, but the channel stores no messages.
    case channelStoresNothing

    /// A description for people.
    public var description: String {
        "the channel was made to store no message: leave `storedUntil` out, or make a channel with `mostRecent`"
    }
}

extension BroadcastRequest: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// A description with the app, channel and size, without the payload.
    public var description: String {
        "broadcast to channel \(channelID) of \(bundleID), priority \(priority.rawValue), \(payload.bytes.count) bytes"
    }

    /// A description with the app, channel and size, without the payload.
    public var debugDescription: String { description }
    /// A mirror without the payload, because `dump` and test failures print mirrors.
    public var customMirror: Mirror { Mirror(self, children: ["summary": description]) }
}
