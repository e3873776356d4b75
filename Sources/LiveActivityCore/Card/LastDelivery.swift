package import APNSModel

/// What the last push to a phone was and what came of it.
package struct LastDelivery: Sendable, Hashable {
    package var kind: PushKind
    package var at: UnixTime
    package var revision: Revision
    /// APNs's status; 0 when there was no answer.
    package var status: Int
    package var reason: Reason

    package init(kind: PushKind, at: UnixTime, revision: Revision, status: Int, reason: Reason) {
        self.kind = kind
        self.at = at
        self.revision = revision
        self.status = status
        self.reason = reason
    }
}

/// What a push does to a card.
package enum PushKind: Int, Sendable, CaseIterable {
    case start = 1
    case update = 2
    case end = 3

    /// Spelled out: it is asked for once for each push, and reflection is slow.
    package var name: String {
        switch self {
        case .start: "start"
        case .update: "update"
        case .end: "end"
        }
    }
}

/// A card that is over, remembered by its local id for at least 48 hours: news about it never touches a newer one.
package struct TombstoneRecord: Sendable, Hashable {
    package static let lifetime = Duration.seconds(48 * 3600)
    /// So many of a device outlive its next report: each of its calls looks at all of them, and a phone does not have
    /// as many cards in that time.
    package static let maximum = 200

    package var device: DeviceKey
    package var localID: LocalID
    package var activity: ActivityNumber
    /// `live` of a second card that a renewal has not been able to go on with: it is there, and older than whatever is
    /// started after it.
    package var state: CardState
    package var at: UnixTime

    package var isOver: Bool { state != .live }

    package init(
        device: DeviceKey, localID: LocalID, activity: ActivityNumber, state: CardState, at: UnixTime
    ) {
        self.device = device
        self.localID = localID
        self.activity = activity
        self.state = state
        self.at = at
    }
}
