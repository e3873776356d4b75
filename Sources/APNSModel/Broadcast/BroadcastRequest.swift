public import JSONText

/// The body of a push to a channel, at most 5,120 bytes. A broadcast updates and ends; it starts nothing.
///
/// Apple, "Sending broadcast push notification requests to APNs". ActivityKit still limits a Live Activity's data to
/// 4 KB, so the larger body makes room for an alert, not for a larger state.
public struct BroadcastPayload: Sendable, Hashable {
    /// The largest body, in bytes.
    public static let maximumBytes = 5_120

    /// The body as it is sent.
    public let bytes: [UInt8]

    /// Updates every Live Activity of the channel.
    ///
    /// - Throws: `PayloadError.tooLarge` when the body passes 5,120 bytes.
    public static func update(
        timestamp: UnixTime, contentState: EncodedObject, alert: PushAlert? = nil, staleDate: UnixTime? = nil,
        relevance: RelevanceScore? = nil
    ) throws(PayloadError) -> Self {
        Self(
            bytes: try PayloadText.update(timestamp, contentState, alert, staleDate, relevance, limit: maximumBytes))
    }

    /// Ends every Live Activity of the channel.
    ///
    /// - Parameter contentState: The last state to show; without one each card keeps what it shows.
    /// - Throws: `PayloadError.tooLarge` when the body passes 5,120 bytes.
    public static func end(
        timestamp: UnixTime, contentState: EncodedObject?, dismissal: Dismissal = .systemDefault,
        alert: PushAlert? = nil, relevance: RelevanceScore? = nil
    ) throws(PayloadError) -> Self {
        Self(bytes: try PayloadText.end(timestamp, contentState, dismissal, alert, relevance, limit: maximumBytes))
    }
}

/// One push to everybody who subscribed to a channel.
public struct BroadcastRequest: Sendable {
    /// The app.
    public let bundleID: BundleID
    /// The environment of the channel.
    public let environment: APNSEnvironment
    /// The channel.
    public let channelID: ChannelID
    /// The value of `apns-priority`.
    public let priority: PushPriority
    /// Until when APNs keeps it for phones that are away, the value of `apns-expiration`; `nil` sends 0: not at all.
    public let storedUntil: UnixTime?
    /// The value of `apns-request-id`, which the answer repeats; APNs makes one when it is `nil`.
    public let id: PushID?
    /// The body.
    public let payload: BroadcastPayload

    /// - Throws: `BroadcastRequestError.channelStoresNothing` for a `storedUntil` on a channel that keeps no message,
    ///   which APNs refuses with BadExpirationDate.
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

    /// The header's number, in seconds since 1970. 0 has a meaning of its own, so no instant becomes 0.
    public var expirationValue: Int64 { storedUntil.map { max(1, $0.seconds) } ?? 0 }
}

/// Why a broadcast cannot be made: APNs would refuse it.
public enum BroadcastRequestError: Error, Sendable, Hashable, CustomStringConvertible {
    /// A message with an expiration, for a channel whose policy keeps no messages.
    case channelStoresNothing

    /// For people.
    public var description: String {
        "the channel was made to store no message: leave `storedUntil` out, or make a channel with `mostRecent`"
    }
}

extension BroadcastRequest: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// App, channel and size; the payload is not printed.
    public var description: String {
        "broadcast to channel \(channelID) of \(bundleID), priority \(priority.rawValue), \(payload.bytes.count) bytes"
    }

    /// As in `description`.
    public var debugDescription: String { description }
    /// `dump` and test failure messages print mirrors: the payload is not theirs either.
    public var customMirror: Mirror { Mirror(self, children: ["summary": description]) }
}
