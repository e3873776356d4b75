package import APNSModel
package import JSONText

/// What backends and phones did in a stretch of time, as timelines keep it: all that is needed to play it anew.
package struct RecordedDay: Sendable {
    /// What one may consist of at most: so much is played in seconds.
    package struct Limits: Sendable, Hashable {
        package var activities = 200
        package var changes = 5000
        /// Changes times phones, of all activities together.
        package var pushes = 20_000
        /// The phones of one activity.
        package var phones = 1000
        /// The rows of one activity's timeline.
        package var rows = 10_000

        package init() {}
    }

    package var from: UnixTime
    package var to: UnixTime
    package var activities: [RecordedActivity] = []
    /// The phones of all of them, as they are now.
    package var phones: [DeviceKey: RecordedPhone] = [:]
    /// What went out really.
    package var sent = DayFigures()
    /// There was more than the limits allow: the newest activities were taken.
    package var isPart = false

    package init(from: UnixTime, to: UnixTime) {
        self.from = from
        self.to = to
    }

    /// The changes inside the stretch.
    package var changes: Int { activities.reduce(0) { $0 + $1.changes(since: from) } }
}

/// A phone as it is now.
package struct RecordedPhone: Sendable, Equatable {
    package var facts: DeviceFacts
    package var hasStartToken: Bool
    /// One for ordinary notifications.
    package var hasDeviceToken: Bool

    package init(facts: DeviceFacts, hasStartToken: Bool, hasDeviceToken: Bool) {
        self.facts = facts
        self.hasStartToken = hasStartToken
        self.hasDeviceToken = hasDeviceToken
    }
}

/// What happened to one activity.
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
    /// In order; what was so when the stretch began is the first of them.
    package private(set) var steps: [Step] = []
    package private(set) var cards: [DeviceKey: RecordedCard] = [:]
    /// Changes of which the state is not kept.
    package private(set) var unreadable = 0

    /// - Parameter entries: The timeline, the oldest first.
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
                // The server's own end is the policy's, and is played by the policy.
                guard entry.device == nil, entry.reason?.code != .nobodyEnded else { continue }
                guard let content = ChangeContent(entry) else {
                    unreadable += entry.at >= from ? 1 : 0
                    continue
                }
                let change: Change =
                    entry.kind == .ended ? .end(content) : .set(content, reopens: entry.kind == .reopened)
                let step = Step(at: entry.at, change: change)
                if entry.at < from { before = step } else { steps.append(step) }
            case .start, .update, .end, .fallback, .rescued, .audienceChanged, .reported, .tokenReported: continue
            }
        }
        // One that had ended is nothing to begin with.
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

    /// What was so before is set this long before the stretch at most: no push of it falls into the stretch.
    package static let lead = Duration.seconds(1800)

    package func changes(since from: UnixTime) -> Int { steps.count { $0.at >= from } }
}
