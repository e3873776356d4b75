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
        /// Pushes of a flight whose phones were picked one by one, and are written down one by one.
        package var picked = 250
        /// From the claim to the instant after which nobody sends or settles.
        package var lease = Duration.seconds(15)
        package var width = LaneRecord.Limits()

        package init() {}
    }

    package struct Reply: Sendable {
        package var flights: [Flight] = []
        /// Lanes whose flight was abandoned by a process that is gone.
        package var rescued = 0
        /// More is due now than one claim takes.
        package var hasMore = false
        /// Closed routes whose one probe is among the flights.
        package var probed: Set<PushRoute> = []
        /// Closed routes on which something was held back.
        package var held: Set<PushRoute> = []
        /// Cards to end so that another may be started.
        package var evictions: [EvictCard] = []
        /// Due work that could not be read, in words: it was passed over or put off.
        package var unreadable: [String] = []

        package init() {}
    }

    package let now: UnixTime
    package let node: Int64
    package let apps: [BundleID: AppSettings]
    package let limits: Limits
    /// Which routes are closed, and which want a probe.
    package let gate: CircuitGate
    /// How many pushes may leave.
    package let pace: Pacer.Grant
    /// Random words, one for each flight.
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
                    phonesOfLane: limits.pushes, pace: pace, node: node, width: limits.width, counting: counting))
        ]
    }

    private var counting: [BundleID: Set<String>] {
        apps.mapValues { app in Set(app.types.values.filter { $0.policy.atCeiling != .ignore }.map(\.name)) }
            .filter { !$0.value.isEmpty }
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
                draft.change(key) { $0.nextAt = now + Pacer.pause }
            } else if draft.snapshot.pages[key] == nil || refreshed.contains(key.activity) {
                // One that has been waiting keeps its place before those that came later. What was loaded of one whose
                // lap begins here is not that lap's.
                draft.change(key) { $0.nextAt = min($0.nextAt ?? now, now) }
                reply.hasMore = true
            } else if let type = apps[activity.app]?.types[activity.type] {
                var known = activity
                if known.forgetFuture(at: now) { draft.put(known) }
                claim(known, lane, type, &room, &draft, &reply)
            } else {
                // The configuration no longer has this type: the work is kept, and looked at again.
                draft.change(key) { $0.nextAt = now + RetryDelay.halted }
            }
        }
        reply.hasMore = reply.hasMore || draft.snapshot.due.count >= limits.lanes
        reply.probed = room.gate.probed
        reply.held = room.gate.held
        reply.evictions = room.evictions
        reply.unreadable = draft.snapshot.unreadable
        return reply
    }

    /// A lane sleeps that has not been told of the newest lap, and is not told by this claim.
    private func untold(_ activity: ActivityRecord, _ draft: Draft) -> Bool {
        guard activity.holdUntil > now else { return false }
        let due = Set(draft.snapshot.due)
        return (draft.snapshot.lanes[activity.number] ?? []).contains { lane in
            lane.lap < activity.lap && lane.flight == nil && !due.contains(lane.key)
        }
    }

    /// A start of this claim: another whose card could not be told from its card waits.
    struct OpenStart: Hashable {
        let device: DeviceKey
        let type: String
        let attributesDigest: UInt64
    }

    /// What this claim may still take, and what it took so far.
    struct Room {
        var starts: Set<OpenStart> = []
        /// The same by device, where cards are counted.
        var startsOn: [DeviceKey: Int] = [:]
        var evictions: [EvictCard] = []
        var gate: CircuitGate
        var pace: Pacer.Grant
    }

    /// Others of the same activity may have split in this claim.
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

    /// What a look at a lane's page found.
    private struct Found {
        var seats: [Flight.Seat] = []
        /// Every phone of the stretch was looked at.
        var isWhole: Bool
        var waitsUntil: UnixTime?
        /// The phones that are told by an ordinary notification instead, and why.
        var fallenBack: [(phone: PhoneSituation, reason: Reason)] = []
        /// The phones that a closed circuit holds back, and why.
        var held: [(phone: CardMachine, closure: CircuitGate.Closure)] = []
    }

    private func claim(
        _ activity: ActivityRecord, _ old: LaneRecord, _ type: ActivityType, _ room: inout Room,
        _ draft: inout Draft, _ reply: inout Reply
    ) {
        let key = old.key
        guard let content = draft.snapshot.contents[activity.number], let page = draft.snapshot.pages[key] else {
            return draft.change(key) { $0.nextAt = nil }
        }
        guard room.pace.room(of: activity.number) > 0 else {
            return draft.change(key) { $0.nextAt = now + Pacer.pause }
        }
        var lane = old.inLap(of: activity, at: now)
        let isLap = !lane.isLapDone
        let isFromTheBeginning = !lane.hasWrapped && lane.position == lane.stop
        let desired = DesiredSituation(activity, type, content)
        var found = look(at: page, desired, content, isLap, &lane, &room, &draft)
        holdBack(&found, of: old, &draft)
        fallBack(found.fallenBack, desired, content, seed: seed(of: key), &draft)
        let isWhole = found.isWhole
        if isLap, isWhole {
            lane.position = max(lane.fromDevice, lane.stop)
            lane.hasWrapped = true
        }
        let flight = record(of: found.seats, isLap, activity, seed: seed(of: key))
        draft.change(key) { changed in
            changed.position = lane.position
            changed.stop = lane.stop
            changed.hasWrapped = lane.hasWrapped
            changed.lap = lane.lap
            changed.flight = flight
            // Where all who want to be looked at were, what they wait for now is known. Who waits as before was not
            // written, and the lane need not know of it: the phone may have been in a flight that was lost.
            let isKnown = isWhole && found.held.isEmpty && (!isLap || isFromTheBeginning)
            let others = isKnown ? page.nextLookAt : changed.lookAt
            changed.lookAt = [others, found.waitsUntil].compactMap { $0 }.min()
            // Nothing is written for the phones that are held back: the lane comes back to the first of them.
            if let held = found.held.first, isLap { changed.goAround(from: held.phone.device) }
            if let flight {
                changed.fence += 1
                changed.nextAt = flight.leaseUntil
            } else if let held = found.held.first {
                changed.reason = held.closure.reason
                changed.nextAt = held.closure.until
            } else {
                if isWhole, !changed.waits(at: now) { changed.tries = 0 }
                changed.reason = nil
                changed.nextAt = isWhole ? changed.rests(activity, from: now) : now
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

    /// The flight of these seats; `nil`: there are none.
    private func record(
        of seats: [Flight.Seat], _ isLap: Bool, _ activity: ActivityRecord, seed: UInt64
    ) -> FlightRecord? {
        guard let first = seats.first?.phone.device.key, let last = seats.last?.phone.device.key else { return nil }
        return FlightRecord(
            node: node, claimedAt: now, leaseUntil: now + limits.lease, fromDevice: first, toDevice: last,
            devices: isLap ? nil : seats.map(\.phone.device.key), revision: activity.revision,
            timestamp: now.seconds, seed: seed)
    }

    /// A few phones on a closed route wait by themselves, so that the others of their lane do not wait with them.
    private func holdBack(_ found: inout Found, of lane: LaneRecord, _ draft: inout Draft) {
        guard !found.held.isEmpty, found.held.count <= Self.fewHeld, found.held.count < lane.counts.total else {
            return
        }
        for (card, closure) in found.held {
            found.waitsUntil = min(found.waitsUntil ?? closure.until, closure.until)
            guard card.lookAt != closure.until else { continue }
            var waiting = card
            waiting.lookAt = closure.until
            draft.put(waiting)
        }
        found.held = []
    }

    /// Up to so many of a page; with more the fault is written once, for the lane.
    private static let fewHeld = 16

    private func look(
        at page: Snapshot.Page, _ desired: DesiredSituation, _ content: ContentRecord, _ isLap: Bool,
        _ lane: inout LaneRecord, _ room: inout Room, _ draft: inout Draft
    ) -> Found {
        let activity = desired.activity
        var found = Found(isWhole: page.isComplete)
        let most = min(limits.pushes, room.pace.room(of: activity.number))
        let limit = isLap ? most : min(most, limits.picked)
        for device in page.devices {
            // A flight does not reach over the end of the lane: its range is what a rescuer has to look at.
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
                    found.held.append((phone.card, closure))
                    continue
                }
                spend(plan, phone, desired, &draft)
                found.seats.append(seat(plan, &phone, activity, &draft))
                if plan.kind == .start {
                    room.starts.insert(start)
                    room.startsOn[device, default: 0] += 1
                }
                continue
            case .fallBack(let reason):
                found.fallenBack.append((phone, reason))
                continue
            case .wait(let until, let reason):
                lookAt = until
                // Each time that it is put off, not each time that it is looked at.
                if reason.code == .startBudget, phone.card.lookAt != until {
                    draft.count(.startPutOff(activity.app, type: activity.type))
                }
                if reason.code == .evicting, let card = Reconciler.cardToEvict(desired, phone),
                    let app = apps[activity.app]
                {
                    room.evictions.append(EvictCard(app: app, activity: card.activity, device: device, now: now))
                }
                found.waitsUntil = min(found.waitsUntil ?? until, until)
            case .nothing: break
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

    /// Fixes a push's timestamp; a start is written down before it leaves, since its fate decides about every later
    /// one.
    private func seat(
        _ plan: PushPlan, _ phone: inout PhoneSituation, _ activity: ActivityRecord, _ draft: inout Draft
    ) -> Flight.Seat {
        if plan.kind == .start, plan.part == .card, phone.card.run != activity.run {
            phone.updateToken = nil
            beginRun(of: activity, &phone.card, &draft)
        }
        let timestamp = Flight.timestamp(after: phone.card.timestamp, now: now)
        if plan.part == .successor {
            phone.card.claimRenewal(
                plan, timestamp: timestamp, reportSequence: phone.device.reportSequence, at: now)
            draft.put(phone.card)
        } else if plan.kind == .start {
            phone.card.claimStart(
                plan, timestamp: timestamp, reportSequence: phone.device.reportSequence, at: now)
            draft.put(phone.card)
        }
        return Flight.Seat(phone: phone, plan: plan, timestamp: timestamp)
    }
}

extension LaneRecord {
    /// A phone of it may wait for the answer to what met the lane's faults, or to be tried again. Where a lap took
    /// several pages that may be a phone of any of them, not of the last alone.
    fileprivate func waits(at now: UnixTime) -> Bool { lookAt.map { $0 <= now + RetryDelay.halted } ?? false }
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
        // A type that has no older contracts any more says nothing about builds.
        if !content.unfit.isEmpty, !type.olderContracts.isEmpty { unfit = content.unfit }
    }
}
