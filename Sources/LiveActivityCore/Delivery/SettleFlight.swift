package import APNSModel

/// Stores the results of a flight: one narrow row for each phone, one history row and one lane row.
///
/// Under the flight's own fence, the command closes the flight. Outcomes that come later, or from a process that lost
/// its lease, are judged phone by phone.
package struct SettleFlight: Command {
    /// Outcome of one seat.
    package enum Outcome: Sendable {
        case answered(Result<PushAnswer, PushFailure>)
        /// The payload could not be built.
        case notBuilt(PayloadError)
        /// The answer is still awaited. Nobody else may retry before `until`.
        case awaited(until: UnixTime)
    }

    package struct Entry: Sendable {
        package var seat: Flight.Seat
        package var outcome: Outcome
        /// Random number from 0 to 1 for the jitter of a retry.
        package var dice: Double
        /// Time until which an earlier settlement has written `.awaited` for this push; `nil` if there was none.
        package var awaitedUntil: UnixTime?

        package init(seat: Flight.Seat, outcome: Outcome, dice: Double, awaitedUntil: UnixTime? = nil) {
            self.seat = seat
            self.outcome = outcome
            self.dice = dice
            self.awaitedUntil = awaitedUntil
        }
    }

    package struct Reply: Sendable, Equatable {
        package var accepted = 0
        package var refused = 0
        package var awaited = 0
        /// Number of outcomes that a newer push had overtaken.
        package var overtaken = 0
        /// Fault for which the lane waits; `nil` if it has none.
        package var fault: Consequence.Fault?
    }

    package let lane: LaneKey
    package let flight: FlightRecord
    package let fence: Int64
    package let entries: [Entry]
    package let app: AppSettings
    package let now: UnixTime

    package init(flight: Flight, entries: [Entry], app: AppSettings, now: UnixTime) {
        lane = flight.lane
        self.flight = flight.record
        fence = flight.fence
        // The order of the table, so that the pages written are neighbors.
        self.entries = entries.sorted { $0.seat.phone.device.key < $1.seat.phone.device.key }
        self.app = app
        self.now = now
    }

    private var activity: ActivityNumber { lane.activity }

    package static var mayBeRefused: Bool { false }
    package var rank: CommandRank { .settle }
    package var weight: Int { entries.count }
    package var keys: [SnapshotKey] {
        // An accepted update changes only its own row. This is by far the most frequent case.
        let simple = entries.filter(\.isSimple).map(\.seat.phone.device.key)
        let others = entries.filter { !$0.isSimple }.map(\.seat.phone.device.key)
        var keys: [SnapshotKey] = []
        if !simple.isEmpty { keys.append(.cards(activity, devices: simple)) }
        if !others.isEmpty || simple.isEmpty { keys.append(.phones(activity, devices: others)) }
        // A refused token may belong to another owner by now.
        let refused = entries.filter(\.mayKillToken).compactMap(\.token)
        if !refused.isEmpty { keys.append(.owners(app.bundleID, refused)) }
        return keys
    }

    /// Share of 429 in a flight above which the lane backs off instead of each phone.
    private static let slowDownShare = 0.2

    /// `true` if faults are written for the lane: more than half of the answers are faults.
    ///
    /// Fewer faults are written for their phones. Otherwise one phone that always meets a 5xx would delay all others.
    var faultsAreTheLanes: Bool {
        var (faults, answers) = (0, 0)
        for entry in entries {
            guard !entry.outcome.isAwaited else { continue }
            answers += 1
            faults += entry.outcome.isFault ? 1 : 0
        }
        return faults * 2 > answers
    }

    package func decide(_ draft: inout Draft) throws(Refusal) -> Reply {
        guard let record = draft.snapshot.activities[activity] else { return Reply() }
        let claimed = draft.snapshot.lane(lane)
        let isOurs = claimed?.fence == fence && claimed?.flight != nil
        let context = PhoneSettlement.Context(of: self, record, claimed, isOpen: isOurs)
        var reply = Reply()
        var history: [HistoryEntry] = []
        var faulted: DeviceKey?
        var slowDowns = 0
        var lookAt: UnixTime?
        for entry in entries {
            let key = Snapshot.PhoneKey(activity, entry.seat.phone.device.key)
            guard let card = draft.snapshot.cards[key] else { continue }
            var settlement = PhoneSettlement(entry, in: context)
            let time = settlement.apply(to: card, &draft)
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
            if let time { lookAt = min(lookAt ?? time, time) }
            if let entry = settlement.history { history.append(entry) }
        }
        if isOurs { close(record, reply, faulted: faulted, slowDowns: slowDowns, lookAt: lookAt, &draft) }
        if !history.isEmpty {
            draft.record(
                HistoryRecord(
                    activity: activity, at: now, revision: flight.revision, entries: history, seed: flight.seed))
        }
        return reply
    }

    private func close(
        _ record: ActivityRecord, _ reply: Reply, faulted: DeviceKey?, slowDowns: Int, lookAt: UnixTime?,
        _ draft: inout Draft
    ) {
        draft.change(lane) { lane in
            lane.flight = nil
            lane.lookAt = [lane.lookAt, lookAt].compactMap { $0 }.min()
            var nextAt = lane.rests(record, from: now)
            if let fault = reply.fault, let faulted {
                // The fault is written once, here. The phones stay behind, and the lane finds them again from the first
                // of them on.
                lane.tries = reply.accepted > 0 ? 1 : lane.tries + (fault.kind == .notSent ? 0 : 1)
                lane.reason = fault.reason
                if flight.devices == nil { lane.goAround(from: faulted) }
                nextAt = fault.retryAt
            } else if Double(slowDowns) > Self.slowDownShare * Double(entries.count), slowDowns > 1 {
                lane.tries += 1
                let at = now + RetryDelay.token(tries: lane.tries, dice: entries.first?.dice ?? 1)
                lane.reason = Reason(.slowDown, at.description)
                nextAt = max(nextAt ?? at, at)
            } else {
                // Only an accepted push shows that the lane's faults are over. An answer about a phone does not, and
                // neither does an answer that is still awaited.
                if reply.accepted > 0 || reply.refused == 0 && reply.awaited == 0 { lane.tries = 0 }
                lane.reason = nil
            }
            lane.nextAt = nextAt
        }
    }
}

extension SettleFlight.Entry {
    /// `true` if the outcome changes only the phone's own row.
    var isSimple: Bool {
        guard seat.plan.kind == .update, case .answered(.success(let answer)) = outcome else { return false }
        return answer.verdict == .accepted
    }
}

extension SettleFlight.Entry {
    /// Value of the token that the push went to.
    var token: TokenValue? {
        seat.phone.token(of: seat.plan)
    }

    fileprivate var mayKillToken: Bool {
        guard case .answered(.success(let answer)) = outcome else { return false }
        return answer.status == 400 || answer.status == 410
    }
}

extension SettleFlight.Outcome {
    var isAwaited: Bool { if case .awaited = self { true } else { false } }

    /// `true` if the push never left, for a reason on Islet's side. It does not count as an attempt.
    var isNotSent: Bool {
        guard case .answered(.failure(let failure)) = self else { return false }
        return switch failure.code {
        case .notSentInTime, .overloaded, .stopping: true
        case .unknownFate, .cannotConnect, .refusedByPeer, .notConfigured: false
        }
    }

    /// `true` if the failure says nothing about the phone: APNs, the connection, a signing key or Islet itself failed.
    var isFault: Bool {
        guard case .answered(let result) = self else { return false }
        switch result {
        case .success(let answer):
            return switch answer.verdict {
            case .serviceTrouble, .newConnection, .keepProviderToken, .renewProviderToken, .halted: true
            case .accepted, .tokenDead, .slowDown, .requestRefused: false
            }
        case .failure(let failure): return failure.code != .unknownFate
        }
    }
}
