public import APNSModel
public import JSONText

/// Computes what a person should see in the cards of one activity type.
///
/// Islet asks the provider at these times:
///
/// - after a call of `POST /v1/users/{user}/refresh`
/// - when a device of the person appears, moves to another time zone, or shows something other than what was computed
/// - at local midnight
/// - at the time that the last answer named
///
/// Several reasons together cause one question. There is one question for each time zone of the person's devices, not
/// for each device. The answer is stored and sent by the rules of the type. An unchanged answer sends nothing.
///
/// After a crash, Islet may ask the same question again. The provider should then give the same answer, and must not
/// rely on being asked once.
public protocol ActivityProvider: Sendable {
    /// Returns what the person should see now on these devices. `nil` ends the card and erases the memo.
    ///
    /// The provider has ``ProviderOptions/deadline`` to answer. Then its task is canceled, and it is asked again later.
    /// It should react to the cancellation, because it occupies one of the provider's slots until it returns.
    ///
    /// - Parameter question: The person, the devices and their time zone.
    /// - Returns: The answer; `nil` to show nothing.
    /// - Throws: Any error. Islet asks about this person again after 1 s to 5 min, and other people are not delayed.
    ///   The error itself is not logged, because it may contain anything.
    func answer(_ question: ProviderQuestion) async throws -> ProviderAnswer?
}

/// Question to a provider about one person in one time zone.
public struct ProviderQuestion: Sendable, Hashable {
    /// Bundle id of the app.
    public var app: String
    /// Name of the activity type in the API.
    public var type: String
    /// Id of the person, as the backend gave it.
    public var user: String
    /// Ids of the person's devices in this time zone, in order.
    public var devices: [String]
    /// IANA name of the time zone, or `UTC` for devices that never reported one. An unknown name is treated as UTC.
    public var timeZone: String
    /// Date in that zone, such as `2026-11-21`.
    public var localDay: String
    /// Time of the question.
    public var now: UnixTime
    /// Memo of the last answer for this person, type and zone; `nil` for the first question, and after an answer of
    /// `nil`.
    public var memo: JSONValue?

    /// Creates a question, for a provider's own tests.
    public init(
        app: String, type: String, user: String, devices: [String], timeZone: String, localDay: String, now: UnixTime,
        memo: JSONValue? = nil
    ) {
        self.app = app
        self.type = type
        self.user = user
        self.devices = devices
        self.timeZone = timeZone
        self.localDay = localDay
        self.now = now
        self.memo = memo
    }
}

/// Answer of a provider: what to show.
public struct ProviderAnswer: Sendable, Hashable {
    /// Content state, as the app's `ContentState` decodes it.
    public var state: JSONObject
    /// Attributes. They are fixed while a card runs, so other attributes take effect with the next card.
    public var attributes: JSONObject?
    /// Value that is returned with the next question, for example to keep a choice. At most 4,096 bytes as JSON.
    public var memo: JSONValue?
    /// Relevance score. The app's activity with the highest score comes first in the Dynamic Island.
    public var relevance: Double?
    /// Time from which the card should look outdated.
    public var staleAt: UnixTime?
    /// Alert that accompanies this state, once on each phone. Without an alert, the push is silent.
    public var alert: PushAlert?
    /// Id that identifies the alert when it is answered again. Without an id, the alert accompanies only changed
    /// states.
    public var alertID: String?
    /// Urgency of the push.
    public var priority: Priority = .low
    /// Time at which to ask again, if that is before local midnight. At least 1 s later.
    public var askAgainAt: UnixTime?

    /// APNs priority of an update.
    public enum Priority: String, Sendable, Hashable, CaseIterable {
        /// Priority 5: delivered when convenient for the phone, without using the budget.
        case low
        /// Priority that the type's policy chooses.
        case auto
        /// Priority 10: delivered at once, and counted against the budget.
        case high
    }

    /// Creates an answer that shows a state silently and at low priority.
    public init(state: JSONObject) {
        self.state = state
    }
}

/// Options of a provider that runs in the server's process.
public struct ProviderOptions: Sendable, Hashable {
    /// Maximum time for one answer.
    public var deadline = Duration.seconds(10)

    /// Creates the default options.
    public init() {}
}
