public import JSONText

/// The answer of `GET /v1/activities/{activity}`: the desired state, and what the phones show.
public struct ActivityView: Sendable, Hashable, Codable {
    /// The id that the backend chose.
    public var activity: String
    /// The activity type.
    public var type: String
    /// The phase of the activity: `announced`, `active` or `ended`.
    public var phase: String
    /// The number of the activity's run, from 1.
    public var run: Int
    /// The revision of the desired state.
    public var revision: Int
    /// The desired content state.
    public var state: JSONObject
    /// The attributes.
    public var attributes: JSONObject
    /// The time when the activity was first set. `nil` after a reopening.
    public var createdAt: Instant?
    /// The time when the desired state last changed.
    public var updatedAt: Instant
    /// The number of phones in each state, by the name of the state.
    public var counts: [String: Int]
    /// The number of phones beyond the 1,000 that are counted. `nil` if all are counted.
    public var more: Int?
    /// The progress of the newest change. `nil` if it has reached every phone.
    public var fanOut: FanOut?
    /// The reason why nothing is sent now, if no single phone causes it. `nil` if nothing is held back.
    public var reason: Reason?
    /// The phones of one page.
    public var devices: [DeviceView]
    /// The cursor of the next page of phones. `nil` if this is the last page.
    public var next: String?

    /// Creates the view of one activity.
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

    /// The progress of a change through an activity's phones.
    public struct FanOut: Sendable, Hashable, Codable {
        /// The number of phones that were examined since the change, and sent what they lacked. An estimate if there
        /// are many.
        public var done: Int
        /// The number of all phones of the activity.
        public var phones: Int

        /// Creates a progress.
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
    /// ActivityKit's id of the card. `nil` until the phone has reported it.
    public var localID: String?
    /// The state of the card in its life cycle, such as `unconfirmed` or `live`.
    public var state: String
    /// The newest revision that the phone presumably holds: accepted by APNs, or reported by the phone. 0 if there is
    /// none.
    public var revision: Int
    /// The newest revision that the phone itself has reported. `nil` if there is none.
    public var shownRevision: Int?
    /// The broadcast channel that the card is on. `nil` if the card has an update token of its own, or if there is no
    /// card.
    public var channel: String?
    /// The certainty that the phone shows ``revision``.
    public var confirmation: Confirmation
    /// The last push and its result. `nil` if there is none.
    public var lastDelivery: DeliveryView?
    /// The reason for what the server does with this phone now.
    public var reason: Reason

    /// The certainty that a phone shows a revision. APNs accepts pushes, but does not confirm that a phone shows them.
    public enum Confirmation: String, Sendable, Hashable, Codable, CaseIterable {
        /// APNs accepted the push. The phone has not reported since, which is normal.
        case accepted
        /// The phone reported that it holds the revision.
        case held
        /// The phone reported an older revision after the push.
        case contradicted
        /// Nothing is known.
        case unknown
    }

    /// Creates the view of one phone.
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

/// One attempt to deliver a push to APNs.
public struct DeliveryView: Sendable, Hashable, Codable {
    /// The kind of push: `start`, `update` or `end`.
    public var kind: String
    /// The time when it was sent.
    public var at: Instant
    /// The HTTP status of APNs's answer. `nil` if no answer came.
    public var status: Int?
    /// The meaning of the answer as a stable code.
    public var verdict: String
    /// APNs's own reason, such as `BadDeviceToken`. `nil` if APNs gave none.
    public var reason: String?
    /// The meaning of the answer in a sentence for people.
    public var detail: String?

    /// Creates the view of one attempt.
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

/// The reason for something that the server did or does.
public struct Reason: Sendable, Hashable, Codable {
    /// The stable code for programs.
    public var code: String
    /// The sentence for people.
    public var text: String

    /// Creates a reason.
    public init(code: String, text: String) {
        self.code = code
        self.text = text
    }
}
