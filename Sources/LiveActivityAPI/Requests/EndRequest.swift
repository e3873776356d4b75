public import JSONText

/// The body of `POST /v1/activities/{activity}/end`: the last state, and the time when the card leaves the lock screen.
///
/// At most one of the three `dismiss` properties may be set. Without them iOS decides, and takes up to four hours.
public struct EndRequest: Sendable, Hashable, Codable {
    /// The last content state. Default: the newest state.
    public var state: JSONObject?
    /// An alert for the end. Default: no alert.
    public var alert: Alert?
    /// The time when the card leaves the lock screen. iOS waits at most four hours.
    public var dismissAt: Instant?
    /// The time from this call until the card leaves the lock screen. iOS waits at most four hours.
    public var dismissAfter: APIDuration?
    /// `true` if the card leaves the lock screen at once. Default: `false`.
    public var dismissNow: Bool?
    /// A number that grows with each call about a run of the activity.
    ///
    /// A call whose number is not greater than the greatest one accepted so far changes nothing. Default: not compared.
    public var sequence: Int?

    /// Creates an end with this state and alert. iOS decides when the card leaves the lock screen.
    public init(state: JSONObject? = nil, alert: Alert? = nil) {
        self.state = state
        self.alert = alert
    }

    /// Decodes a request.
    ///
    /// - Throws: `DecodingError`, also if more than one of the three `dismiss` fields is set.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        state = try container.decodeIfPresent(JSONObject.self, forKey: .state)
        alert = try container.decodeIfPresent(Alert.self, forKey: .alert)
        dismissAt = try container.decodeIfPresent(Instant.self, forKey: .dismissAt)
        dismissAfter = try container.decodeIfPresent(APIDuration.self, forKey: .dismissAfter)
        dismissNow = try container.decodeIfPresent(Bool.self, forKey: .dismissNow)
        sequence = try container.decodeIfPresent(Int.self, forKey: .sequence)
        let given: [(CodingKeys, Bool)] = [
            (.dismissAt, dismissAt != nil), (.dismissAfter, dismissAfter != nil), (.dismissNow, dismissNow == true),
        ]
        let keys = given.filter(\.1).map(\.0)
        if keys.count > 1 { throw decoder.excluded(keys[1], by: keys[0]) }
    }
}
