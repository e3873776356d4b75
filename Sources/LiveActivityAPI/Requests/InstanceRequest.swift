public import JSONText

/// The body of `PUT /v1/devices/{device}/instances/{localID}`: what a phone knows about one of its cards.
public struct InstanceRequest: Sendable, Hashable, Codable {
    /// The activity type.
    public var type: String
    /// The activity that the card shows; absent: the server tells by the attributes.
    public var activity: String?
    /// The attributes of the card, encoded as the app encodes them.
    public var attributes: JSONObject?
    /// Where the card is in its life.
    public var state: State
    /// The newest update token; absent: none yet, or unchanged.
    public var token: TokenText?
    /// The id of the broadcast channel that the card was requested with (iOS 18): such a card has no token, and what is
    /// sent to the channel changes it. Absent: none, or unchanged.
    public var channel: String?
    /// When the card was started.
    public var startedAt: Instant?
    /// The timestamp of the newest local update: pushes must be newer to be shown.
    public var lastTimestamp: Instant?
    /// The content state that the card holds: tells which revision was shown.
    public var contentState: JSONObject?
    /// The revision that a local update was based on: pushes up to it are not needed.
    public var basedOn: Int?
    /// Grows with every report of the device, inventories included: a report that a newer one has overtaken on its way
    /// brings back no card and no token. In an inventory the number of the inventory counts.
    public var sequence: Int?
    /// How often the person opened the app by the card, so far; absent: not counted. What is more than in the report
    /// before counts as `islet_opens_total`.
    public var opens: Int?

    /// The most that ``opens`` may be: nobody taps a card more often in the twelve hours that it can be there.
    public static let maximumOpens = 10_000

    /// Where a card is in its life, as the phone sees it.
    public enum State: String, Sendable, Hashable, Codable, CaseIterable {
        /// The app is about to start it; the server does not start it for two minutes.
        case requesting
        /// It is scheduled for later.
        case pending
        /// It is shown.
        case active
        /// It is shown, as outdated.
        case stale
        /// It ended and may still be shown.
        case ended
        /// The person or the system removed it.
        case dismissed
        /// It is not there any more and the phone does not know why.
        case gone
        /// The app ended it because another card of the same activity stays: it says nothing about the activity.
        case duplicate
        /// The card that was `requesting` could not be made: the server need not wait for it.
        case notStarted
    }

    /// A report of a card's type and state; what is left out is unknown.
    public init(type: String, state: State) {
        self.type = type
        self.state = state
    }
}

/// The body of `PUT /v1/devices/{device}/instances`: every card that a phone has; what it does not list is not there.
public struct InventoryRequest: Sendable, Hashable, Codable {
    /// Grows with every inventory of a device, and with every report that is numbered: an inventory that is older than
    /// another changes nothing.
    public var sequence: Int
    /// All cards of the app on that phone.
    public var instances: [InventoryItem]

    /// An inventory of these cards.
    public init(sequence: Int, instances: [InventoryItem]) {
        self.sequence = sequence
        self.instances = instances
    }
}

/// One card of an inventory: its local id beside the fields of an ``InstanceRequest``, in one object.
public struct InventoryItem: Sendable, Hashable, Codable {
    /// ActivityKit's id of the card.
    public var localID: String
    /// What the phone knows about it.
    public var instance: InstanceRequest

    private enum CodingKeys: CodingKey {
        case localID
    }

    /// A card and what the phone knows about it.
    public init(localID: String, instance: InstanceRequest) {
        self.localID = localID
        self.instance = instance
    }

    /// An item from one object.
    public init(from decoder: any Decoder) throws {
        localID = try decoder.container(keyedBy: CodingKeys.self).decode(String.self, forKey: .localID)
        instance = try InstanceRequest(from: decoder)
    }

    /// Writes one object.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(localID, forKey: .localID)
        try instance.encode(to: encoder)
    }
}
