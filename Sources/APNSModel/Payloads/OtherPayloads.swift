public import JSONText

/// The body of a push that announces a call, at most 5,120 bytes. PushKit passes it to the app unchanged.
///
/// The app must report each call to CallKit, or the system terminates it. Source: Apple, "Responding to VoIP
/// Notifications from PushKit".
public struct VoIPPayload: Sendable, Hashable {
    /// The body as it is sent.
    public let bytes: [UInt8]

    /// Creates the body.
    ///
    /// - Parameter data: The members that the app reads, such as the caller, a handle, and an id of the call.
    /// - Throws: `PayloadError.empty` without data, `.dataNamesAPS` if the data has a member `aps`, or `.tooLarge`.
    public init(data: JSONObject) throws(PayloadError) {
        bytes = try PayloadText.appOwned(data, limit: PushType.voip.maximumPayloadBytes)
    }
}

/// The body of a push-to-talk push, at most 4,096 bytes. It says who speaks, or that the channel is left.
///
/// Source: Apple, "Creating a Push to Talk app".
public struct PushToTalkPayload: Sendable, Hashable {
    /// The body as it is sent.
    public let bytes: [UInt8]

    /// Creates the body.
    ///
    /// - Parameter data: The members that `incomingPushResult(channelManager:channelUUID:pushPayload:)` receives.
    /// - Throws: `PayloadError.empty` without data, `.dataNamesAPS` if the data has a member `aps`, or `.tooLarge`.
    public init(data: JSONObject) throws(PayloadError) {
        bytes = try PayloadText.appOwned(data, limit: PushType.pushtotalk.maximumPayloadBytes)
    }
}

/// The body of a push that updates a watch's complication, at most 4,096 bytes.
///
/// PushKit passes it to the app unchanged, a limited number of times a day.
public struct ComplicationPayload: Sendable, Hashable {
    /// The body as it is sent.
    public let bytes: [UInt8]

    /// Creates the body.
    ///
    /// - Parameter data: The members from which the app builds the new complication.
    /// - Throws: `PayloadError.empty` without data, `.dataNamesAPS` if the data has a member `aps`, or `.tooLarge`.
    public init(data: JSONObject) throws(PayloadError) {
        bytes = try PayloadText.appOwned(data, limit: PushType.complication.maximumPayloadBytes)
    }
}

/// The body of a push that asks for a phone's location, at most 4,096 bytes.
///
/// The system limits how often it wakes the extension. Source: Apple, "Creating a location push service extension".
public struct LocationPayload: Sendable, Hashable {
    /// The body as it is sent.
    public let bytes: [UInt8]

    /// Creates the body.
    ///
    /// - Parameter data: The members beside `aps` that `didReceiveLocationPushPayload` receives.
    /// - Throws: `PayloadError.dataNamesAPS` if the data has a member `aps`, or `.tooLarge`.
    public init(data: JSONObject = [:]) throws(PayloadError) {
        var text = PayloadText(reserving: 64)
        text.member("content-available", 1)
        bytes = try text.finished(limit: PushType.location.maximumPayloadBytes, parts: data.sizes, beside: data)
    }
}

/// The body of a push that tells a File Provider extension about changes, at most 4,096 bytes.
///
/// Source: Apple, "Using push notifications to signal changes".
public struct FileProviderPayload: Sendable, Hashable {
    /// The identifier of the working set: the items that the system always keeps up to date.
    public static let workingSet = "NSFileProviderWorkingSetContainerItemIdentifier"

    /// The body as it is sent.
    public let bytes: [UInt8]

    /// Creates the body.
    ///
    /// - Parameters:
    ///   - container: The identifier of the changed container. The default is the working set.
    ///   - domain: The identifier of the file provider's domain, or `nil` for the default domain of an app without
    ///     domains.
    /// - Throws: `PayloadError.empty` if the container is empty, or `.tooLarge`.
    public init(container: String = workingSet, domain: String? = nil) throws(PayloadError) {
        guard !container.isEmpty else { throw .empty }
        var members: JSONObject = ["container-identifier": .string(container)]
        if let domain { members["domain"] = .string(domain) }
        bytes = try PayloadText.appOwned(members, limit: PushType.fileprovider.maximumPayloadBytes)
    }
}

/// The body of a push that reloads the app's widgets. It contains no data.
///
/// Source: Apple, "Updating widgets with WidgetKit push notifications".
public struct WidgetPayload: Sendable, Hashable {
    /// The body as it is sent.
    public let bytes: [UInt8]

    /// Creates the body, which is always the same.
    public init() {
        bytes = PayloadText.contentChanged
    }
}

/// The body of a push that reloads a control. It contains no data.
///
/// Source: Apple, "Updating controls locally and remotely".
public struct ControlPayload: Sendable, Hashable {
    /// The body as it is sent.
    public let bytes: [UInt8]

    /// Creates the body, which is always the same.
    public init() {
        bytes = PayloadText.contentChanged
    }
}

extension PayloadText {
    fileprivate static let contentChanged = Array(#"{"aps":{"content-changed":true}}"#.utf8)

    /// Returns a body with only the app's own members. It has no `aps`, because APNs refuses an empty one as
    /// PayloadEmpty.
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
    /// The size of the app's own data, for errors.
    var sizes: [PayloadError.Part] {
        isEmpty ? [] : [.init(name: "data", bytes: JSONValue.object(self).bytes.count)]
    }
}
