public import JSONText

/// The body of `PUT /v1/activities/{activity}`: the state that every phone of the audience should show.
///
/// A property that is `nil` has the default that its documentation names, unless the type's policy sets another one.
public struct ActivityRequest: Sendable, Hashable, Codable {
    /// The activity type: the name of the app's attributes type, as configured.
    public var type: String
    /// The content state, as the app's `ContentState` decodes it.
    public var state: JSONObject
    /// The attributes of the activity, which are fixed while it runs.
    ///
    /// Default: they stay as they are. A new activity has an empty object.
    public var attributes: JSONObject?
    /// The people who should see the activity.
    ///
    /// Default: the audience stays as it is. A new activity is then seen only by the phones that report it.
    public var audience: Audience?
    /// An alert for this state, sent once to each phone. Default: no alert.
    public var alert: Alert?
    /// The APNs priority. Default: `auto`.
    public var priority: Priority?
    /// The relevance score. The app's activity with the highest score takes the Dynamic Island. Default: no score is
    /// sent.
    public var relevance: Double?
    /// The time from which the card looks outdated. Cannot be combined with ``staleAfter``.
    public var staleAt: Instant?
    /// The time from this call, or from its last repetition, until the card looks outdated.
    ///
    /// Default: the policy's value, otherwise the card never looks outdated. Cannot be combined with ``staleAt``.
    public var staleAfter: APIDuration?
    /// The rule for starting the activity on phones that do not show it. Default: `ifPossible`.
    public var start: Start?
    /// The rule for starting the activity again where the person swiped it away. Default: `never`.
    public var restart: Restart?
    /// The ordinary notification for phones that cannot show a card. Default: the type's fallback, otherwise none.
    public var fallback: FallbackRequest?
    /// `true` to begin a new run of an activity that has ended. Default: `false`, and the call answers 409.
    public var reopen: Bool?
    /// A number that grows with each call about a run of the activity.
    ///
    /// A call whose number is not greater than the greatest one accepted so far changes nothing. Default: not compared.
    public var sequence: Int?

    /// The users who should see an activity, and the devices on which it is started.
    public struct Audience: Sendable, Hashable, Codable {
        /// The user ids.
        public var users: [String]
        /// The devices of these users on which a card is started.
        ///
        /// Default: the selection stays as it is. A new activity has `lastActive`.
        public var devices: DeviceSelection?

        /// Creates an audience of these users.
        public init(users: [String], devices: DeviceSelection? = nil) {
            self.users = users
            self.devices = devices
        }
    }

    /// The APNs priority of a push.
    public enum Priority: String, Sendable, Hashable, Codable, CaseIterable {
        /// High for starts, alerts, ends and for phones that catch up, low for the rest. The policy has the details.
        case auto
        /// Priority 5: delivered when it suits the phone. Costs no budget.
        case low
        /// Priority 10: delivered at once. Counts against the budget.
        case high
    }

    /// The party that may start the activity on a phone.
    public enum Start: String, Sendable, Hashable, Codable, CaseIterable {
        /// The server, wherever there is a push-to-start token.
        case ifPossible
        /// Only the app itself.
        case appOnly
        /// Nobody. Only cards that already exist are updated.
        case never
    }

    /// The event that brings back a card that the person swiped away.
    public enum Restart: String, Sendable, Hashable, Codable, CaseIterable {
        /// Nothing.
        case never
        /// The next state with an alert.
        case onAlert
        /// The next state.
        case always
    }

    /// Creates a request for a type and a state. All other properties are `nil`.
    public init(type: String, state: JSONObject) {
        self.type = type
        self.state = state
    }

    /// Decodes a request.
    ///
    /// - Throws: `DecodingError`, also if both `staleAt` and `staleAfter` are present.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        type = try container.decode(String.self, forKey: .type)
        state = try container.decode(JSONObject.self, forKey: .state)
        attributes = try container.decodeIfPresent(JSONObject.self, forKey: .attributes)
        audience = try container.decodeIfPresent(Audience.self, forKey: .audience)
        alert = try container.decodeIfPresent(Alert.self, forKey: .alert)
        priority = try container.decodeIfPresent(Priority.self, forKey: .priority)
        relevance = try container.decodeIfPresent(Double.self, forKey: .relevance)
        staleAt = try container.decodeIfPresent(Instant.self, forKey: .staleAt)
        staleAfter = try container.decodeIfPresent(APIDuration.self, forKey: .staleAfter)
        start = try container.decodeIfPresent(Start.self, forKey: .start)
        restart = try container.decodeIfPresent(Restart.self, forKey: .restart)
        fallback = try container.decodeIfPresent(FallbackRequest.self, forKey: .fallback)
        reopen = try container.decodeIfPresent(Bool.self, forKey: .reopen)
        sequence = try container.decodeIfPresent(Int.self, forKey: .sequence)
        if staleAt != nil, staleAfter != nil {
            throw decoder.excluded(CodingKeys.staleAfter, by: CodingKeys.staleAt)
        }
    }
}

/// An alert for a state. It reaches each phone at most once, unless ``onUnknown`` is `repeat`.
public struct Alert: Sendable, Hashable, Codable {
    /// An id that identifies the alert in repeated calls.
    ///
    /// Default: none, so that every call that changes something brings a new alert.
    public var id: String?
    /// The title.
    public var title: AlertText
    /// The text below the title. Default: none.
    public var body: AlertText?
    /// The name of a sound file of the app, or `default`. Default: the default sound.
    public var sound: String?
    /// The time from this call during which the alert is worth showing. Default: 10 min.
    public var expiresAfter: APIDuration?
    /// `true` if a later state carries the alert to phones that it has not reached yet. Default: `false`.
    public var keep: Bool?
    /// The reaction if it cannot be known whether the alert arrived. Default: `drop`.
    public var onUnknown: OnUnknown?

    /// The reaction to an alert of which nobody can know whether it arrived.
    public enum OnUnknown: String, Sendable, Hashable, Codable, CaseIterable {
        /// Do not send it again. The person sees it at most once.
        case drop
        /// Send it again. The person may see it twice.
        case `repeat`
    }

    /// Creates an alert with this title. All other properties are `nil`.
    public init(title: AlertText, body: AlertText? = nil, id: String? = nil) {
        self.title = title
        self.body = body
        self.id = id
    }
}
