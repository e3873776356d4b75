package import APNSModel
import JSONText

/// Finds phones that are behind and claims them. One lane row is the write-ahead record of a whole flight.
///
/// If the lane's earlier flight was abandoned, the command rescues it, and the next claim looks at the lane at once.
package struct ClaimWork: Command {
    package struct Limits: Sendable, Equatable {
        package var lanes = 256
        /// Maximum number of phones that one claim looks at, at most half of them of one activity.
        package var phones = 4000
        /// Maximum number of pushes in one flight, and so of rows that one settlement writes.
        package var pushes = 1000
        /// Maximum number of pushes in a flight whose phones were picked one by one. Such a flight lists each of its
        /// phones.
        package var picked = 250
        /// Time from the claim until nobody may send or settle the flight any more.
        package var lease = Duration.seconds(15)
        package var width = LaneRecord.Limits()
        /// Number of phones up to which a lane waits for its route. A larger one looks again at a time, because one
        /// claim may not see all its phones.
        package var waiting = LaneRecord.small

        package init() {}
    }

    package struct Reply: Sendable {
        package var flights: [Flight] = []
        /// Number of lanes rescued from a flight that its process had abandoned.
        package var rescued = 0
        /// `true` if more work is due now than one claim takes.
        package var hasMore = false
        /// Closed routes whose probe is in one of the flights.
        package var probed: Set<PushRoute> = []
        /// Closed routes on which a push was held back.
        package var held: Set<PushRoute> = []
        /// Cards to end so that another card can start.
        package var evictions: [EvictCard] = []
        /// Descriptions of due work that could not be read and was skipped or postponed.
        package var unreadable: [String] = []

        package init() {}
    }

    package let now: UnixTime
    package let node: Int64
    package let apps: [BundleID: AppSettings]
    package let limits: Limits
    package let gate: CircuitGate
    package let pace: Pacer.Grant
    /// Random seed from which each flight derives its own.
    package let seed: UInt64

    package init(
        now: UnixTime, node: Int64, apps: [BundleID: AppSettings], limits: Limits = Limits(),
        gate: CircuitGate = .open, pace: Pacer.Grant = Pacer.unlimited, seed: UInt64
    ) {
        self.now = now
        self.node = node
        self.apps = apps
        self.limits = limits
        self.gate = gate
        self.pace = pace
        self.seed = seed
    }

    package static var mayBeRefused: Bool { false }
    package var rank: CommandRank { .claim }
    package var keys: [SnapshotKey] {
        let phones = max(1, min(limits.phones, pace.pushes))
        return [
            .due(
                DueLanes(
                    at: now, lanes: limits.lanes, phones: phones, phonesOfOne: max(1, phones / 2),
                    phonesOfLane: limits.pushes, pace: pace, node: node, width: limits.width, apps: apps, gate: gate))
        ]
    }

    package func decide(_ draft: inout Draft) throws(Refusal) -> Reply {
        var reply = Reply()
        var room = Room(gate: gate, pace: pace)
        var refreshed: Set<ActivityNumber> = []
        for number in draft.snapshot.woken {
            guard var activity = draft.snapshot.activities[number] else { continue }
            if let time = activity.refreshAt, time <= now {
                activity.refresh(at: now)
                refreshed.insert(number)
                reply.hasMore = true
            } else {
                let tellsAt = untold(activity, draft) ? max(now, activity.holdUntil) : nil
                activity.wakeAt = [tellsAt, activity.refreshAt].compactMap { $0 }.min()
            }
            draft.put(activity)
        }
        for key in draft.snapshot.due {
            guard let lane = draft.snapshot.lane(key), let activity = draft.snapshot.activities[key.activity] else {
                continue
            }
            if lane.isAbandoned(now: now, node: node) {
                rescue(activity, lane, &draft)
                reply.rescued += 1
                reply.hasMore = true
            } else if let flight = lane.flight {
                draft.change(key) { $0.nextAt = flight.leaseUntil }
            } else if lane.isBackingOff(now: now) {
                continue
            } else if let lower = draft.snapshot.lowerHalves[key], mayStillSplit(lane, draft) {
                split(lane, lower, &draft)
                reply.hasMore = true
            } else if draft.snapshot.pages[key] == nil, room.pace.isFull(key.activity) {
                draft.change(key) { $0.rest(until: now + Pacer.pause) }
            } else if draft.snapshot.pages[key] == nil || refreshed.contains(key.activity) {
                // A lane that has been waiting keeps its place before lanes that came later. If its lap begins here,
                // the loaded page does not belong to that lap.
                draft.change(key) { $0.rest(until: min($0.nextAt ?? now, now)) }
                reply.hasMore = true
            } else if let type = apps[activity.app]?.types[activity.type] {
                var known = activity
                if known.forgetFuture(at: now) { draft.put(known) }
                claim(known, lane, type, &room, &draft, &reply)
            } else {
                // The configuration no longer has this type. Keep the work until it does.
                draft.change(key) { waits(&$0, for: .type(activity.app, activity.type), since: lane) }
            }
        }
        reply.hasMore = reply.hasMore || draft.snapshot.due.count >= limits.lanes
        reply.probed = room.gate.probed
        reply.held = room.gate.held
        reply.evictions = room.evictions
        reply.unreadable = draft.snapshot.unreadable
        return reply
    }

    /// Returns whether a sleeping lane has not begun the newest lap and is not part of this claim.
    private func untold(_ activity: ActivityRecord, _ draft: Draft) -> Bool {
        guard activity.holdUntil > now else { return false }
        let due = Set(draft.snapshot.due)
        return (draft.snapshot.lanes[activity.number] ?? []).contains { lane in
            lane.lap < activity.lap && lane.flight == nil && !due.contains(lane.key)
                && !lane.skipsLaps(of: activity, at: now)
        }
    }

    /// A start in this claim. Another start waits if its card could not be told apart from this one's.
    struct OpenStart: Hashable {
        let device: DeviceKey
        let type: String
        let attributesDigest: UInt64
    }

    /// Capacity that is left to this claim, and the starts and evictions that it has decided.
    struct Room {
        var starts: Set<OpenStart> = []
        /// Number of starts by device, used for types that count cards.
        var startsOn: [DeviceKey: Int] = [:]
        var evictions: [EvictCard] = []
        var gate: CircuitGate
        var pace: Pacer.Grant
    }

    /// Returns whether the lane may still split. Other lanes of its activity may have split in this claim.
    private func mayStillSplit(_ lane: LaneRecord, _ draft: Draft) -> Bool {
        lane.shouldSplit(lanes: draft.snapshot.lanes[lane.activity]?.count ?? 0, limits.width)
    }

    private func split(_ lane: LaneRecord, _ counts: LaneCounts, _ draft: inout Draft) {
        var (lower, upper) = lane.split(lower: counts)
        lower.nextAt = now
        upper.nextAt = now
        draft.put(lower)
        draft.put(upper)
    }

    // MARK: - Claiming

    private func claim(
        _ activity: ActivityRecord, _ old: LaneRecord, _ type: ActivityType, _ room: inout Room,
        _ draft: inout Draft, _ reply: inout Reply
    ) {
        let key = old.key
        guard let content = draft.snapshot.contents[activity.number], let page = draft.snapshot.pages[key] else {
            return draft.change(key) { $0.rest(until: nil) }
        }
        guard room.pace.room(of: activity.number) > 0 else {
            return draft.change(key) { $0.rest(until: now + Pacer.pause) }
        }
        var lane = old.inLap(of: activity, at: now)
        let isLap = !lane.isLapDone
        let isFromTheBeginning = !lane.hasWrapped && lane.position == lane.stop
        var desired = DesiredSituation(activity, type, content)
        desired.take(draft)
        var found = look(at: page, desired, content, isLap, &lane, &room, &draft)
        // A lap that continues may have passed phones that are held back too. Each lap passes over phones on channels,
        // some of which may wait for a time of their own.
        let seesAll = found.isWhole && (!isLap || isFromTheBeginning && !activity.hasChannels)
        let condition = seesAll ? condition(found, of: old) : nil
        if condition == nil { holdBack(&found, of: old, &draft) }
        fallBack(found.fallenBack, desired, content, seed: seed(of: key), &draft)
        let isWhole = found.isWhole
        if isLap, isWhole {
            lane.position = max(lane.fromDevice, lane.stop)
            lane.hasWrapped = true
        }
        let flight = record(of: found.seats, isLap, activity, seed: seed(of: key))
        draft.change(key) { changed in
            changed.continueLap(of: lane)
            changed.flight = flight
            // If every waiting phone was looked at, the page gives the exact time of the next look. Otherwise the
            // earlier time stays. A phone that waits as before was not written, so the lane may not know its time: it
            // may have been in a lost flight.
            let isKnown = seesAll && (found.held.isEmpty || condition != nil)
            let others = isKnown ? page.nextLookAt : changed.lookAt
            changed.lookAt = [others, found.waitsUntil].compactMap { $0 }.min()
            // Nothing is written for phones that are held back, so the lane goes around again from the first of them.
            if let held = found.held.first, isLap { changed.goAround(from: held.phone.device) }
            if let flight {
                changed.fence += 1
                changed.rest(until: flight.leaseUntil)
            } else if let held = found.held.first {
                hold(&changed, since: old, for: condition, by: held.closure, found.held, activity)
            } else {
                if isWhole, !changed.waits(at: now) { changed.tries = 0 }
                changed.reason = nil
                changed.rest(until: isWhole ? changed.rests(activity, from: now) : now)
            }
        }
        room.pace.take(found.seats.count, of: activity.number)
        guard let flight, let claimed = draft.snapshot.lane(key) else {
            if let next = draft.snapshot.lane(key)?.nextAt, next <= now { reply.hasMore = true }
            return
        }
        if lane.lap > activity.begunLap {
            var held = draft.snapshot.activities[activity.number] ?? activity
            held.begunLap = lane.lap
            held.holdUntil = now + type.policy.coalescingWindow
            draft.put(held)
        }
        reply.flights.append(
            Flight(
                record: flight, lane: key, fence: claimed.fence, desired: desired, content: content,
                seats: found.seats))
    }

    /// Returns the record of a flight with these seats; `nil` if there are none.
    private func record(
        of seats: [Flight.Seat], _ isLap: Bool, _ activity: ActivityRecord, seed: UInt64
    ) -> FlightRecord? {
        guard let first = seats.first?.phone.device.key, let last = seats.last?.phone.device.key else { return nil }
        return FlightRecord(
            node: node, claimedAt: now, leaseUntil: now + limits.lease, fromDevice: first, toDevice: last,
            devices: isLap ? nil : seats.map(\.phone.device.key), revision: activity.revision,
            timestamp: now.seconds, seed: seed)
    }

    private func look(
        at page: Snapshot.Page, _ desired: DesiredSituation, _ content: ContentRecord, _ isLap: Bool,
        _ lane: inout LaneRecord, _ room: inout Room, _ draft: inout Draft
    ) -> Found {
        let activity = desired.activity
        var found = Found(isWhole: page.isComplete)
        let most = min(limits.pushes, room.pace.room(of: activity.number))
        let limit = isLap ? most : min(most, limits.picked)
        for device in page.devices {
            // A flight of a lap does not continue past the end of the lane, because its range is what a rescue must
            // look at.
            guard found.seats.count < limit, !isLap || found.seats.isEmpty || device >= lane.position else {
                found.isWhole = false
                break
            }
            if isLap {
                lane.hasWrapped = lane.hasWrapped || device < lane.position
                lane.position = device + 1
            }
            let key = Snapshot.PhoneKey(activity.number, device)
            guard var phone = draft.phone(key, type: activity.type) else { continue }
            // Another lane of the device may have asked for it.
            if !phone.card.needsDevice(in: activity) { phone.forgetDevice() }
            let start = OpenStart(
                device: device, type: activity.type, attributesDigest: content.attributesDigest)
            if room.starts.contains(start) { phone.hasOtherOpenStart = true }
            room.count(into: &phone)
            var lookAt: UnixTime?
            switch Reconciler.decide(desired, phone, now: now) {
            case .send(let plan) where !isLap && activity.holds(plan, at: now):
                lookAt = activity.holdUntil
                found.waitsUntil = min(found.waitsUntil ?? activity.holdUntil, activity.holdUntil)
            case .send(let plan):
                let route = PushRoute(activity.app, phone.environment(of: plan.kind))
                if case .hold(let closure) = room.gate.admit(plan, to: route) {
                    found.held.append(
                        Held(phone: phone.card, route: route, closure: closure, isHarmless: plan.isHarmless))
                    continue
                }
                spend(plan, phone, desired, &draft)
                found.seats.append(seat(plan, &phone, desired, &draft))
                if plan.kind == .start {
                    room.starts.insert(start)
                    room.startsOn[device, default: 0] += 1
                }
                continue
            case .fallBack(let reason):
                found.fallBack(phone, reason, desired, at: now)
                continue
            case .wait(let until, let reason):
                lookAt = until
                // Counts each postponement, not each look.
                if reason.code == .startBudget, phone.card.lookAt != until {
                    draft.count(.startPutOff(activity.app, type: activity.type))
                }
                if reason.code == .evicting, let card = Reconciler.cardToEvict(desired, phone),
                    let app = apps[activity.app]
                {
                    room.evictions.append(EvictCard(app: app, activity: card.activity, device: device, now: now))
                }
                found.waitsUntil = min(found.waitsUntil ?? until, until)
            case .nothing(let reason):
                if reason.code == .channelPending { draft.awaitChannel(desired, for: phone, at: now) }
            }
            guard phone.card.lookAt != lookAt else { continue }
            phone.card.lookAt = lookAt
            draft.put(phone.card)
        }
        return found
    }

    private func seed(of key: LaneKey) -> UInt64 {
        seed &+ (UInt64(bitPattern: key.activity) &+ UInt64(bitPattern: key.fromDevice)) &* 0x2545_F491_4F6C_DD1D
    }

    /// Fixes a push's timestamp. A start is written before it leaves, because its fate decides about every later start.
    private func seat(
        _ plan: PushPlan, _ phone: inout PhoneSituation, _ desired: DesiredSituation, _ draft: inout Draft
    ) -> Flight.Seat {
        let activity = desired.activity
        let alerted = desired.alerted(onChannelOf: phone)
        if plan.kind == .start, plan.part == .card, phone.card.run != activity.run {
            phone.updateToken = nil
            beginRun(of: activity, &phone.card, &draft)
        }
        var timestamp = Flight.timestamp(after: phone.card.timestamp, now: now)
        if plan.part == .successor {
            phone.card.claimRenewal(
                plan, timestamp: timestamp, reportSequence: phone.device.reportSequence, at: now)
            draft.put(phone.card)
        } else if plan.kind == .start {
            if let id = plan.channel { draft.claimStart(on: id, of: activity, plan, &timestamp) }
            if alerted > 0 { phone.card.heardOnChannel(alerted) }
            phone.card.claimStart(
                plan, timestamp: timestamp, reportSequence: phone.device.reportSequence, at: now)
            draft.put(phone.card)
        }
        return Flight.Seat(phone: phone, plan: plan, timestamp: timestamp)
    }
}

extension LaneRecord {
    /// Returns whether a phone of the lane, on any page, may wait for an answer after the lane's faults, or for a
    /// retry.
    fileprivate func waits(at now: UnixTime) -> Bool { lookAt.map { $0 <= now + RetryDelay.halted } ?? false }
}

extension DesiredSituation {
    /// Creates the situation, with the policy's priority for this content.
    package init(_ activity: ActivityRecord, _ type: ActivityType, _ content: ContentRecord) {
        let isHigh: Bool
        if let rule = type.policy.highWhen, let state = (try? JSONValue(parsing: content.state.bytes))?.object {
            isHigh = rule.matches(state)
        } else {
            isHigh = false
        }
        self.init(activity: activity, type: type, isHighState: isHigh)
        // Builds matter only while the type has older contracts.
        if !content.unfit.isEmpty, !type.olderContracts.isEmpty { unfit = content.unfit }
    }
}
