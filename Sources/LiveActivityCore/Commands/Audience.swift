package import APNSModel

/// Who should see an activity, and the instances that follow from it: made when somebody joins, never at claim.
package struct Audience: Sendable {
    package let activity: ActivityRecord
    package let now: UnixTime

    package init(activity: ActivityRecord, now: UnixTime) {
        self.activity = activity
        self.now = now
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
        for number in draft.snapshot.members[activity.number, default: []].subtracting(wanted) {
            draft.removeMember(number, from: activity.number)
        }
        let devices = draft.snapshot.devices.values.sorted { $0.key < $1.key }
        for user in wanted.sorted() {
            join(devices.filter { $0.user == user && $0.signedOutAt == nil }, &draft)
        }
        for device in devices where !wanted.contains(device.user) {
            leave(device, &draft)
        }
    }

    /// Makes the instances of one person's devices, or takes them back in.
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
                }
            join(device, mayStart: mayStart, &draft)
        }
    }

    /// Takes in a device that appeared after its person had joined.
    package func joinLate(_ device: DeviceRecord, _ draft: inout Draft) {
        let hasOther = draft.snapshot.devices.values.contains { other in
            guard other.user == device.user, other.key != device.key, other.signedOutAt == nil else { return false }
            guard let instance = draft.snapshot.instances[.init(activity.number, other.key)], instance.isWanted else {
                return false
            }
            // A device that no push can start a card on does not keep one from this one.
            return instance.state.mayHaveCard || (instance.mayStart && canStart(other, draft))
        }
        let mayStart =
            switch activity.devices {
            case .all: true
            case .lastActive: !hasOther
            case .only(let ids): ids.contains(device.id)
            }
        join(device, mayStart: mayStart, &draft)
    }

    private func join(_ device: DeviceRecord, mayStart: Bool, _ draft: inout Draft) {
        let key = Snapshot.PhoneKey(activity.number, device.key)
        if var instance = draft.snapshot.instances[key] {
            guard !instance.isWanted else { return }
            if instance.state == .ended || instance.state == .ending {
                // Its card was ended because the person left; the tombstone keeps late news of it away from the next.
                if let localID = instance.localID {
                    draft.put(
                        TombstoneRecord(
                            device: device.key, localID: localID, activity: activity.number, state: .ended, at: now))
                }
                instance = instance.renewed(run: activity.run, at: now)
                instance.alertedRevision = alertedOnJoining
                draft.removeUpdateToken(key)
            }
            instance.isWanted = true
            draft.put(instance)
        } else {
            var instance = InstanceRecord(activity: activity.number, device: device.key, run: activity.run, at: now)
            instance.mayStart = mayStart
            instance.alertedRevision = alertedOnJoining
            draft.put(instance)
        }
        wake(&draft)
    }

    /// One who joins with the state that brings an alert gets it; one who joins later does not.
    private var alertedOnJoining: Revision {
        let isNow = activity.alert?.revision == activity.revision && activity.changedAt == now
        return isNow ? activity.revision - 1 : activity.revision
    }

    /// Ends the card of a device whose person left.
    package func leave(_ device: DeviceRecord, _ draft: inout Draft) {
        let key = Snapshot.PhoneKey(activity.number, device.key)
        guard var instance = draft.snapshot.instances[key], instance.isWanted else { return }
        instance.isWanted = false
        instance.dueAt = nil
        draft.put(instance)
        draft.record(
            HistoryRecord(
                activity: activity.number, at: now, revision: activity.revision,
                entries: [
                    HistoryEntry(
                        .audienceChanged, device: device.key, at: now, revision: activity.revision, detail: "left")
                ]))
        wake(&draft)
    }

    private func canStart(_ device: DeviceRecord, _ draft: Draft) -> Bool {
        guard device.activitiesEnabled != false else { return false }
        let token = draft.snapshot.deviceTokens[.init(device.key, .pushToStart, activity.type)]
        return token.map { $0.deadAt == nil } ?? false
    }

    /// Makes the activity's lane look again: a phone of it has news.
    package func wake(_ draft: inout Draft) {
        Lanes.wake(activity.number, at: now, &draft)
    }
}

/// The one place that wakes a lane for a phone's sake.
package enum Lanes {
    package static func wake(_ number: ActivityNumber, at wanted: UnixTime, _ draft: inout Draft) {
        var lane = draft.lane(of: number)
        let time = lane.isBackingOff(now: wanted) ? lane.nextAt ?? wanted : wanted
        if var activity = draft.snapshot.activities[number] {
            activity.wake(at: max(time, activity.holdUntil))
            draft.put(activity)
        }
        lane.nextAt = min(lane.nextAt ?? time, time)
        // The phone may lie behind the position: the lap goes once around from here.
        lane.stop = lane.position
        lane.hasWrapped = false
        draft.put(lane)
    }
}
