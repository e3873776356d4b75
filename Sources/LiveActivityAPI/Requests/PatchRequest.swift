public import JSONText

/// The body of `PATCH /v1/activities/{activity}`: the parts of the desired state that change.
///
/// A property that is `nil` leaves the stored value unchanged.
public struct PatchRequest: Sendable, Hashable, Codable {
    /// A merge patch of the content state (RFC 7396). Members are replaced, and `null` removes a member.
    public var state: JSONObject?
    /// An alert for the new state. Default: no alert.
    public var alert: Alert?
    /// The APNs priority of the new state.
    public var priority: ActivityRequest.Priority?
    /// The relevance score. The app's activity with the highest score takes the Dynamic Island.
    public var relevance: Double?
    /// The time from which the card looks outdated. Cannot be combined with ``staleAfter``.
    public var staleAt: Instant?
    /// The time from this call, or from its last repetition, until the card looks outdated.
    ///
    /// Cannot be combined with ``staleAt``.
    public var staleAfter: APIDuration?
    /// A number that grows with each call about a run of the activity.
    ///
    /// A call whose number is not greater than the greatest one accepted so far changes nothing. Default: not compared.
    public var sequence: Int?

    /// Creates a patch of the state.
    public init(state: JSONObject? = nil) {
        self.state = state
    }

    /// Decodes a request.
    ///
    /// - Throws: `DecodingError`, also if both `staleAt` and `staleAfter` are present.
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
