/// The answer of `POST /v1/users/{user}/notifications`: it is kept, and goes to so many devices.
public struct NotificationAnswer: Sendable, Hashable, Codable {
    /// How many devices get it.
    public var devices: Int
    /// How many do not.
    public var others: Int
    /// Why they do not, the most frequent first; codes are those of phones.
    public var reasons: [ActivityAnswer.ReasonCount]

    /// The answer to one notification.
    public init(devices: Int, others: Int, reasons: [ActivityAnswer.ReasonCount]) {
        self.devices = devices
        self.others = others
        self.reasons = reasons
    }
}
