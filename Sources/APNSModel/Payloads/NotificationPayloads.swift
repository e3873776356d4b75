import JSONText

/// The body of an ordinary notification, at most 4,096 bytes.
public struct AlertPayload: Sendable, Hashable {
    /// The body as it is sent.
    public let bytes: [UInt8]

    /// - Throws: `PayloadError.tooLarge` when the body passes 4,096 bytes, `.missingAlertTitle` without a title.
    public init(_ alert: PushAlert) throws(PayloadError) {
        guard !alert.title.isEmpty else { throw .missingAlertTitle }
        var text = PayloadText(reserving: 256)
        let alertBytes = alert.notificationValue.bytes
        text.member("alert", encoded: alertBytes)
        if let sound = alert.sound { text.member("sound", sound) }
        bytes = try text.finished(
            limit: PushType.alert.maximumPayloadBytes, parts: [.init(name: "alert", bytes: alertBytes.count)])
    }
}

/// The body of a push that wakes the app without showing anything.
public struct BackgroundPayload: Sendable, Hashable {
    /// The body as it is sent.
    public let bytes: [UInt8]

    /// The only body there is: `content-available` and nothing to show.
    public init() {
        bytes = Array(#"{"aps":{"content-available":1}}"#.utf8)
    }
}
