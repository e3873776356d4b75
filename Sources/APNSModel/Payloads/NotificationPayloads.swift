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
        var content = NotificationContent(
            title: alert.title, subtitle: subtitle, body: alert.body, sound: alert.sound.map { .named($0) })
        content.threadID = threadID
        try self.init(content, data: data)
    }

    /// A notification with all that Apple lets one say.
    ///
    /// - Parameter data: The app's own members, beside `aps`.
    /// - Throws: `PayloadError.empty` when nothing is shown, heard or done, `.outOfRange` for a badge, volume or
    ///   relevance that Apple's table does not allow, `.tooLarge` beyond 4,096 bytes, `.dataNamesAPS`.
    public init(_ content: NotificationContent, data: JSONObject = [:]) throws(PayloadError) {
        var text = PayloadText(reserving: 256)
        let parts = try content.write(into: &text)
        bytes = try text.finished(
            limit: PushType.alert.maximumPayloadBytes, parts: parts + data.sizes, beside: data)
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
