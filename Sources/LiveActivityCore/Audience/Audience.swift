package import APNSModel

/// The audience of an activity and the phone rows that follow from it. Rows are made when a person joins, never by a
/// claim.
package struct Audience: Sendable {
    package let activity: ActivityRecord
    package let now: UnixTime
    /// `true` if the same commit begins a lap of the activity.
    package let beginsLap: Bool

    package init(activity: ActivityRecord, now: UnixTime, beginsLap: Bool = false) {
        self.activity = activity
        self.now = now
        self.beginsLap = beginsLap
    }

    /// Makes these people the audience; `nil` leaves it unchanged. Needs the keys `members` and `users`.
    package func replace(with users: [UserID]?, in draft: inout Draft) throws(Refusal) {
        guard let users else { return }
        var wanted: Set<UserNumber> = []
        for user in users {
            let number = draft.user(activity.app, user)
            wanted.insert(number)
            draft.addMember(number, to: activity.number)
        }
        let removed = draft.snapshot.members[activity.number, default: []].subtracting(wanted)
        for number in removed.sorted() { draft.removeMember(number, from: activity.number) }
        var record = draft.audience(of: activity.number)
        record.members = wanted.count
        // A replacement that is still going on must not remove people whom this one names.
        if record.mark > 0 { record.begin(session: nil) }
        draft.put(record)
        joinAll(wanted, &draft)
        for user in removed.sorted() {
            for device in draft.devices(of: user) { leave(device, &draft) }
        }
    }

    /// Creates rows for these people's devices, or makes existing rows members again.
    package func joinAll(_ users: Set<UserNumber>, _ draft: inout Draft) {
        for user in users.sorted() { join(draft.devices(of: user).filter { $0.signedOutAt == nil }, &draft) }
    }

    /// Creates rows for one person's devices, or makes existing rows members again.
    package func join(_ devices: [DeviceRecord], _ draft: inout Draft) {
        // Phones with a live start token for this type come first, because a start can reach no other.
        let lastActive = devices.max { left, right in
            (canStart(left, draft) ? 1 : 0, left.contactAt, left.key)
                < (canStart(right, draft) ? 1 : 0, right.contactAt, right.key)
        }
        for device in devices {
            let mayStart =
                switch activity.devices {
                case .all: true
                case .lastActive: device.key == lastActive?.key
                case .only(let ids): ids.contains(device.id)
                case .one(let id): device.id == id
                }
            join(device, mayStart: mayStart, &draft)
        }
    }

    /// Creates the row of a device that appeared after its person had joined.
    package func joinLate(_ device: DeviceRecord, _ draft: inout Draft) {
        let mayStart =
            switch activity.devices {
            case .all: true
            case .lastActive: !hasOther(than: device, &draft)
            case .only(let ids): ids.contains(device.id)
            case .one(let id): device.id == id
            }
        join(device, mayStart: mayStart, &draft)
    }

    /// Returns `true` if the person's other devices must be loaded to decide about a device that joins late.
    ///
    /// With `lastActive` that is so while the device has no row, or one that waits for its person to be named. Any
    /// other row already says whether a card may be started.
    package static func looksAtOthers(_ devices: ActivityRecord.DeviceSelection, _ own: CardMachine?) -> Bool {
        guard devices == .lastActive else { return false }
        return own.map { $0.awaitsUntil != nil } ?? true
    }

    /// Returns `true` if another device of the person shows the card, or is to start it.
    private func hasOther(than device: DeviceRecord, _ draft: inout Draft) -> Bool {
        draft.devices(of: device.user).contains { other in
            guard other.key != device.key, other.signedOutAt == nil else { return false }
            guard let card = draft.snapshot.cards[.init(activity.number, other.key)], card.isWanted else {
                return false
            }
            // A device on which no push can start a card does not prevent a start on this one.
            return card.state.mayHaveCard || (activity.mayStart(card, on: other.id) && canStart(other, draft))
        }
    }

    private func join(_ device: DeviceRecord, mayStart: Bool, _ draft: inout Draft) {
        if case .one(let id) = activity.devices, device.id != id { return }
        let key = Snapshot.PhoneKey(activity.number, device.key)
        if var card = draft.snapshot.cards[key] {
            guard !card.isWanted else { return }
            if case .ending(_, ends: 0) = card.life, draft.snapshot.updateTokens[key] == nil, card.run == activity.run {
                // No token was known to end the card with. It is the person's card again; a start would make a second
                // one.
                card.outliveEnd()
            } else if card.state == .ended || card.state == .ending {
                // The card ended because the person left. Its tombstone keeps late reports away from the next card. An
                // end that met a dead token may have ended nothing, so that card counts as gone.
                draft.bury(card, as: card.last?.reason.code == .tokenInactive ? .gone : .ended, at: now)
                card.joinAfterEnd(in: activity.run, at: now)
                draft.removeUpdateToken(key, at: now)
            }
            if let until = card.awaitsUntil {
                // Earlier reports of the phone count from now on, unless they are too old to be true.
                if until < now {
                    card.beginRun(activity.run, at: now)
                    draft.removeUpdateToken(key, at: now)
                }
                card.beNamed(mayStart: mayStart, alerted: alertedOnJoining)
                CardEvents(activity: activity, now: now).reported(nil, card, .reported, &draft)
            }
            card.join(alerted: alertedOnJoining)
            card.lookAt = lookAt
            draft.put(card)
        } else {
            var card = CardMachine(
                activity: activity.number, device: device.key, run: activity.run, at: now, mayStart: mayStart,
                alerted: alertedOnJoining)
            card.lookAt = lookAt
            draft.put(card)
        }
    }

    /// Time of the next look at a joining phone. The lap of a new state finds phones that join with it; later ones are
    /// looked at separately.
    private var lookAt: UnixTime? { beginsLap || activity.phase != .active ? nil : now }

    /// Revision up to which alerts are not for a joining person. One who joins with the alert's own state gets that
    /// alert.
    private var alertedOnJoining: Revision {
        let isNow = beginsLap && activity.alert?.revision == activity.revision && activity.changedAt == now
        return isNow ? activity.revision - 1 : activity.revision
    }

    /// Ends the card of a device whose person left.
    package func leave(_ device: DeviceRecord, _ draft: inout Draft) {
        let key = Snapshot.PhoneKey(activity.number, device.key)
        guard var card = draft.snapshot.cards[key], card.isWanted else { return }
        card.leave(at: now)
        card.lookAt = card.state.mayHaveCard || card.run != activity.run ? now : nil
        draft.put(card)
        draft.record(
            HistoryEntry(
                .audienceChanged, device: device.key, at: now, revision: activity.revision, detail: "left"),
            of: activity)
    }

    private func canStart(_ device: DeviceRecord, _ draft: Draft) -> Bool {
        guard device.activitiesEnabled != false else { return false }
        let token = draft.snapshot.deviceTokens[.init(device.key, .pushToStart, activity.type)]
        return token.map { $0.deadAt == nil } ?? false
    }
}
