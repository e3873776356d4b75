package import APNSModel
import IsletBasics

/// Range of devices within an activity: the unit of exclusion, order and fencing. A lane has at most one open flight.
package struct LaneRecord: Sendable, Hashable {
    /// Limits on the size and the number of lanes.
    package struct Limits: Sendable, Equatable {
        /// Number of phones above which a lane splits in two, unless its activity already has `lanes` lanes.
        package var phones = 2000
        package var lanes = 64

        package init() {}
    }

    package var activity: ActivityNumber
    package var fromDevice: DeviceKey = 0
    package var toDevice: DeviceKey = .max
    /// Next device to look at. It is never reset, so no phone starves under steady change.
    package var position: DeviceKey = 0
    /// Device at which the lap ends. A new lap sets it to `position`.
    package var stop: DeviceKey = 0
    /// `true` if the lap has passed the end of the range and continues from its beginning.
    package var hasWrapped: Bool = false
    /// Lap of the activity that this lane is in or has completed. If it is older than the activity's lap, the lane must
    /// begin a new one.
    package var lap: Int64 = 0
    /// Earliest time at which a single phone of the lane may need a look; `nil` if no phone does.
    package var lookAt: UnixTime?
    /// Time at which the lane has work; `nil` while it sleeps.
    package var nextAt: UnixTime?
    /// Number that grows with each claim and rescue. A settlement under an older fence is judged phone by phone.
    package var fence: Int64 = 0
    /// Number of consecutive flights that failed with a fault that is not a phone's.
    package var tries: Int = 0
    /// Reason why the lane waits, if that is not a phone's.
    package var reason: Reason?
    /// Condition for which the lane waits. Until it is met, only `nextAt` and something new wake the lane; `nil` if it
    /// waits for none.
    package var waitsFor: LaneCondition?
    package var flight: FlightRecord?
    package var counts = LaneCounts()
    /// Run of the activity whose channels `counts.onChannel` is about.
    package var channelRun = 0

    package init(activity: ActivityNumber) {
        self.activity = activity
    }

    /// Number of phones up to which a lane is small. A claim looks at all phones of a small lane at once.
    package static let small = 32

    package var key: LaneKey { LaneKey(activity, fromDevice) }
}

/// Key of a lane: its activity and the first device of its range.
package struct LaneKey: Sendable, Hashable, Comparable {
    package let activity: ActivityNumber
    package let fromDevice: DeviceKey

    package init(_ activity: ActivityNumber, _ fromDevice: DeviceKey) {
        self.activity = activity
        self.fromDevice = fromDevice
    }

    package static func < (left: Self, right: Self) -> Bool {
        (left.activity, left.fromDevice) < (right.activity, right.fromDevice)
    }
}

/// Number of a lane's phones in each stage of a card's life. Responses can report it without reading every phone.
package struct LaneCounts: Sendable, Hashable {
    /// Phones without a card, and without a start on its way.
    package var absent = 0
    /// Phones that were sent a start and have not reported the card.
    package var open = 0
    /// Phones that show the card.
    package var live = 0
    /// Phones whose card is over.
    package var over = 0
    /// Those of the phones that are on a channel of the run `LaneRecord.channelRun`.
    package var onChannel = 0

    package init() {}

    package var total: Int { absent + open + live + over }

    package mutating func count(_ state: CardState, _ difference: Int) {
        switch state {
        case .absent, .requesting: absent += difference
        case .starting, .unconfirmed: open += difference
        case .live, .ending: live += difference
        case .ended, .dismissed, .gone: over += difference
        }
    }

    package static func += (left: inout Self, right: Self) {
        left.absent += right.absent
        left.open += right.open
        left.live += right.live
        left.over += right.over
        left.onChannel += right.onChannel
    }

    package static func - (left: Self, right: Self) -> Self {
        var counts = left
        counts.absent -= right.absent
        counts.open -= right.open
        counts.live -= right.live
        counts.over -= right.over
        counts.onChannel -= right.onChannel
        return counts
    }
}

extension LaneRecord {
    /// Phones of a lane that a claim looks at.
    package enum Page: Sendable, Equatable {
        /// Every phone of these ranges, in order: a lap.
        case lap([Range<DeviceKey>])
        /// Phones whose own time has come.
        case due
    }

    /// `true` if the lap has passed every phone.
    package var isLapDone: Bool { hasWrapped && position >= stop }

    /// Returns the fraction, 0 to 1, of the activity's newest lap that the lane has completed.
    ///
    /// It is measured by device keys, which are random, so it is an estimate.
    package func progress(in newest: Int64) -> Double {
        guard lap >= newest else { return 0 }
        guard !isLapDone else { return 1 }
        let done = hasWrapped ? Double(toDevice - stop) + Double(position - fromDevice) : Double(position - stop)
        return min(1, max(0, done / max(1, Double(toDevice - fromDevice))))
    }

    /// Returns the lane as a claim at `now` continues it.
    ///
    /// Once the coalescing window allows a new lap, that lap goes around once from the lane's current position.
    package func inLap(of activity: ActivityRecord, at now: UnixTime) -> Self {
        let next = now >= activity.holdUntil ? activity.lap : activity.begunLap
        guard lap < next else { return self }
        var lane = self
        lane.lap = next
        lane.goAround(from: position)
        lane.hasWrapped = skipsLaps(of: activity, at: now)
        return lane
    }

    /// Returns `true` if a lap concerns no phone of the lane, because all of them are on a channel of the run, and none
    /// gets an alert of its own.
    package func skipsLaps(of activity: ActivityRecord, at now: UnixTime) -> Bool {
        activity.passesChannelsOver(at: now) && counts.onChannel > 0 && counts.onChannel == counts.total
            && channelRun == activity.run
    }

    /// Counts a card of the lane, or takes it out of the counts.
    package mutating func count(_ card: CardMachine, _ difference: Int) {
        counts.count(card.state, difference)
        guard card.subscription != nil else { return }
        if difference > 0, card.run > channelRun {
            channelRun = card.run
            counts.onChannel = 0
        }
        if card.run == channelRun { counts.onChannel += difference }
    }

    /// Takes over how far another record of the lane is in its lap.
    package mutating func continueLap(of lane: Self) {
        position = lane.position
        stop = lane.stop
        hasWrapped = lane.hasWrapped
        lap = lane.lap
    }

    /// Begins a pass over every phone, starting at this device.
    package mutating func goAround(from device: DeviceKey) {
        position = device
        stop = device
        hasWrapped = false
    }

    /// Returns the phones to look at now.
    package func page(for activity: ActivityRecord, at now: UnixTime) -> Page {
        let lane = inLap(of: activity, at: now)
        return lane.isLapDone ? .due : .lap(lane.stretches)
    }

    /// Returns the next time with work, if nothing prevents it.
    package func rests(_ activity: ActivityRecord, from now: UnixTime) -> UnixTime? {
        guard isLapDone else { return now }
        // Only a newer state waits for the coalescing window. The rest of a lap continues at once.
        guard lap >= activity.begunLap else { return now }
        let lapAt = lap < activity.lap && !skipsLaps(of: activity, at: now) ? max(now, activity.holdUntil) : nil
        return [lapAt, lookAt].compactMap { $0 }.min()
    }

    /// Ranges to look at next, in order: from the position to the end, then from the beginning to the stop.
    package var stretches: [Range<DeviceKey>] {
        if hasWrapped { return position < stop ? [position..<stop] : [] }
        return [position..<toDevice, fromDevice..<stop].filter { !$0.isEmpty }
    }

    /// Records that a phone of the lane needs a look at `time`. A lane in flight or backing off takes it into account
    /// afterwards.
    package mutating func look(at time: UnixTime) {
        lookAt = min(lookAt ?? time, time)
        guard flight == nil, reason == nil || nextAt == nil || waitsFor != nil else { return }
        nextAt = min(nextAt ?? time, time)
    }

    /// Sets the next time with work. The lane waits for no condition any more.
    package mutating func rest(until time: UnixTime?) {
        nextAt = time
        if waitsFor != nil { reason = nil }
        waitsFor = nil
    }

    /// Returns whether the lane backs off after a fault that is not a phone's. A new state or a report does not shorten
    /// this wait.
    package func isBackingOff(now: UnixTime) -> Bool {
        guard reason != nil, waitsFor == nil, let nextAt else { return false }
        return now < nextAt
    }

    /// Returns whether the open flight has no owner any more: its lease has expired, or another process claimed it.
    package func isAbandoned(now: UnixTime, node: Int64) -> Bool {
        flight.map { $0.leaseUntil <= now || $0.node != node } ?? false
    }

    /// Device at which the lane would split.
    package var middle: DeviceKey { fromDevice + (toDevice - fromDevice) / 2 }

    /// Returns whether the lane has more phones than it should serve with one flight after another, and may split.
    package func shouldSplit(lanes: Int, _ limits: Limits) -> Bool {
        flight == nil && counts.total > limits.phones && lanes < limits.lanes && middle > fromDevice
    }

    /// Returns the two halves of the lane. An unfinished lap begins again in both.
    package func split(lower counts: LaneCounts) -> (lower: Self, upper: Self) {
        var (lower, upper) = (self, self)
        lower.toDevice = middle
        lower.counts = counts
        upper.fromDevice = middle
        upper.counts = self.counts - counts
        lower.goAround(from: lower.fromDevice)
        upper.goAround(from: upper.fromDevice)
        if isLapDone {
            lower.hasWrapped = true
            upper.hasWrapped = true
        }
        return (lower, upper)
    }
}

/// Write-ahead record of a flight: which phones may get which pushes. It is committed before any push leaves.
package struct FlightRecord: Sendable, Hashable {
    /// Process that claimed the flight.
    package var node: Int64
    package var claimedAt: UnixTime
    /// Time after which nobody may send or settle the flight, and a rescue may close it.
    package var leaseUntil: UnixTime
    package var fromDevice: DeviceKey
    package var toDevice: DeviceKey
    /// Phones of the flight if they were picked one by one; `nil` if any phone of the range may be in it.
    package var devices: [DeviceKey]?
    package var revision: Revision
    /// Least timestamp of the flight's pushes, in seconds.
    package var timestamp: Int64
    /// Random seed of the push ids.
    package var seed: UInt64

    package init(
        node: Int64, claimedAt: UnixTime, leaseUntil: UnixTime, fromDevice: DeviceKey, toDevice: DeviceKey,
        devices: [DeviceKey]? = nil, revision: Revision, timestamp: Int64, seed: UInt64
    ) {
        self.node = node
        self.claimedAt = claimedAt
        self.leaseUntil = leaseUntil
        self.fromDevice = fromDevice
        self.toDevice = toDevice
        self.devices = devices
        self.revision = revision
        self.timestamp = timestamp
        self.seed = seed
    }

    package func pushID(of device: DeviceKey) -> PushID { PushID.of(device, seed: seed) }
}

extension PushID {
    /// Returns the `apns-id` of the push to a device. Equal arguments give the same id.
    package static func of(_ device: DeviceKey, seed: UInt64) -> PushID {
        PushID(random: seed, SplitMix64.mix(UInt64(bitPattern: device) &+ seed &* SplitMix64.stride))
    }
}
