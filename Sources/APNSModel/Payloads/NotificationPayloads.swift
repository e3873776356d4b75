public import JSONText

/// The body of an ordinary notification, at most 4,096 bytes.
///
/// Apple, "Generating a remote notification".
public struct AlertPayload: Sendable, Hashable {
    /// The body as it is sent.
    public let bytes: [UInt8]

    /// - Parameters:
    ///   - subtitle: What stands between title and body.
    ///   - threadID: Notifications of one thread are shown as one group.
    ///   - data: The app's own members, beside `aps`; the app reads them when the person opens the notification.
    /// - Throws: `PayloadError.tooLarge` when the body passes 4,096 bytes, `.missingAlertTitle` without a title,
    ///   `.dataNamesAPS` for data with a member `aps`.
    public init(
        _ alert: PushAlert, subtitle: PushAlert.Text? = nil, threadID: String? = nil, data: JSONObject = [:]
    ) throws(PayloadError) {
        guard !alert.title.isEmpty else { throw .missingAlertTitle }
        var text = PayloadText(reserving: 256)
        let alertBytes = alert.notificationValue(subtitle: subtitle).bytes
        text.member("alert", encoded: alertBytes)
        if let sound = alert.sound { text.member("sound", sound) }
        if let threadID { text.member("thread-id", threadID) }
        bytes = try text.finished(
            limit: PushType.alert.maximumPayloadBytes,
            parts: [.init(name: "alert", bytes: alertBytes.count)] + data.sizes, beside: data)
    }

    /// A body that was made earlier, and kept.
    package init(kept bytes: [UInt8]) {
        self.bytes = bytes
    }
}

/// The body of a push that wakes the app without showing anything, at most 4,096 bytes.
///
/// Apple, "Pushing background updates to your App": iOS launches the app when it sees fit, a few times an hour at most,
/// and not at all after the person force-quit it.
public struct BackgroundPayload: Sendable, Hashable {
    /// The body as it is sent.
    public let bytes: [UInt8]

    /// `content-available` and nothing to show, nor anything for the app to read.
    public init() {
        bytes = Array(#"{"aps":{"content-available":1}}"#.utf8)
    }

    /// - Parameter data: What the app reads when it is woken: members of its own, beside `aps`.
    /// - Throws: `PayloadError.tooLarge` when the body passes 4,096 bytes, `.dataNamesAPS` for data that has `aps`.
    public init(data: JSONObject) throws(PayloadError) {
        var text = PayloadText(reserving: 64)
        text.member("content-available", 1)
        bytes = try text.finished(limit: PushType.background.maximumPayloadBytes, parts: data.sizes, beside: data)
    }

    /// A body that was made earlier, and kept.
    package init(kept bytes: [UInt8]) {
        self.bytes = bytes
    }
}

extension JSONObject {
    fileprivate var sizes: [PayloadError.Part] {
        isEmpty ? [] : [.init(name: "data", bytes: JSONValue.object(self).bytes.count)]
    }
}
