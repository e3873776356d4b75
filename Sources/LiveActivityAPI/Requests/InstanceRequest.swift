public import JSONText

/// The body of `PUT /v1/devices/{device}/instances/{localID}`: what a phone knows about one of its cards.
public struct InstanceRequest: Sendable, Hashable, Codable {
    /// The activity type.
    public var type: String
    /// The activity that the card shows. `nil`: the server finds it in the attributes.
    public var activity: String?
    /// The attributes of the card, encoded as the app encodes them.
    public var attributes: JSONObject?
    /// The state of the card in its life cycle.
    public var state: State
    /// The newest update token. `nil`: there is none yet, or it is unchanged.
    public var token: TokenText?
    /// The id of the broadcast channel that the card was requested with (iOS 18).
    ///
    /// Such a card has no token. Only what is sent to the channel changes it. `nil`: there is no channel, or it is
    /// unchanged.
    public var channel: String?
    /// The time when the card was started.
    public var startedAt: Instant?
    /// The timestamp of the newest local update. iOS shows a push only if its timestamp is newer.
    public var lastTimestamp: Instant?
    /// The content state that the card holds. It tells the server which revision the phone shows.
    public var contentState: JSONObject?
    /// The revision that a local update was based on. The phone needs no push of it or of an earlier revision.
    public var basedOn: Int?
    /// A number that grows with every report of the device, inventories included.
    ///
    /// A report that a newer one has overtaken brings back no card and no token. In an inventory the inventory's number
    /// counts.
    public var sequence: Int?
    /// The number of times that the person has opened the app by the card. `nil`: not counted.
    ///
    /// The increase since the previous report is added to the metric `islet_opens_total`.
    public var opens: Int?

    /// The greatest value of ``opens``. A card exists for at most twelve hours, and nobody taps it more often in that
    /// time.
    public static let maximumOpens = 10_000

    /// The state of a card in its life cycle, as the phone sees it.
    public enum State: String, Sendable, Hashable, Codable, CaseIterable {
        /// The app is about to start the card. The server does not start it for two minutes.
        case requesting
        /// The card is scheduled for later.
        case pending
        /// The card is shown.
        case active
        /// The card is shown as outdated.
        case stale
        /// The card has ended and may still be shown.
        case ended
        /// The person or the system removed the card.
        case dismissed
        /// The card no longer exists, and the phone does not know why.
        case gone
        /// The app ended the card because another card of the same activity stays. The activity itself is not affected.
        case duplicate
        /// The card that was `requesting` could not be created. The server stops waiting for it.
        case notStarted
    }

    /// Creates a report of a card's type and state. All other properties are `nil`, which means unknown.
    public init(type: String, state: State) {
        self.type = type
        self.state = state
    }
}

/// The body of `PUT /v1/devices/{device}/instances`: every card of a phone.
///
/// A card that is not listed no longer exists.
public struct InventoryRequest: Sendable, Hashable, Codable {
    /// A number that grows with every inventory and with every numbered report of the device.
    ///
    /// An inventory whose number is not greater than the greatest one accepted so far changes nothing.
    public var sequence: Int
    /// All cards of the app on that phone.
    public var instances: [InventoryItem]

    /// Creates an inventory of these cards.
    public init(sequence: Int, instances: [InventoryItem]) {
        self.sequence = sequence
        self.instances = instances
    }
}

/// One card of an inventory: its local id and the fields of an ``InstanceRequest``, in one JSON object.
public struct InventoryItem: Sendable, Hashable, Codable {
    /// ActivityKit's id of the card.
    public var localID: String
    /// The phone's knowledge about the card.
    public var instance: InstanceRequest

    private enum CodingKeys: CodingKey {
        case localID
    }

    /// Creates an item for one card.
    public init(localID: String, instance: InstanceRequest) {
        self.localID = localID
        self.instance = instance
    }

    /// Decodes an item from one object.
    public init(from decoder: any Decoder) throws {
        localID = try decoder.container(keyedBy: CodingKeys.self).decode(String.self, forKey: .localID)
        instance = try InstanceRequest(from: decoder)
    }

    /// Encodes the item as one object.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(localID, forKey: .localID)
        try instance.encode(to: encoder)
    }
}
