/// The answer of `POST /v1/users/{user}/notifications`. The notification is stored and will be sent.
public struct NotificationAnswer: Sendable, Hashable, Codable {
    /// The number of devices that receive it.
    public var devices: Int
    /// The number of devices that do not receive it.
    public var others: Int
    /// The reasons why devices do not receive it, the most frequent first. The codes are those of phones.
    public var reasons: [ActivityAnswer.ReasonCount]

    /// Creates the answer to one notification.
    public init(devices: Int, others: Int, reasons: [ActivityAnswer.ReasonCount]) {
        self.devices = devices
        self.others = others
        self.reasons = reasons
    }
}
