package import APNSModel

/// Takes computations that are due, the longest waiting first, under a lease.
package struct ClaimRefreshes: Command {
    package struct Reply: Sendable, Equatable {
        package var runs: [RefreshRun]
        /// Computations that are not due any more, since nobody is signed in.
        package var dropped = 0
        /// Rows that could not be read, in words.
        package var unreadable: [String] = []

        package init(runs: [RefreshRun] = []) {
            self.runs = runs
        }

        /// Something that was due is not any more.
        package var hasMovedOn: Bool { !runs.isEmpty || dropped > 0 }
    }

    /// Time zones of one person that one run computes; nobody has more.
    package static let maximumZones = 16

    package let due: DueRefreshes
    /// How long a run may take for each zone, and besides.
    package let leaseOfZone: Duration
    package let leaseMargin: Duration

    package init(_ due: DueRefreshes, leaseOfZone: Duration, leaseMargin: Duration) {
        self.due = due
        self.leaseOfZone = leaseOfZone
        self.leaseMargin = leaseMargin
    }

    package var rank: CommandRank { .claim }
    package static var mayBeRefused: Bool { false }
    package var keys: [SnapshotKey] { [.dueRefreshes(due)] }

    package func decide(_ draft: inout Draft) throws(Refusal) -> Reply {
        var reply = Reply()
        reply.unreadable = draft.snapshot.unreadable
        var taken: [DueRefreshes.Want: Int] = [:]
        for key in draft.snapshot.dueRefreshes {
            guard let record = draft.snapshot.refreshes[key], record.isDue(at: due.at, node: due.node),
                let want = due.wants.first(where: { $0.app == record.app && $0.type == record.type })
            else { continue }
            guard taken[want, default: 0] < want.limit else { continue }
            guard let run = claim(record, &draft) else {
                reply.dropped += 1
                continue
            }
            taken[want, default: 0] += 1
            reply.runs.append(run)
        }
        return reply
    }

    private func claim(_ old: RefreshRecord, _ draft: inout Draft) -> RefreshRun? {
        var record = old
        let zones = self.zones(of: record, &draft)
        record.fence += 1
        guard !zones.isEmpty else {
            // Nobody is signed in anywhere: whoever comes back asks by it.
            record.done = record.asked
            record.dueAt = nil
            record.node = nil
            record.tries = 0
            record.failure = nil
            draft.put(record)
            return nil
        }
        let pace = record.pace
        record.node = due.node
        record.dueAt = due.at + leaseOfZone * zones.count + leaseMargin
        record.pace = .paced
        draft.put(record)
        return RefreshRun(
            app: record.app, type: record.type, user: record.userID, asked: record.asked, fence: record.fence,
            pace: pace, zones: zones)
    }

    private func zones(of record: RefreshRecord, _ draft: inout Draft) -> [RefreshRun.Zone] {
        let devices = draft.devices(of: record.user).filter { $0.signedOutAt == nil }
        let byZone = Dictionary(grouping: devices) { $0.timeZone ?? Refreshes.defaultZone }
        return byZone.sorted { $0.key < $1.key }.prefix(Self.maximumZones).map { name, devices in
            RefreshRun.Zone(
                name: name, devices: devices.map(\.id).sorted(),
                memo: draft.snapshot.memos[MemoKey(record.user, record.type, name)]?.memo)
        }
    }
}

/// Which computations a claim is to see: of each type those that are due, and those that a lost process had.
package struct DueRefreshes: Sendable, Equatable {
    package struct Want: Sendable, Hashable {
        package var app: BundleID
        package var type: String
        /// How many of those that somebody waits for; all together are no more than this.
        package var limit: Int
        /// How many of the others.
        package var paced: Int

        package init(app: BundleID, type: String, limit: Int, paced: Int) {
            self.app = app
            self.type = type
            self.limit = limit
            self.paced = paced
        }
    }

    /// Computations of lost processes that one claim looks at.
    package static let maximumAbandoned = 256

    package var at: UnixTime
    package var node: Int64
    package var wants: [Want]

    package init(at time: UnixTime, node: Int64, wants: [Want]) {
        at = time
        self.node = node
        self.wants = wants
    }
}
