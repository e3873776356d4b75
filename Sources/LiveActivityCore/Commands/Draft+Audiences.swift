import APNSModel

extension Draft {
    /// Whether a command with these keys sees here what it would see after a commit of what was changed so far.
    ///
    /// Of a large audience at most a page is loaded. Once somebody has joined or left, another page would be loaded, or
    /// the whole: the command is then to run in a transaction of its own. So is a device that signs in, once an
    /// activity's card went to one device alone: what the person's others show there was not loaded.
    package func stillHolds(_ keys: [SnapshotKey]) -> Bool {
        guard !touchedAudiences.isEmpty || narrowsDevices else { return true }
        return keys.allSatisfy { key in
            switch key {
            case .members(let app, let id): return isKnown(app, id, upTo: .max)
            case .audiencePage(let app, let id, _, let limit, _): return isKnown(app, id, upTo: limit)
            case .activitiesOf: return !narrowsDevices
            case .activity, .instances, .phones, .users, .device, .devicePage, .owners, .holders, .audience,
                .idempotency, .due, .dueNotifications, .addressees, .refreshes, .memos, .provided, .dueRefreshes:
                return true
            }
        }
    }

    private func isKnown(_ app: BundleID, _ id: ActivityID, upTo limit: Int) -> Bool {
        guard let number = snapshot.activityNumbers[.init(app, id)], touchedAudiences.contains(number) else {
            return true
        }
        return snapshot.wholeAudiences.contains(number) && snapshot.members[number, default: []].count <= limit
    }

    // MARK: - Changing

    /// Notes which replacement of the audience named this member last.
    package mutating func mark(_ user: UserNumber, of activity: ActivityNumber, with mark: Int64) {
        let key = Snapshot.MemberKey(activity, user)
        let (old, was) = (snapshot.memberMarks[key], changes.memberMarks.contains(key))
        guard old ?? 0 != mark else { return }
        touchedAudiences.insert(activity)
        snapshot.memberMarks[key] = mark
        changes.memberMarks.insert(key)
        onRefusal { draft in
            draft.snapshot.memberMarks[key] = old
            if !was { draft.changes.memberMarks.remove(key) }
        }
    }

    package mutating func put(_ audience: AudienceRecord) {
        let (old, was) = (snapshot.audiences[audience.activity], changes.audiences.contains(audience.activity))
        guard old != audience else { return }
        touchedAudiences.insert(audience.activity)
        snapshot.audiences[audience.activity] = audience
        changes.audiences.insert(audience.activity)
        onRefusal { draft in
            draft.snapshot.audiences[audience.activity] = old
            if !was { draft.changes.audiences.remove(audience.activity) }
        }
    }

    package mutating func put(_ record: IdempotencyRecord) {
        let key = Snapshot.AppID(record.app, record.hash)
        let (old, was) = (snapshot.idempotency[key], changes.idempotency.contains(key))
        snapshot.idempotency[key] = record
        changes.idempotency.insert(key)
        onRefusal { draft in
            draft.snapshot.idempotency[key] = old
            if !was { draft.changes.idempotency.remove(key) }
        }
    }
}
