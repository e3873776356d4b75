public import JSONText

/// The body of a push that announces a call, at most 5,120 bytes; PushKit hands it to the app whole.
///
/// Apple, "Responding to VoIP Notifications from PushKit": the app reports each to CallKit, or the system ends it.
public struct VoIPPayload: Sendable, Hashable {
    /// The body as it is sent.
    public let bytes: [UInt8]

    /// - Parameter data: What the app reads: the caller, a handle, an id of the call.
    /// - Throws: `PayloadError.empty` without data, `.dataNamesAPS`, `.tooLarge`.
    public init(data: JSONObject) throws(PayloadError) {
        bytes = try PayloadText.appOwned(data, limit: PushType.voip.maximumPayloadBytes)
    }
}

/// The body of a push-to-talk push, at most 4,096 bytes: who speaks, or that the channel is left.
///
/// Apple, "Creating a Push to Talk app".
public struct PushToTalkPayload: Sendable, Hashable {
    /// The body as it is sent.
    public let bytes: [UInt8]

    /// - Parameter data: What `incomingPushResult(channelManager:channelUUID:pushPayload:)` gets.
    /// - Throws: `PayloadError.empty` without data, `.dataNamesAPS`, `.tooLarge`.
    public init(data: JSONObject) throws(PayloadError) {
        bytes = try PayloadText.appOwned(data, limit: PushType.pushtotalk.maximumPayloadBytes)
    }
}

/// The body of a push that renews a watch's complication, at most 4,096 bytes.
///
/// PushKit hands it to the app whole, a limited number of times a day.
public struct ComplicationPayload: Sendable, Hashable {
    /// The body as it is sent.
    public let bytes: [UInt8]

    /// - Parameter data: What the app makes the new complication of.
    /// - Throws: `PayloadError.empty` without data, `.dataNamesAPS`, `.tooLarge`.
    public init(data: JSONObject) throws(PayloadError) {
        bytes = try PayloadText.appOwned(data, limit: PushType.complication.maximumPayloadBytes)
    }
}

/// The body of a push that asks a phone where it is, at most 4,096 bytes.
///
/// Apple, "Creating a location push service extension". The system limits how often the extension is woken.
public struct LocationPayload: Sendable, Hashable {
    /// The body as it is sent.
    public let bytes: [UInt8]

    /// - Parameter data: What `didReceiveLocationPushPayload` gets, beside `aps`.
    /// - Throws: `PayloadError.dataNamesAPS`, `.tooLarge`.
    public init(data: JSONObject = [:]) throws(PayloadError) {
        var text = PayloadText(reserving: 64)
        text.member("content-available", 1)
        bytes = try text.finished(limit: PushType.location.maximumPayloadBytes, parts: data.sizes, beside: data)
    }
}

/// The body of a push that tells a File Provider extension of changes, at most 4,096 bytes.
///
/// Apple, "Using push notifications to signal changes".
public struct FileProviderPayload: Sendable, Hashable {
    /// The set of items that the system keeps up to date all the time.
    public static let workingSet = "NSFileProviderWorkingSetContainerItemIdentifier"

    /// The body as it is sent.
    public let bytes: [UInt8]

    /// - Parameters:
    ///   - container: The identifier of the container that changed; the working set unless said otherwise.
    ///   - domain: The identifier of the file provider's domain; left out for the one an app without domains has.
    /// - Throws: `PayloadError.empty` for an empty container, `.tooLarge`.
    public init(container: String = workingSet, domain: String? = nil) throws(PayloadError) {
        guard !container.isEmpty else { throw .empty }
        var members: JSONObject = ["container-identifier": .string(container)]
        if let domain { members["domain"] = .string(domain) }
        bytes = try PayloadText.appOwned(members, limit: PushType.fileprovider.maximumPayloadBytes)
    }
}

/// The body of a push that reloads the app's widgets; it says only that something changed.
///
/// Apple, "Updating widgets with WidgetKit push notifications".
public struct WidgetPayload: Sendable, Hashable {
    /// The body as it is sent.
    public let bytes: [UInt8]

    /// There is nothing to choose.
    public init() {
        bytes = PayloadText.contentChanged
    }
}

/// The body of a push that reloads a control; it says only that something changed.
///
/// Apple, "Updating controls locally and remotely".
public struct ControlPayload: Sendable, Hashable {
    /// The body as it is sent.
    public let bytes: [UInt8]

    /// There is nothing to choose.
    public init() {
        bytes = PayloadText.contentChanged
    }
}

extension PayloadText {
    fileprivate static let contentChanged = Array(#"{"aps":{"content-changed":true}}"#.utf8)

    /// A body of the app's own members alone. An empty `aps` would be refused as PayloadEmpty, so there is none.
    fileprivate static func appOwned(_ data: JSONObject, limit: Int) throws(PayloadError) -> [UInt8] {
        guard data["aps"] == nil else { throw .dataNamesAPS }
        guard !data.isEmpty else { throw .empty }
        let bytes = JSONValue.object(data).bytes
        guard bytes.count <= limit else {
            throw .tooLarge(bytes: bytes.count, limit: limit, parts: data.sizes)
        }
        return bytes
    }
}

extension JSONObject {
    /// The size of the app's own data, for an error.
    var sizes: [PayloadError.Part] {
        isEmpty ? [] : [.init(name: "data", bytes: JSONValue.object(self).bytes.count)]
    }
}
