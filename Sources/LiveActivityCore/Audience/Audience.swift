package import APNSModel

/// Who should see an activity, and the rows that follow from it: made when somebody joins, never at claim.
package struct Audience: Sendable {
    package let activity: ActivityRecord
    package let now: UnixTime
    /// The same commit begins a lap of the activity.
    package let beginsLap: Bool

    package init(activity: ActivityRecord, now: UnixTime, beginsLap: Bool = false) {
        self.activity = activity
        self.now = now
        self.beginsLap = beginsLap
    }

    /// Makes these people the audience; `nil` leaves it. Needs the keys `members` and `users`.
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
        // Whatever replacement still goes on elsewhere must not remove whom this one names.
        if record.mark > 0 { record.begin(session: nil) }
        draft.put(record)
        joinAll(wanted, &draft)
        for user in removed.sorted() {
            for device in draft.devices(of: user) { leave(device, &draft) }
        }
    }

    /// Makes the rows of these people's devices, or takes them back in.
    package func joinAll(_ users: Set<UserNumber>, _ draft: inout Draft) {
        for user in users.sorted() { join(draft.devices(of: user).filter { $0.signedOutAt == nil }, &draft) }
    }

    /// Makes the rows of one person's devices, or takes them back in.
    package func join(_ devices: [DeviceRecord], _ draft: inout Draft) {
        // Phones that took the start token for this type come first: a start can reach no other.
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

    /// Takes in a device that appeared after its person had joined.
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

    /// A device that joins late depends on the person's other devices, which have to be loaded: it has no row yet, or
    /// one that waits for its person to be named. Any other row of its own says already whether it may start a card.
    package static func looksAtOthers(_ devices: ActivityRecord.DeviceSelection, _ own: CardMachine?) -> Bool {
        guard devices == .lastActive else { return false }
        return own.map { $0.awaitsUntil != nil } ?? true
    }

    /// Another device of the person shows the card, or is to start it.
    private func hasOther(than device: DeviceRecord, _ draft: inout Draft) -> Bool {
        draft.devices(of: device.user).contains { other in
            guard other.key != device.key, other.signedOutAt == nil else { return false }
            guard let card = draft.snapshot.cards[.init(activity.number, other.key)], card.isWanted else {
                return false
            }
            // A device that no push can start a card on does not keep one from this one.
            return card.state.mayHaveCard || (card.mayStart && canStart(other, draft))
        }
    }

    private func join(_ device: DeviceRecord, mayStart: Bool, _ draft: inout Draft) {
        if case .one(let id) = activity.devices, device.id != id { return }
        let key = Snapshot.PhoneKey(activity.number, device.key)
        if var card = draft.snapshot.cards[key] {
            guard !card.isWanted else { return }
            if case .ending(_, ends: 0) = card.life, draft.snapshot.updateTokens[key] == nil, card.run == activity.run {
                // Nothing was there yet to end it with: it is their card again, and another would be a second one.
                card.outliveEnd()
            } else if card.state == .ended || card.state == .ending {
                // Its card was ended because the person left; the tombstone keeps late news of it away from the next.
                // An end that met a dead token ended nothing that anybody knows of.
                draft.bury(card, as: card.last?.reason.code == .tokenInactive ? .gone : .ended, at: now)
                card.joinAfterEnd(in: activity.run, at: now)
                draft.removeUpdateToken(key, at: now)
            }
            if let until = card.awaitsUntil {
                // What the phone had reported before counts from now on, unless it is too old to be true.
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

    /// The lap that begins with a new state finds those who join with it; who joins later is looked at by itself.
    private var lookAt: UnixTime? { beginsLap || activity.phase != .active ? nil : now }

    /// One who joins with the state that brings an alert gets it; one who joins later does not.
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
