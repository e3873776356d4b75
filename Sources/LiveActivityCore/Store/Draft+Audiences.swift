import APNSModel

extension Draft {
    /// Returns whether a command with these keys sees here the same rows as after a commit of the changes so far.
    ///
    /// If not, the command must run in a transaction of its own. There are two cases:
    ///
    /// - At most one page of a large audience is loaded. Once a person has joined or left, another page or the whole
    ///   would be loaded.
    /// - A device signs in after an activity's card has been limited to one device. The cards on the person's other
    ///   devices were not loaded.
    package func stillHolds(_ keys: [SnapshotKey]) -> Bool {
        guard !touchedAudiences.isEmpty || narrowsDevices else { return true }
        return keys.allSatisfy { key in
            switch key {
            case .members(let app, let id): return isKnown(app, id, upTo: .max)
            case .audiencePage(let app, let id, _, let limit, _): return isKnown(app, id, upTo: limit)
            case .activitiesOf: return !narrowsDevices
            case .activity, .activityWithPhones, .cards, .phones, .users, .device, .devicePage, .owners, .holders,
                .audience,
                .idempotency, .due, .dueNotifications, .addressees, .refreshes, .memos, .provided, .dueRefreshes,
                .channel, .channels, .dueChannels:
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

    /// Records which replacement of the audience named this member last.
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
