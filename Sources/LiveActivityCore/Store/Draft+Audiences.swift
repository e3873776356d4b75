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
            case .activity, .cards, .phones, .users, .device, .devicePage, .owners, .holders, .audience,
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
        guard snapshot.memberMarks[key] ?? 0 != mark else { return }
        touchedAudiences.insert(activity)
        write(mark, at: key, \.memberMarks, \.memberMarks)
    }

    package mutating func put(_ audience: AudienceRecord) {
        guard snapshot.audiences[audience.activity] != audience else { return }
        touchedAudiences.insert(audience.activity)
        write(audience, at: audience.activity, \.audiences, \.audiences)
    }

    package mutating func put(_ record: IdempotencyRecord) {
        write(record, at: .init(record.app, record.hash), \.idempotency, \.idempotency)
    }
}
