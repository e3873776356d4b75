package import APNSModel

/// Changes the audience of an activity. A person who joins gets a card; a person who leaves has theirs ended.
///
/// The desired state stays unchanged. One commit removes a limited number of people, and `SweepAudience` removes the
/// rest.
package struct ChangeAudience: Command {
    /// Kind of change.
    package enum Change: Sendable, Equatable {
        case change(add: [UserID], remove: [UserID])
        /// Replaces the whole audience.
        case replace([UserID])
        /// One page of a named replacement. After the last page, everyone whom no page has named leaves.
        case page(session: String, users: [UserID], isLast: Bool)

        package var users: [UserID] {
            switch self {
            case .change(let add, let remove): add + remove
            case .replace(let users), .page(_, let users, _): users
            }
        }

        var namesSomebody: Bool {
            switch self {
            case .change(let add, _): !add.isEmpty
            case .replace(let users), .page(_, let users, _): !users.isEmpty
            }
        }
    }

    /// Numbers of people whom the change concerned, so far.
    package struct Reply: Sendable, Equatable, IdempotentReply {
        package var number: ActivityNumber
        package var revision: Revision
        package var phase: ActivityRecord.Phase
        package var added = 0
        package var removed = 0
        package var unchanged = 0
        package var members = 0
        /// Rest of a replacement, for `SweepAudience`; `nil` if nobody else is to be removed.
        package var sweep: Sweep?

        package var isFinal: Bool { sweep == nil }
    }

    /// Position of a replacement among the members: those after `after` that do not carry `mark` are to leave.
    package struct Sweep: Sendable, Equatable, Codable {
        package var mark: Int64
        package var after: UserNumber
    }

    /// Maximum number of people in one page, and of members that one commit reads.
    package static let maximumUsers = 1000

    package let app: BundleID
    package let id: ActivityID
    package let change: Change
    package let now: UnixTime
    package var preconditions = Preconditions()

    package init(app: BundleID, id: ActivityID, change: Change, now: UnixTime) {
        self.app = app
        self.id = id
        self.change = change
        self.now = now
    }

    package var rank: CommandRank { .write }
    package var weight: Int { 1 + change.users.count }

    package var keys: [SnapshotKey] {
        let named = SnapshotKey.audience(app, id, change.users)
        guard case .replace = change else { return [named] }
        return [named, .audiencePage(app, id, after: 0, limit: Self.maximumUsers, besides: nil)]
    }

    package func decide(_ draft: inout Draft) throws(Refusal) -> Reply {
        guard change.users.count <= Self.maximumUsers else { throw .audienceTooLarge(limit: Self.maximumUsers) }
        guard let activity = draft.activity(app, id) else { throw .unknownActivity(id) }
        try preconditions.check(activity, id)
        guard activity.phase != .announced else { throw .notAnActivityYet(id) }
        if activity.phase == .ended, change.namesSomebody { throw .activityEnded(id) }
        var members = Members(activity: activity, now: now, draft)
        var sweep: Sweep?
        switch change {
        case .change(let add, let remove):
            members.remove(remove.compactMap { draft.snapshot.users[.init(app, $0)] }, &draft)
            members.add(add, &draft)
        case .replace(let users):
            members.record.begin(session: nil)
            let named = members.add(users, &draft)
            let page = draft.snapshot.audiencePages[.init(activity.number, after: 0, besides: nil)]
            if let page, !page.isComplete {
                members.remove(page.members.filter { !named.contains($0) }, &draft)
                sweep = Sweep(mark: members.record.mark, after: page.last ?? 0)
            } else {
                // All members are known: the page, and whoever joined since it was loaded.
                let known = draft.snapshot.members[activity.number, default: []]
                members.remove(known.subtracting(named).sorted(), &draft)
            }
        case .page(let session, let users, let isLast):
            try take(users, of: session, &members, &draft)
            if isLast {
                members.record.isClosed = true
                sweep = Sweep(mark: members.record.mark, after: 0)
            }
        }
        members.finish(&draft)
        return Reply(
            number: activity.number, revision: activity.revision, phase: activity.phase, added: members.added,
            removed: members.removed, unchanged: members.unchanged, members: members.record.members, sweep: sweep)
    }

    private func take(
        _ users: [UserID], of session: String, _ members: inout Members, _ draft: inout Draft
    ) throws(Refusal) {
        if members.record.session != session {
            guard !members.record.replaced.contains(session) else { throw .sessionReplaced(id) }
            members.record.begin(session: session)
        }
        if members.record.isClosed {
            // A repeated page changes nothing. A new one would bring back people who were removed since.
            let known = draft.snapshot.members[members.activity.number, default: []]
            let isRepeated = users.allSatisfy { user in
                draft.snapshot.users[.init(app, user)].map(known.contains) ?? false
            }
            guard isRepeated else { throw .sessionClosed(id) }
        }
        members.add(users, &draft)
    }
}

/// Continues a replacement: removes people whom it did not name, one page of members at a time.
package struct SweepAudience: Command {
    package let app: BundleID
    package let id: ActivityID
    /// Reply so far, with the rest of the sweep.
    package let reply: ChangeAudience.Reply
    package let sweep: ChangeAudience.Sweep
    package let now: UnixTime

    package init(
        app: BundleID, id: ActivityID, reply: ChangeAudience.Reply, sweep: ChangeAudience.Sweep, now: UnixTime
    ) {
        self.app = app
        self.id = id
        self.reply = reply
        self.sweep = sweep
        self.now = now
    }

    package var rank: CommandRank { .write }
    package var weight: Int { ChangeAudience.maximumUsers }
    package var keys: [SnapshotKey] {
        [
            .audiencePage(
                app, id, after: sweep.after, limit: ChangeAudience.maximumUsers, besides: sweep.mark)
        ]
    }

    package func decide(_ draft: inout Draft) throws(Refusal) -> ChangeAudience.Reply {
        guard let activity = draft.activity(app, id) else { throw .unknownActivity(id) }
        var members = Members(activity: activity, now: now, draft)
        guard members.record.mark == sweep.mark else { throw .sessionReplaced(id) }
        let page = draft.snapshot.audiencePages[.init(activity.number, after: sweep.after, besides: sweep.mark)]
        // People who were named since the page was loaded stay.
        let left = (page?.members ?? []).filter {
            draft.snapshot.memberMarks[.init(activity.number, $0), default: 0] != sweep.mark
        }
        members.remove(left, &draft)
        members.finish(&draft)
        var reply = self.reply
        reply.removed += members.removed
        reply.members = members.record.members
        reply.sweep =
            if let page, !page.isComplete, let last = page.last {
                ChangeAudience.Sweep(mark: sweep.mark, after: last)
            } else {
                nil
            }
        return reply
    }
}

/// The members of an audience during a change, with their correct number.
private struct Members {
    let activity: ActivityRecord
    let now: UnixTime
    var record: AudienceRecord
    var added = 0
    var removed = 0
    var unchanged = 0

    init(activity: ActivityRecord, now: UnixTime, _ draft: Draft) {
        self.activity = activity
        self.now = now
        record = draft.audience(of: activity.number)
    }

    @discardableResult
    mutating func add(_ users: [UserID], _ draft: inout Draft) -> Set<UserNumber> {
        var named: Set<UserNumber> = []
        for user in users {
            let number = draft.user(activity.app, user)
            guard named.insert(number).inserted else { continue }
            if draft.snapshot.members[activity.number]?.contains(number) == true {
                unchanged += 1
            } else {
                draft.addMember(number, to: activity.number)
                added += 1
            }
            draft.mark(number, of: activity.number, with: record.mark)
        }
        Audience(activity: activity, now: now).joinAll(named, &draft)
        return named
    }

    mutating func remove(_ users: [UserNumber], _ draft: inout Draft) {
        var leaving: Set<UserNumber> = []
        for user in users where draft.snapshot.members[activity.number]?.contains(user) == true {
            draft.removeMember(user, from: activity.number)
            leaving.insert(user)
        }
        removed += leaving.count
        let audience = Audience(activity: activity, now: now)
        for user in leaving.sorted() {
            for device in draft.devices(of: user) { audience.leave(device, &draft) }
        }
    }

    mutating func finish(_ draft: inout Draft) {
        record.members = max(0, record.members + added - removed)
        draft.put(record)
        guard added + removed > 0 else { return }
        draft.record(
            HistoryEntry(
                .audienceChanged, at: now, revision: activity.revision,
                detail: "\(added) joined, \(removed) left"),
            of: activity)
    }
}
