public import APNSModel
public import JSONText

/// Computes what a person should see in the cards of one activity type.
///
/// Islet asks when somebody called `POST /v1/users/{user}/refresh`, when a device of the person appeared, moved to
/// another time zone or shows something else than was computed, at the local midnight, and at the instant that the last
/// answer named. Many asks become one question. It is asked once for each time zone that the person has devices in, not
/// for each device. What it answers is kept and sent by the rules of the type; the same answer again sends nothing.
///
/// Asked anew after a crash, it should answer the same for the same question: it must not count on being asked once.
public protocol ActivityProvider: Sendable {
    /// What the person should see now on these devices, or `nil`: nothing, which ends the card and forgets the memo.
    ///
    /// It has ``ProviderOptions/deadline`` to answer; then its task is cancelled, and it is asked again later. It
    /// should heed the cancellation, since its place is taken until it returns.
    ///
    /// - Throws: Whatever it likes. This person is asked about again after 1 s to 5 min; others are not held up. The
    ///   error itself is not logged, since nobody knows what it says.
    func answer(_ question: ProviderQuestion) async throws -> ProviderAnswer?
}

/// What a provider is asked about: one person, in one time zone.
public struct ProviderQuestion: Sendable, Hashable {
    /// The app's bundle id.
    public var app: String
    /// The activity type, as the API calls it.
    public var type: String
    /// The person's id, as the backend gave it.
    public var user: String
    /// The ids of the person's devices in this time zone, in order.
    public var devices: [String]
    /// The zone's IANA name; `UTC` for devices that never named one. A name that nobody knows is counted as UTC.
    public var timeZone: String
    /// The date in that zone: `2026-11-21`.
    public var localDay: String
    /// The instant of the question.
    public var now: UnixTime
    /// What the last answer for this person, type and zone left; nil for the first question, and after "nothing".
    public var memo: JSONValue?

    /// A question, for a provider's own tests.
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

/// What a provider wants to be shown.
public struct ProviderAnswer: Sendable, Hashable {
    /// The content state, as the app's `ContentState` decodes it.
    public var state: JSONObject
    /// The attributes. They are fixed while a card runs: others count from the next one.
    public var attributes: JSONObject?
    /// Given back with the next question, to make a choice sticky; at most 4,096 bytes as JSON.
    public var memo: JSONValue?
    /// Which of the app's activities comes first in the Dynamic Island: the highest.
    public var relevance: Double?
    /// When the card is to look outdated.
    public var staleAt: UnixTime?
    /// An alert that goes with this state, once to each phone. Without one the push is silent.
    public var alert: PushAlert?
    /// What makes it the same alert when it is answered again; without one it comes with each changed state only.
    public var alertID: String?
    /// How urgent the push is.
    public var priority: Priority = .low
    /// When to ask again, where that is before the local midnight; at least 1 s on.
    public var askAgainAt: UnixTime?

    /// The APNs priority of an update.
    public enum Priority: String, Sendable, Hashable, CaseIterable {
        /// 5: when the phone finds it convenient; costs no budget.
        case low
        /// As the type's policy says.
        case auto
        /// 10: at once; counts against the budget.
        case high
    }

    /// A state, shown silently and at low priority.
    public init(state: JSONObject) {
        self.state = state
    }
}

/// How a provider in the process is asked.
public struct ProviderOptions: Sendable, Hashable {
    /// How long one answer may take.
    public var deadline = Duration.seconds(10)

    /// The standard options.
    public init() {}
}
