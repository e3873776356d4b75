package import APNSModel

/// Writes down what came of a flight: one narrow row per phone, one history row, one lane row.
///
/// Under the flight's fence it closes the lane's flight. Outcomes that come later, or from a process that lost its
/// lease, are judged phone by phone.
package struct SettleFlight: Command {
    /// What came of one seat.
    package enum Outcome: Sendable {
        case answered(Result<PushAnswer, PushFailure>)
        /// The payload could not be built.
        case notBuilt(PayloadError)
        /// Its answer is still awaited; nobody else may try before that instant.
        case awaited(until: UnixTime)
    }

    package struct Entry: Sendable {
        package var seat: Flight.Seat
        package var outcome: Outcome
        /// 0 to 1, for the jitter of a retry.
        package var dice: Double

        package init(seat: Flight.Seat, outcome: Outcome, dice: Double) {
            self.seat = seat
            self.outcome = outcome
            self.dice = dice
        }
    }

    package struct Reply: Sendable, Equatable {
        package var accepted = 0
        package var refused = 0
        package var awaited = 0
        /// Outcomes that a newer push had overtaken.
        package var overtaken = 0
        /// What the lane waits for, if that is not a phone's matter.
        package var fault: Consequence.Fault?
    }

    package let activity: ActivityNumber
    package let flight: FlightRecord
    package let fence: Int64
    package let entries: [Entry]
    package let app: AppSettings
    package let now: UnixTime

    package init(flight: Flight, entries: [Entry], app: AppSettings, now: UnixTime) {
        activity = flight.desired.activity.number
        self.flight = flight.record
        fence = flight.fence
        // In the order of the table, so that the pages written are neighbours.
        self.entries = entries.sorted { $0.seat.phone.device.key < $1.seat.phone.device.key }
        self.app = app
        self.now = now
    }

    package var rank: CommandRank { .settle }
    package var keys: [SnapshotKey] { [.phones(activity, devices: entries.map(\.seat.phone.device.key))] }

    /// Above this share of 429 in a flight the lane backs off, not each phone.
    private static let slowDownShare = 0.2

    package func decide(_ draft: inout Draft) throws(Refusal) -> Reply {
        guard let record = draft.snapshot.activities[activity] else { return Reply() }
        var lane = draft.lane(of: activity)
        let isOurs = lane.fence == fence && lane.flight != nil
        var reply = Reply()
        var history: [HistoryEntry] = []
        var faulted: DeviceKey?
        var slowDowns = 0
        var isOneBehind = false
        for entry in entries {
            let key = Snapshot.PhoneKey(activity, entry.seat.phone.device.key)
            guard let instance = draft.snapshot.instances[key] else { continue }
            var settlement = PhoneSettlement(
                entry: entry, activity: record, flight: flight, app: app, laneTries: lane.tries, now: now)
            settlement.apply(to: instance, &draft)
            switch settlement.result {
            case .accepted: reply.accepted += 1
            case .awaited: reply.awaited += 1
            case .overtaken: reply.overtaken += 1
            case .refused(let isSlowDown):
                reply.refused += 1
                slowDowns += isSlowDown ? 1 : 0
            case .fault(let fault):
                reply.refused += 1
                if reply.fault.map({ $0.kind < fault.kind }) ?? true { reply.fault = fault }
                faulted = min(faulted ?? key.device, key.device)
            }
            if let settled = draft.snapshot.instances[key] {
                if let due = settled.dueAt { lane.lapNextAt = min(lane.lapNextAt ?? due, due) }
                isOneBehind = isOneBehind || settled.dueAt == nil && settled.heldRevision < record.revision
            }
            if let entry = settlement.history { history.append(entry) }
        }
        if isOurs {
            lane.flight = nil
            close(&lane, record, reply, faulted: faulted, slowDowns: slowDowns, &draft)
        } else if isOneBehind, reply.accepted > 0 {
            // A straggler's answer came while newer states went to the others: it has waited long enough.
            Lanes.wake(activity, at: now, &draft)
        } else if let due = lane.lapNextAt, lane.flight == nil {
            Lanes.wake(activity, at: due, &draft)
        }
        if !history.isEmpty {
            draft.record(HistoryRecord(activity: activity, at: now, revision: flight.revision, entries: history))
        }
        return reply
    }

    private func close(
        _ lane: inout LaneRecord, _ record: ActivityRecord, _ reply: Reply, faulted: DeviceKey?, slowDowns: Int,
        _ draft: inout Draft
    ) {
        // Only a newer state waits for the coalescing window: the rest of a lap must not go at one page a second.
        var nextAt: UnixTime? =
            if record.revision > lane.lapRevision { max(now, record.holdUntil) } else {
                lane.isLapDone ? lane.lapNextAt : now
            }
        if let fault = reply.fault, let faulted {
            // Written once, here: the phones stay behind and are found again from the first of them on.
            lane.tries = reply.accepted > 0 ? 1 : lane.tries + (fault.kind == .notSent ? 0 : 1)
            lane.reason = fault.reason
            lane.position = faulted
            lane.stop = faulted
            lane.hasWrapped = false
            nextAt = fault.retryAt
        } else if Double(slowDowns) > Self.slowDownShare * Double(entries.count), slowDowns > 1 {
            lane.tries += 1
            let at = now + Backoff.token(tries: lane.tries, dice: entries.first?.dice ?? 1)
            lane.reason = Reason(.slowDown, at.description)
            nextAt = max(nextAt ?? at, at)
        } else {
            lane.tries = 0
            lane.reason = nil
        }
        lane.nextAt = nextAt
        draft.put(lane)
        var record = record
        record.wakeAt = nextAt
        draft.put(record)
    }
}
