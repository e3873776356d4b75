package import APNSModel
import JSONText

/// Finds phones that are behind and claims them: one lane row is the write-ahead of a whole flight.
///
/// A lane whose flight was abandoned is rescued instead, and looked at again at once.
package struct ClaimWork: Command {
    package struct Limits: Sendable, Equatable {
        package var lanes = 256
        /// Phones looked at in one claim; at most half of them of one activity.
        package var phones = 4000
        /// Pushes of one flight: what one settlement writes.
        package var pushes = 1000
        /// From the claim to the instant after which nobody sends or settles.
        package var lease = Duration.seconds(15)

        package init() {}
    }

    package struct Reply: Sendable {
        package var flights: [Flight] = []
        /// Lanes whose flight was abandoned by a process that is gone.
        package var rescued = 0
        /// More is due now than one claim takes.
        package var hasMore = false

        package init() {}
    }

    package let now: UnixTime
    package let node: Int64
    package let apps: [BundleID: AppSettings]
    package let limits: Limits
    /// Random words, one for each flight.
    package let seed: UInt64

    package init(
        now: UnixTime, node: Int64, apps: [BundleID: AppSettings], limits: Limits = Limits(), seed: UInt64
    ) {
        self.now = now
        self.node = node
        self.apps = apps
        self.limits = limits
        self.seed = seed
    }

    package var rank: CommandRank { .claim }
    package var keys: [SnapshotKey] { [.due(at: now, lanes: limits.lanes, phones: limits.phones, node: node)] }

    package func decide(_ draft: inout Draft) throws(Refusal) -> Reply {
        var reply = Reply()
        var starts: Set<OpenStart> = []
        for number in draft.snapshot.due {
            guard let activity = draft.snapshot.activities[number] else { continue }
            let lane = draft.lane(of: number)
            if lane.isAbandoned(now: now, node: node) {
                rescue(activity, lane, &draft)
                reply.rescued += 1
                reply.hasMore = true
            } else if let flight = lane.flight {
                sleep(activity, until: flight.leaseUntil, &draft)
            } else if lane.isBackingOff(now: now) {
                sleep(activity, until: lane.nextAt, &draft)
            } else if let settings = apps[activity.app], let type = settings.types[activity.type] {
                claim(activity, lane, type, &starts, &draft, &reply)
            } else {
                // The configuration no longer has this type: the work is kept, and looked at again.
                sleep(activity, until: now + Backoff.halted, &draft)
            }
        }
        reply.hasMore = reply.hasMore || draft.snapshot.due.count == limits.lanes
        return reply
    }

    /// A start of this claim: another whose card could not be told from its card waits.
    private struct OpenStart: Hashable {
        let device: DeviceKey
        let type: String
        let attributesDigest: UInt64
    }

    // MARK: - Claiming

    private func claim(
        _ activity: ActivityRecord, _ old: LaneRecord, _ type: ActivityType, _ starts: inout Set<OpenStart>,
        _ draft: inout Draft, _ reply: inout Reply
    ) {
        guard let content = draft.snapshot.contents[activity.number] else { return sleep(activity, until: nil, &draft) }
        var lane = old.inLap(for: activity.revision)
        let desired = DesiredSituation(activity, type, content)
        let page = draft.snapshot.pages[activity.number] ?? Snapshot.Page(devices: [], isComplete: true)
        var seats: [Flight.Seat] = []
        var isWhole = page.isComplete
        for device in page.devices {
            // A flight does not reach over the end of the lane: its range is what a rescuer has to look at.
            guard seats.count < limits.pushes, seats.isEmpty || device >= lane.position else {
                isWhole = false
                break
            }
            lane.hasWrapped = lane.hasWrapped || device < lane.position
            lane.position = device + 1
            let key = Snapshot.PhoneKey(activity.number, device)
            guard var phone = draft.phone(key, type: activity.type) else { continue }
            let start = OpenStart(
                device: device, type: activity.type, attributesDigest: content.attributesDigest)
            if starts.contains(start) { phone.hasOtherOpenStart = true }
            switch Reconciler.decide(desired, phone, now: now) {
            case .send(let plan):
                seats.append(seat(plan, phone, activity, &draft))
                if plan.kind == .start { starts.insert(start) }
            case .wait(let until, _): lane.lapNextAt = min(lane.lapNextAt ?? until, until)
            case .nothing: break
            }
        }
        if isWhole {
            lane.position = max(lane.fromDevice, lane.stop)
            lane.hasWrapped = true
        }
        var record = activity
        if seats.isEmpty {
            lane.nextAt = isWhole ? lane.lapNextAt : now
            lane.tries = 0
            lane.reason = nil
            reply.hasMore = reply.hasMore || !isWhole
            record.wakeAt = lane.nextAt
        } else {
            lane.fence += 1
            let flight = FlightRecord(
                node: node, claimedAt: now, leaseUntil: now + limits.lease,
                fromDevice: seats.map(\.phone.device.key).min() ?? 0,
                toDevice: seats.map(\.phone.device.key).max() ?? 0,
                revision: activity.revision, timestamp: now.seconds,
                seed: seed &+ UInt64(bitPattern: activity.number) &* 0x2545_F491_4F6C_DD1D)
            lane.flight = flight
            if lane.lapRevision != old.lapRevision { record.holdUntil = now + type.policy.coalescingWindow }
            record.wakeAt = flight.leaseUntil
            reply.flights.append(
                Flight(record: flight, fence: lane.fence, desired: desired, content: content, seats: seats))
        }
        if lane != old { draft.put(lane) }
        if record != activity { draft.put(record) }
    }

    /// Fixes a push's timestamp; a start is written down before it leaves, since its fate decides about every later
    /// one.
    private func seat(
        _ plan: PushPlan, _ phone: PhoneSituation, _ activity: ActivityRecord, _ draft: inout Draft
    ) -> Flight.Seat {
        var phone = phone
        let before: InstanceRecord.State = phone.instance.run == activity.run ? phone.instance.state : .absent
        if plan.kind == .start, phone.instance.run != activity.run {
            if let old = phone.instance.localID {
                draft.put(
                    TombstoneRecord(
                        device: phone.device.key, localID: old, activity: activity.number, state: .ended, at: now))
            }
            draft.removeUpdateToken(.init(activity.number, phone.device.key))
            phone.updateToken = nil
            phone.instance = phone.instance.renewed(run: activity.run, at: now)
        }
        let timestamp = Flight.timestamp(after: phone.instance.timestamp, now: now)
        if plan.kind == .start {
            phone.instance.state = .starting
            phone.instance.localID = nil
            phone.instance.startedAt = now
            phone.instance.startExpiresAt = plan.expiresAt
            phone.instance.dueAt = nil
            phone.instance.timestamp = timestamp
            draft.put(phone.instance)
        }
        return Flight.Seat(phone: phone, plan: plan, timestamp: timestamp, stateBefore: before)
    }

    private func sleep(_ activity: ActivityRecord, until time: UnixTime?, _ draft: inout Draft) {
        var record = activity
        record.wakeAt = time
        if record != activity { draft.put(record) }
    }

    // MARK: - Rescue

    /// What was about to go is decided again as of the claim: the reconciler is deterministic.
    private func wasBehind(
        _ phone: PhoneSituation, _ activity: ActivityRecord, _ flight: FlightRecord, _ draft: Draft
    ) -> Bool {
        guard let type = apps[activity.app]?.types[activity.type],
            let content = draft.snapshot.contents[activity.number],
            case .send = Reconciler.decide(DesiredSituation(activity, type, content), phone, now: flight.claimedAt)
        else { return false }
        return true
    }

    /// What a lost process had claimed may have arrived: timestamps are consumed, alerts spent, starts unconfirmed.
    private func rescue(_ activity: ActivityRecord, _ old: LaneRecord, _ draft: inout Draft) {
        guard let flight = old.flight else { return }
        var entries: [HistoryEntry] = []
        for device in draft.snapshot.pages[activity.number]?.devices ?? [] {
            let key = Snapshot.PhoneKey(activity.number, device)
            guard let phone = draft.phone(key, type: activity.type), var instance = draft.snapshot.instances[key] else {
                continue
            }
            // Reports may have changed the phone since the claim, so that deciding again does not tell who was in the
            // flight. Whoever may have been loses what must not come twice: a timestamp, and an alert. That holds for
            // a phone of an earlier run as well: the activity may have been reopened since, and it keeps its timestamp.
            guard instance.state.mayHaveCard || instance.state.isTombstone else { continue }
            let isLost =
                instance.state == .starting
                || instance.run == activity.run && wasBehind(phone, activity, flight, draft)
            if instance.state == .starting {
                instance.state = .unconfirmed
            } else {
                instance.timestamp = Flight.timestamp(after: instance.timestamp, now: flight.claimedAt)
            }
            if let alert = activity.alert, alert.onUnknown == .drop, alert.revision <= flight.revision {
                instance.alertedRevision = max(instance.alertedRevision, alert.revision)
            }
            draft.put(instance)
            guard isLost else { continue }
            entries.append(
                HistoryEntry(
                    .rescued, device: device, at: now, revision: flight.revision, timestamp: instance.timestamp,
                    outcome: Reason(.rescued)))
        }
        var lane = old
        lane.fence += 1
        lane.flight = nil
        lane.position = flight.fromDevice
        lane.stop = flight.fromDevice
        lane.hasWrapped = false
        lane.nextAt = now
        draft.put(lane)
        var record = activity
        record.wakeAt = now
        draft.put(record)
        if !entries.isEmpty {
            draft.record(
                HistoryRecord(activity: activity.number, at: now, revision: flight.revision, entries: entries))
        }
    }
}

extension DesiredSituation {
    /// With what the policy says of this content.
    package init(_ activity: ActivityRecord, _ type: ActivityType, _ content: ContentRecord) {
        let isHigh: Bool
        if let rule = type.policy.highWhen, let state = (try? JSONValue(parsing: content.state.bytes))?.object {
            isHigh = rule.matches(state)
        } else {
            isHigh = false
        }
        self.init(activity: activity, type: type, isHighState: isHigh)
    }
}
