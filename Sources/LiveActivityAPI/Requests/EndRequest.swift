public import JSONText

/// The body of `POST /v1/activities/{activity}/end`: the last state, and when the card is to leave the lock screen.
///
/// Without any of the three `dismiss` fields iOS decides, which is up to four hours later; at most one may be given.
public struct EndRequest: Sendable, Hashable, Codable {
    /// The last content state; absent: the newest there is.
    public var state: JSONObject?
    /// An alert that goes with the end; absent: silent.
    public var alert: Alert?
    /// When the card is to leave the lock screen; iOS waits at most four hours.
    public var dismissAt: Instant?
    /// How long after this call the card is to leave the lock screen; iOS waits at most four hours.
    public var dismissAfter: APIDuration?
    /// Whether the card is to leave the lock screen at once; absent: false.
    public var dismissNow: Bool?
    /// Grows with each call about a run of the activity: one that is not greater than the last taken changes nothing.
    public var sequence: Int?

    /// An end with the newest state, silent, dismissed when iOS likes.
    public init(state: JSONObject? = nil, alert: Alert? = nil) {
        self.state = state
        self.alert = alert
    }

    /// A request from its JSON; refuses a second way to dismiss.
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
