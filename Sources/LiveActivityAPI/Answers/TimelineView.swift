public import JSONText

/// The answer of `GET /v1/activities/{activity}/timeline`: what happened to an activity, the oldest first.
public struct TimelineView: Sendable, Hashable, Codable {
    /// The entries of one page.
    public var entries: [Entry]
    /// The cursor of the next page. `nil` if this is the last page.
    public var next: String?

    /// One entry of the timeline.
    public struct Entry: Sendable, Hashable, Codable {
        /// The time when it happened.
        public var at: Instant
        /// The kind of entry, such as a change, a push or a report.
        public var kind: String
        /// The device that the entry is about. `nil` if it is about the whole activity.
        public var device: String?
        /// The revision that the entry is about.
        public var revision: Int
        /// The stable code of what happened, for programs.
        public var code: String
        /// The sentence for people.
        public var text: String
        /// The HTTP status of APNs's answer to a push. `nil` if there was none.
        public var status: Int?
        /// The `apns-id` of a push.
        public var apnsID: String?
        /// The priority of a push: 5 or 10.
        public var priority: Int?
        /// `true` if a push carried an alert, or a change brought one. Otherwise `nil`.
        public var alert: Bool?
        /// The timestamp of a push in seconds since 1970. A phone ignores a push whose timestamp is not newer than the
        /// last.
        public var timestamp: Int?
        /// The content state that a change set, as it is sent to phones.
        ///
        /// `nil` if the change set none, or if an earlier version of the server did not record it.
        public var state: JSONObject?
        /// The payload of a push, if the call has `payloads=true`. The server rebuilds it from the recorded change.
        ///
        /// `nil` if the change was not recorded.
        public var payload: JSONObject?
        /// The size of ``payload`` in bytes.
        public var bytes: Int?

        /// Creates an entry.
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

    /// Creates one page of entries.
    public init(entries: [Entry], next: String? = nil) {
        self.entries = entries
        self.next = next
    }
}
