public import JSONText

/// The answer of `GET /v1/activities/{activity}`: what should be shown, and what is.
public struct ActivityView: Sendable, Hashable, Codable {
    /// The id that the backend chose.
    public var activity: String
    /// The activity type.
    public var type: String
    /// Where the activity is in its life, such as `active` or `ended`.
    public var phase: String
    /// Which life of the activity this is, from 1.
    public var run: Int
    /// The revision of the desired state.
    public var revision: Int
    /// The desired content state.
    public var state: JSONObject
    /// The attributes.
    public var attributes: JSONObject
    /// When the activity was first set.
    public var createdAt: Instant?
    /// When its desired state last changed.
    public var updatedAt: Instant
    /// How many phones are in which state, by the name of the state.
    public var counts: [String: Int]
    /// The phones beyond those counted here, which are 1,000 at most; absent: none.
    public var more: Int?
    /// How far the newest change has come; absent: to every phone.
    public var fanOut: FanOut?
    /// Why nothing goes out at the moment, where that is not a phone's matter; absent: nothing holds it back.
    public var reason: Reason?
    /// The phones, one page of them.
    public var devices: [DeviceView]
    /// The cursor of the next page of phones; absent: this is the last.
    public var next: String?

    /// The view of one activity.
    public init(
        activity: String, type: String, phase: String, run: Int, revision: Int, state: JSONObject,
        attributes: JSONObject, createdAt: Instant? = nil, updatedAt: Instant, counts: [String: Int],
        devices: [DeviceView], next: String? = nil
    ) {
        self.activity = activity
        self.type = type
        self.phase = phase
        self.run = run
        self.revision = revision
        self.state = state
        self.attributes = attributes
        self.createdAt = createdAt
        self.updatedAt = updatedAt
        self.counts = counts
        self.devices = devices
        self.next = next
    }

    /// How far a change has come on its way around an activity's phones.
    public struct FanOut: Sendable, Hashable, Codable {
        /// The phones that were looked at since the change, and sent what they lacked; of many an estimate.
        public var done: Int
        /// All phones of the activity.
        public var phones: Int

        /// So many of so many phones.
        public init(done: Int, phones: Int) {
            self.done = done
            self.phones = phones
        }
    }
}

/// One activity on one phone, as the server knows it.
public struct DeviceView: Sendable, Hashable, Codable {
    /// The id of the device.
    public var device: String
    /// The user of the device.
    public var user: String
    /// ActivityKit's id of the card, once the phone reported it.
    public var localID: String?
    /// Where the card is in its life, such as `unconfirmed` or `live`.
    public var state: String
    /// The newest revision that this phone holds for all we know: sent and accepted, or reported by itself; 0: none.
    public var revision: Int
    /// The newest revision that the phone itself reported to hold.
    public var shownRevision: Int?
    /// How sure it is that the phone shows that revision.
    public var confirmation: Confirmation
    /// The last push, and what came of it.
    public var lastDelivery: DeliveryView?
    /// Why the server does what it does with this phone now.
    public var reason: Reason

    /// How sure it is that a phone shows a revision: APNs accepts pushes, it does not confirm that they are shown.
    public enum Confirmation: String, Sendable, Hashable, Codable, CaseIterable {
        /// APNs accepted it; the phone did not report since, which is normal.
        case accepted
        /// The phone reported that it holds it.
        case held
        /// The phone reported an older one after it was sent.
        case contradicted
        /// Nothing is known.
        case unknown
    }

    /// The view of one phone.
    public init(
        device: String, user: String, localID: String? = nil, state: String, revision: Int, shownRevision: Int? = nil,
        confirmation: Confirmation, lastDelivery: DeliveryView? = nil, reason: Reason
    ) {
        self.device = device
        self.user = user
        self.localID = localID
        self.state = state
        self.revision = revision
        self.shownRevision = shownRevision
        self.confirmation = confirmation
        self.lastDelivery = lastDelivery
        self.reason = reason
    }
}

/// One attempt to get a push accepted by APNs.
public struct DeliveryView: Sendable, Hashable, Codable {
    /// What was sent: `start`, `update` or `end`.
    public var kind: String
    /// When it was sent.
    public var at: Instant
    /// The HTTP status that APNs answered; absent: no answer came.
    public var status: Int?
    /// What the answer means, in one word.
    public var verdict: String
    /// APNs's own reason, such as `BadDeviceToken`; absent: it gave none.
    public var reason: String?
    /// What the answer means, for people.
    public var detail: String?

    /// The view of one attempt.
    public init(
        kind: String, at: Instant, status: Int? = nil, verdict: String, reason: String? = nil, detail: String? = nil
    ) {
        self.kind = kind
        self.at = at
        self.status = status
        self.verdict = verdict
        self.reason = reason
        self.detail = detail
    }
}

/// Why the server did or does something.
public struct Reason: Sendable, Hashable, Codable {
    /// The stable code, for programs.
    public var code: String
    /// The sentence, for people.
    public var text: String

    /// A reason in both forms.
    public init(code: String, text: String) {
        self.code = code
        self.text = text
    }
}
