public import JSONText

/// The body of an ordinary notification, at most 4,096 bytes.
///
/// Source: Apple, "Generating a remote notification".
public struct AlertPayload: Sendable, Hashable {
    /// The body as it is sent.
    public let bytes: [UInt8]

    /// Creates the body of a simple notification.
    ///
    /// - Parameters:
    ///   - alert: The title, body and sound.
    ///   - subtitle: The line between title and body.
    ///   - threadID: The thread. Notifications of one thread appear as one group.
    ///   - data: The app's own members, beside `aps`. The app reads them when the person opens the notification.
    /// - Throws: `PayloadError`:
    ///   - `.missingAlertTitle` if the title is empty
    ///   - `.tooLarge` if the body exceeds 4,096 bytes
    ///   - `.dataNamesAPS` if the data has a member `aps`
    public init(
        _ alert: PushAlert, subtitle: PushAlert.Text? = nil, threadID: String? = nil, data: JSONObject = [:]
    ) throws(PayloadError) {
        guard !alert.title.isEmpty else { throw .missingAlertTitle }
        var content = NotificationContent(
            title: alert.title, subtitle: subtitle, body: alert.body, sound: alert.sound.map { .named($0) })
        content.threadID = threadID
        try self.init(content, data: data)
    }

    /// Creates the body of a notification with any of Apple's content.
    ///
    /// - Parameter data: The app's own members, beside `aps`.
    /// - Throws: `PayloadError`:
    ///   - `.empty` if the content is empty
    ///   - `.outOfRange` for a badge, volume or relevance that Apple's table does not allow
    ///   - `.tooLarge` if the body exceeds 4,096 bytes
    ///   - `.dataNamesAPS` if the data has a member `aps`
    public init(_ content: NotificationContent, data: JSONObject = [:]) throws(PayloadError) {
        var text = PayloadText(reserving: 256)
        let parts = try content.write(into: &text)
        bytes = try text.finished(
            limit: PushType.alert.maximumPayloadBytes, parts: parts + data.sizes, beside: data)
    }

    /// Creates a payload from the stored bytes of an earlier one.
    package init(kept bytes: [UInt8]) {
        self.bytes = bytes
    }
}

/// The body of a push that wakes the app without showing anything, at most 4,096 bytes.
///
/// iOS decides when it launches the app: at most a few times an hour, and never after the person has force-quit it.
/// Source: Apple, "Pushing background updates to your App".
public struct BackgroundPayload: Sendable, Hashable {
    /// The body as it is sent.
    public let bytes: [UInt8]

    /// Creates a body with `content-available` and no data for the app.
    public init() {
        bytes = Array(#"{"aps":{"content-available":1}}"#.utf8)
    }

    /// Creates a body with data for the app.
    ///
    /// - Parameter data: The app's own members, beside `aps`, which it reads when it is woken.
    /// - Throws: `PayloadError.tooLarge` if the body exceeds 4,096 bytes, or `.dataNamesAPS` if the data has a member
    ///   `aps`.
    public init(data: JSONObject) throws(PayloadError) {
        var text = PayloadText(reserving: 64)
        text.member("content-available", 1)
        bytes = try text.finished(limit: PushType.background.maximumPayloadBytes, parts: data.sizes, beside: data)
    }

    /// Creates a payload from the stored bytes of an earlier one.
    package init(kept bytes: [UInt8]) {
        self.bytes = bytes
    }
}
