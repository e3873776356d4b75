package import APNSModel

/// Claims computations that are due, longest waiting first, under a lease.
package struct ClaimRefreshes: Command {
    package struct Reply: Sendable, Equatable {
        package var runs: [RefreshRun]
        /// Number of computations that are no longer due because the person is not signed in on any device.
        package var dropped = 0
        /// Descriptions of rows that could not be read.
        package var unreadable: [String] = []

        package init(runs: [RefreshRun] = []) {
            self.runs = runs
        }

        /// `true` if a computation that was due no longer is.
        package var hasMovedOn: Bool { !runs.isEmpty || dropped > 0 }
    }

    /// Maximum number of a person's time zones that one run computes. Nobody has more.
    package static let maximumZones = 16

    package let due: DueRefreshes
    /// Time that a run may take for each zone, and in addition (`leaseMargin`).
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
            // The person is not signed in on any device. Signing in again asks for a computation.
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

/// Selection of the computations for a claim: those of each type that are due, and those that a lost process had
/// claimed.
package struct DueRefreshes: Sendable, Equatable {
    package struct Want: Sendable, Hashable {
        package var app: BundleID
        package var type: String
        /// Maximum number of computations that somebody waits for, and of all computations together.
        package var limit: Int
        /// Maximum number of computations that nobody waits for.
        package var paced: Int

        package init(app: BundleID, type: String, limit: Int, paced: Int) {
            self.app = app
            self.type = type
            self.limit = limit
            self.paced = paced
        }
    }

    /// Maximum number of lost processes' computations that one claim looks at.
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
