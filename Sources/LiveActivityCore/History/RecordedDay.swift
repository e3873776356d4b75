package import APNSModel
package import JSONText

/// Recorded acts of backends and phones in a period: everything that a replay needs.
package struct RecordedDay: Sendable {
    /// Limits of a recording. This much is replayed within seconds.
    package struct Limits: Sendable, Hashable {
        package var activities = 200
        package var changes = 5000
        /// Sum of changes times phones over all activities.
        package var pushes = 20_000
        /// Phones of one activity.
        package var phones = 1000
        /// Timeline rows of one activity.
        package var rows = 10_000

        package init() {}
    }

    package var from: UnixTime
    package var to: UnixTime
    package var activities: [RecordedActivity] = []
    /// Phones of all activities, in their present state.
    package var phones: [DeviceKey: RecordedPhone] = [:]
    /// Counts of what was actually sent.
    package var sent = DayFigures()
    /// `true` if there was more than the limits allow. Then the newest activities were taken.
    package var isPart = false

    package init(from: UnixTime, to: UnixTime) {
        self.from = from
        self.to = to
    }

    /// Number of changes in the period.
    package var changes: Int { activities.reduce(0) { $0 + $1.changes(since: from) } }
}

/// Phone in its present state.
package struct RecordedPhone: Sendable, Equatable {
    package var facts: DeviceFacts
    package var hasStartToken: Bool
    /// `true` if the phone has a token for ordinary notifications.
    package var hasDeviceToken: Bool

    package init(facts: DeviceFacts, hasStartToken: Bool, hasDeviceToken: Bool) {
        self.facts = facts
        self.hasStartToken = hasStartToken
        self.hasDeviceToken = hasDeviceToken
    }
}

/// Recorded acts on one activity.
package struct RecordedActivity: Sendable {
    package enum Change: Sendable {
        case set(ChangeContent, reopens: Bool)
        case end(ChangeContent)
    }

    package struct Step: Sendable {
        package var at: UnixTime
        package var change: Change
    }

    package var record: ActivityRecord
    package var attributes: JSONObject
    /// Changes in order. The first one is the state at the beginning of the period, if there was one.
    package private(set) var steps: [Step] = []
    package private(set) var cards: [DeviceKey: RecordedCard] = [:]
    /// Number of changes whose state is not stored.
    package private(set) var unreadable = 0

    /// Reads an activity's changes and cards from its timeline.
    ///
    /// - Parameter entries: The timeline, oldest first.
    package init(
        _ record: ActivityRecord, attributes: JSONObject, phones: [PhoneSituation], entries: [HistoryEntry],
        from: UnixTime, to: UnixTime
    ) {
        self.record = record
        self.attributes = attributes
        var before: Step?
        var ofPhones: [DeviceKey: [HistoryEntry]] = [:]
        for entry in entries where entry.at < to {
            if let device = entry.device { ofPhones[device, default: []].append(entry) }
            switch entry.kind {
            case .stateSet, .reopened, .ended:
                // The server's own end follows from the policy. In a replay, the policy decides about it.
                guard entry.device == nil, entry.reason?.code != .nobodyEnded else { continue }
                guard let content = ChangeContent(entry) else {
                    unreadable += entry.at >= from ? 1 : 0
                    continue
                }
                let change: Change =
                    entry.kind == .ended ? .end(content) : .set(content, reopens: entry.kind == .reopened)
                let step = Step(at: entry.at, change: change)
                if entry.at < from { before = step } else { steps.append(step) }
            case .start, .update, .end, .fallback, .rescued, .audienceChanged, .reported, .tokenReported, .channelMade,
                .broadcast, .broadcastEnd, .channelDeleted:
                continue
            }
        }
        // An activity that had ended has no state to begin with.
        if let before, case .set = before.change {
            let at = max(before.at, from - Self.lead)
            steps.insert(Step(at: at, change: before.change), at: 0)
        }
        for phone in phones where phone.device.signedOutAt == nil {
            let key = phone.device.key
            var card = RecordedCard(ofPhones[key] ?? [], from: from)
            if record.run == 1, phone.card.createdAt >= from { card.joinsAt = phone.card.createdAt }
            cards[key] = card
        }
    }

    /// Maximum time before the period at which its first state is set. It is long enough that no push of that state
    /// falls into the period.
    package static let lead = Duration.seconds(1800)

    package func changes(since from: UnixTime) -> Int { steps.count { $0.at >= from } }
}
