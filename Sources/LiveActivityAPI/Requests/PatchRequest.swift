public import JSONText

/// The body of `PATCH /v1/activities/{activity}`: what is absent stays as it is.
public struct PatchRequest: Sendable, Hashable, Codable {
    /// A merge patch of the content state (RFC 7396): members are replaced, `null` removes one.
    public var state: JSONObject?
    /// An alert that goes with the new state; absent: silent.
    public var alert: Alert?
    /// The APNs priority of the new state.
    public var priority: ActivityRequest.Priority?
    /// Which of the app's activities comes first in the Dynamic Island: the highest.
    public var relevance: Double?
    /// When the card is to look outdated; excludes ``staleAfter``.
    public var staleAt: Instant?
    /// How long after this call, or its last repetition, the card is to look outdated.
    public var staleAfter: APIDuration?
    /// Grows with each call: one that is not greater than the last taken changes nothing.
    public var sequence: Int?

    /// A patch of the state; everything else stays.
    public init(state: JSONObject? = nil) {
        self.state = state
    }

    /// A request from its JSON; refuses `staleAt` beside `staleAfter`.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        state = try container.decodeIfPresent(JSONObject.self, forKey: .state)
        alert = try container.decodeIfPresent(Alert.self, forKey: .alert)
        priority = try container.decodeIfPresent(ActivityRequest.Priority.self, forKey: .priority)
        relevance = try container.decodeIfPresent(Double.self, forKey: .relevance)
        staleAt = try container.decodeIfPresent(Instant.self, forKey: .staleAt)
        staleAfter = try container.decodeIfPresent(APIDuration.self, forKey: .staleAfter)
        sequence = try container.decodeIfPresent(Int.self, forKey: .sequence)
        if staleAt != nil, staleAfter != nil {
            throw decoder.excluded(CodingKeys.staleAfter, by: CodingKeys.staleAt)
        }
    }
}
