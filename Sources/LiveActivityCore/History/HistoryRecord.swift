package import APNSModel

/// Row of an activity's timeline: one for a change or a phone's report, and one for all pushes of a settlement.
package struct HistoryRecord: Sendable, Equatable {
    package var activity: ActivityNumber
    package var at: UnixTime
    package var revision: Revision
    package var entries: [HistoryEntry]
    /// Seed of the row's push ids; 0 if it has none.
    package var seed: UInt64

    package init(
        activity: ActivityNumber, at: UnixTime, revision: Revision, entries: [HistoryEntry], seed: UInt64 = 0
    ) {
        self.activity = activity
        self.at = at
        self.revision = revision
        self.entries = entries
        self.seed = seed
    }
}

/// Entry of a timeline.
package struct HistoryEntry: Sendable, Equatable {
    package enum Kind: Int, Sendable, CaseIterable {
        // Entries of the activity
        case stateSet = 1
        case ended = 2
        case reopened = 3
        case audienceChanged = 4
        // Entries of a phone
        case reported = 10
        case tokenReported = 11
        // Pushes and their outcomes
        case start = 20
        case update = 21
        case end = 22
        /// An ordinary notification in place of a card.
        case fallback = 23
        case rescued = 31
        // Operations on a broadcast channel and their outcomes
        case channelMade = 40
        case broadcast = 41
        case broadcastEnd = 42
        case channelDeleted = 43

        package init(_ kind: PushKind) {
            self =
                switch kind {
                case .start: .start
                case .update: .update
                case .end: .end
                }
        }

        package var name: String {
            switch self {
            case .stateSet: "state-set"
            case .ended: "ended"
            case .reopened: "reopened"
            case .audienceChanged: "audience-changed"
            case .reported: "reported"
            case .tokenReported: "token-reported"
            case .start: "start"
            case .update: "update"
            case .end: "end"
            case .fallback: "fallback"
            case .rescued: "rescued"
            case .channelMade: "channel-made"
            case .broadcast: "broadcast"
            case .broadcastEnd: "broadcast-end"
            case .channelDeleted: "channel-deleted"
            }
        }
    }

    package var kind: Kind
    /// Device of the entry; `nil` for the activity as a whole.
    package var device: DeviceKey?
    package var at: UnixTime
    package var revision: Revision
    /// Timestamp of the push in seconds; 0 if there was no push.
    package var timestamp: Int64
    /// Priority of the push, 5 or 10; 0 if there was no push.
    package var priority: Int
    package var carriesAlert: Bool
    package var status: Int
    package var reason: Reason?
    package var outcome: Reason?
    /// Name of the reported state, in a phone's report.
    package var detail: String
    package var pushID: PushID?

    package init(
        _ kind: Kind, device: DeviceKey? = nil, at: UnixTime, revision: Revision, timestamp: Int64 = 0,
        priority: Int = 0, carriesAlert: Bool = false, status: Int = 0, reason: Reason? = nil, outcome: Reason? = nil,
        detail: String = "", pushID: PushID? = nil
    ) {
        self.kind = kind
        self.device = device
        self.at = at
        self.revision = revision
        self.timestamp = timestamp
        self.priority = priority
        self.carriesAlert = carriesAlert
        self.status = status
        self.reason = reason
        self.outcome = outcome
        self.detail = detail
        self.pushID = pushID
    }
}
