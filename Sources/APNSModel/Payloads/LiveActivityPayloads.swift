public import JSONText

/// The body of a push that starts a Live Activity, at most 4,096 bytes.
///
/// All members are inside `aps`. The device does not read members beside it, and silently drops the start. Source:
/// Apple, "Starting and updating Live Activities with ActivityKit push notifications".
public struct StartPayload: Sendable, Hashable {
    /// The way in which the new Live Activity receives its updates (iOS 18 and later).
    public enum Input: Sendable, Hashable {
        /// The payload says nothing, as iOS 17 expects. The device provides an update token by itself.
        case unspecified
        /// The device must provide an update token (iOS 18 and later).
        case updateToken
        /// The Live Activity subscribes to this broadcast channel. Before iOS 18, the start fails.
        case channel(ChannelID)
    }

    /// The body as it is sent.
    public let bytes: [UInt8]

    /// Creates the body.
    ///
    /// - Parameters:
    ///   - timestamp: The time of this state, sent in whole seconds. A device ignores a push that is older than the
    ///     state it shows.
    ///   - attributesType: The Swift name of the app's `ActivityAttributes` type.
    /// - Throws: `PayloadError` if the title or the type name is empty, or if the body exceeds 4,096 bytes.
    public init(
        timestamp: UnixTime, attributesType: String, attributes: EncodedObject, contentState: EncodedObject,
        alert: PushAlert, staleDate: UnixTime? = nil, relevance: RelevanceScore? = nil, input: Input = .unspecified
    ) throws(PayloadError) {
        guard !alert.title.isEmpty else { throw .missingAlertTitle }
        guard !attributesType.isEmpty else { throw .missingAttributesType }
        var text = PayloadText(reserving: 512 + attributes.bytes.count + contentState.bytes.count)
        text.member("timestamp", timestamp.seconds)
        text.member("event", "start")
        text.member("attributes-type", attributesType)
        text.member("attributes", encoded: attributes.bytes)
        text.member("content-state", encoded: contentState.bytes)
        let alertBytes = alert.activityValue.bytes
        text.member("alert", encoded: alertBytes)
        if let staleDate { text.member("stale-date", staleDate.seconds) }
        if let relevance { text.member("relevance-score", relevance) }
        switch input {
        case .unspecified: break
        case .updateToken: text.member("input-push-token", 1)
        case .channel(let id): text.member("input-push-channel", id.text)
        }
        bytes = try text.finished(
            limit: PushType.liveactivity.maximumPayloadBytes,
            parts: [
                .init(name: "attributes", bytes: attributes.bytes.count),
                .init(name: "content-state", bytes: contentState.bytes.count),
                .init(name: "alert", bytes: alertBytes.count),
            ])
    }
}

/// The body of a push that updates a running Live Activity, at most 4,096 bytes.
public struct UpdatePayload: Sendable, Hashable {
    /// The body as it is sent.
    public let bytes: [UInt8]

    /// Creates the body.
    ///
    /// - Throws: `PayloadError.tooLarge` if the body exceeds 4,096 bytes.
    public init(
        timestamp: UnixTime, contentState: EncodedObject, alert: PushAlert? = nil, staleDate: UnixTime? = nil,
        relevance: RelevanceScore? = nil
    ) throws(PayloadError) {
        bytes = try PayloadText.update(
            timestamp, contentState, alert, staleDate, relevance, limit: PushType.liveactivity.maximumPayloadBytes)
    }
}

/// The time at which an ended Live Activity leaves the lock screen.
public enum Dismissal: Sendable, Hashable {
    /// The system decides: up to four hours after the end.
    case systemDefault
    /// The Live Activity leaves immediately.
    case immediate
    /// The Live Activity leaves at this time, but at most four hours after the end.
    case at(UnixTime)
}

/// The body of a push that ends a Live Activity, at most 4,096 bytes.
public struct EndPayload: Sendable, Hashable {
    /// The body as it is sent.
    public let bytes: [UInt8]

    /// Creates the body.
    ///
    /// - Parameter contentState: The last state to show. Without one, the Live Activity keeps the state that it shows.
    /// - Throws: `PayloadError.tooLarge` if the body exceeds 4,096 bytes.
    public init(
        timestamp: UnixTime, contentState: EncodedObject?, dismissal: Dismissal = .systemDefault,
        alert: PushAlert? = nil, relevance: RelevanceScore? = nil
    ) throws(PayloadError) {
        bytes = try PayloadText.end(
            timestamp, contentState, dismissal, alert, relevance, limit: PushType.liveactivity.maximumPayloadBytes)
    }
}

extension PayloadText {
    /// Returns the body of an update for one phone or for a channel.
    static func update(
        _ timestamp: UnixTime, _ contentState: EncodedObject, _ alert: PushAlert?, _ staleDate: UnixTime?,
        _ relevance: RelevanceScore?, limit: Int
    ) throws(PayloadError) -> [UInt8] {
        var text = PayloadText(reserving: 256 + contentState.bytes.count)
        text.member("timestamp", timestamp.seconds)
        text.member("event", "update")
        text.member("content-state", encoded: contentState.bytes)
        let alertBytes = alert?.activityValue.bytes
        if let alertBytes { text.member("alert", encoded: alertBytes) }
        if let staleDate { text.member("stale-date", staleDate.seconds) }
        if let relevance { text.member("relevance-score", relevance) }
        return try text.finished(
            limit: limit,
            parts: [
                .init(name: "content-state", bytes: contentState.bytes.count),
                .init(name: "alert", bytes: alertBytes?.count ?? 0),
            ])
    }

    /// Returns the body of an end for one phone or for a channel.
    static func end(
        _ timestamp: UnixTime, _ contentState: EncodedObject?, _ dismissal: Dismissal, _ alert: PushAlert?,
        _ relevance: RelevanceScore?, limit: Int
    ) throws(PayloadError) -> [UInt8] {
        var text = PayloadText(reserving: 256 + (contentState?.bytes.count ?? 0))
        text.member("timestamp", timestamp.seconds)
        text.member("event", "end")
        if let contentState { text.member("content-state", encoded: contentState.bytes) }
        switch dismissal {
        case .systemDefault: break
        // A date in the past means "immediately". One second ago is in the past on every clock that is roughly right.
        case .immediate: text.member("dismissal-date", max(0, timestamp.seconds - 1))
        case .at(let date): text.member("dismissal-date", date.seconds)
        }
        let alertBytes = alert?.activityValue.bytes
        if let alertBytes { text.member("alert", encoded: alertBytes) }
        if let relevance { text.member("relevance-score", relevance) }
        return try text.finished(
            limit: limit,
            parts: [
                .init(name: "content-state", bytes: contentState?.bytes.count ?? 0),
                .init(name: "alert", bytes: alertBytes?.count ?? 0),
            ])
    }
}
