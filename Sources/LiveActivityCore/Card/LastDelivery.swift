package import APNSModel

/// The last push to a phone and its outcome.
package struct LastDelivery: Sendable, Hashable {
    package var kind: PushKind
    package var at: UnixTime
    package var revision: Revision
    /// HTTP status of APNs's answer; 0 if there was none.
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

/// Effect of a push on a card.
package enum PushKind: Int, Sendable, CaseIterable {
    case start = 1
    case update = 2
    case end = 3

    /// Name of the kind. It is spelled out because every push asks for it and reflection is slow.
    package var name: String {
        switch self {
        case .start: "start"
        case .update: "update"
        case .end: "end"
        }
    }
}

/// Record of a card that is over, under its local id. It is kept for at least 48 hours, so that late reports of the
/// card do not touch a newer one.
package struct TombstoneRecord: Sendable, Hashable {
    package static let lifetime = Duration.seconds(48 * 3600)
    /// Number of a device's tombstones that survive its next report. Each call of the device reads all of them, and a
    /// phone does not have as many cards in 48 hours.
    package static let maximum = 200

    package var device: DeviceKey
    package var localID: LocalID
    package var activity: ActivityNumber
    /// Outcome of the card, or `live` for a renewal's second card that the row has not switched to. That card exists,
    /// and it is older than any card started later.
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
