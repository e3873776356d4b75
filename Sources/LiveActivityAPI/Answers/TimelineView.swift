public import JSONText

/// The answer of `GET /v1/activities/{activity}/timeline`: what happened, the oldest first.
public struct TimelineView: Sendable, Hashable, Codable {
    /// What happened, one page of it.
    public var entries: [Entry]
    /// The cursor of the next page; absent: this is the last.
    public var next: String?

    /// One thing that happened.
    public struct Entry: Sendable, Hashable, Codable {
        /// When it happened.
        public var at: Instant
        /// What kind of thing it is, such as a change, a push or a report.
        public var kind: String
        /// The phone it is about; absent: the whole activity.
        public var device: String?
        /// The revision it is about.
        public var revision: Int
        /// The stable code of what happened, for programs.
        public var code: String
        /// The sentence, for people.
        public var text: String
        /// The HTTP status of APNs, for a push that was answered.
        public var status: Int?
        /// The `apns-id` of a push.
        public var apnsID: String?
        /// The priority of a push: 5 or 10.
        public var priority: Int?
        /// Whether a push carried an alert, or a change brought one; absent: no.
        public var alert: Bool?
        /// The timestamp of a push in seconds since 1970: a phone ignores what is not newer.
        public var timestamp: Int?
        /// The content state that a change set, as phones are sent it; absent: it set none, or an earlier version
        /// of the server kept none.
        public var state: JSONObject?
        /// With `payloads=true`, what a push carried, made anew of what its change set; absent: that is not kept.
        public var payload: JSONObject?
        /// How many bytes that has.
        public var bytes: Int?

        /// One entry.
        public init(
            at: Instant, kind: String, device: String? = nil, revision: Int, code: String, text: String,
            status: Int? = nil, apnsID: String? = nil
        ) {
            self.at = at
            self.kind = kind
            self.device = device
            self.revision = revision
            self.code = code
            self.text = text
            self.status = status
            self.apnsID = apnsID
        }
    }

    /// One page of entries.
    public init(entries: [Entry], next: String? = nil) {
        self.entries = entries
        self.next = next
    }
}
