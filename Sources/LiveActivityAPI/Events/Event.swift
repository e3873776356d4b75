/// An event about a card, a token or a key: the `data` of an item of `GET /v1/events`, and the body of a webhook.
public struct Event: Sendable, Hashable, Codable {
    /// The event's number, which grows with each event. `Last-Event-ID` takes this value.
    public var id: String
    /// The kind of event, one of the raw values of ``Kind``. A later version of the server may send other values.
    public var type: String
    /// The time of the event.
    public var timestamp: Instant
    /// The app's bundle id.
    public var app: String
    /// The activity. `nil` if the event is about no activity, or the activity has been erased since.
    public var activity: String?
    /// The number of the activity's run, from 1.
    public var run: Int?
    /// The revision that the event is about.
    public var revision: Int?
    /// The device. `nil` if the event is about no device, or the device has been erased since.
    public var device: String?
    /// The stable code of the reason, the same as in ``Reason/code``.
    public var reason: String?
    /// The kind of the dead token: `update`, `push-to-start` or `device`.
    public var token: String?
    /// The APNs environment in which the key is halted: `sandbox` or `production`.
    public var environment: String?

    /// A kind of event.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// A card was created: APNs accepted its start, or a phone reported the card.
        case started
        /// A phone reported that it shows the newest state.
        case held
        /// The person swiped the card away.
        case dismissed
        /// The card is over: APNs accepted its end, or a phone or APNs reported that it is over.
        case ended
        /// A second card replaced a card whose 8 hours were over.
        case renewed
        /// APNs reported that a token is dead.
        case tokenDead = "token-dead"
        /// An ordinary notification was sent in place of a card.
        case fellBack = "fell-back"
        /// APNs refused a push because of a fault of the server. The server does not send it again.
        case parked
        /// Nothing is sent for an app and environment until a person repairs the key.
        case keyHalted = "key-halted"
    }

    /// The kind of event. `nil` if this version does not know the value of ``type``.
    public var kind: Kind? { Kind(rawValue: type) }

    /// Creates an event with the properties that every event has.
    public init(id: String, type: String, timestamp: Instant, app: String) {
        self.id = id
        self.type = type
        self.timestamp = timestamp
        self.app = app
    }
}
