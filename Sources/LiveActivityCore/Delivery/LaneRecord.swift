package import APNSModel
import IsletBasics

/// A range of devices within an activity: the unit of exclusion, order and fencing. At most one flight is open on it.
package struct LaneRecord: Sendable, Hashable {
    /// How wide lanes get.
    package struct Limits: Sendable, Equatable {
        /// Phones beyond which a lane splits in two, as long as its activity has fewer lanes than it may.
        package var phones = 2000
        package var lanes = 64

        package init() {}
    }

    package var activity: ActivityNumber
    package var fromDevice: DeviceKey = 0
    package var toDevice: DeviceKey = .max
    /// The next device to look at. Never reset, so that no phone starves under steady change.
    package var position: DeviceKey = 0
    /// Where the lap ends; a new lap moves it to the position.
    package var stop: DeviceKey = 0
    /// The lap has passed the end of the range and goes on from its beginning.
    package var hasWrapped: Bool = false
    /// The activity's lap that this lane is in, or has done. An older one than the activity's is to be begun.
    package var lap: Int64 = 0
    /// No phone of the lane is to be looked at by itself before then; `nil`: none at all.
    package var lookAt: UnixTime?
    /// When this lane has something to do; `nil` sleeps.
    package var nextAt: UnixTime?
    /// Grows with each claim and rescue; a settlement of an older fence is judged phone by phone.
    package var fence: Int64 = 0
    /// Flights in a row that failed for a fault that is not a phone's.
    package var tries: Int = 0
    /// Why the lane waits, when that is not a phone's matter.
    package var reason: Reason?
    package var flight: FlightRecord?
    package var counts = LaneCounts()

    package init(activity: ActivityNumber) {
        self.activity = activity
    }

    package var key: LaneKey { LaneKey(activity, fromDevice) }
}

/// Which lane: its activity and the first device of its range.
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

/// How many phones of a lane are where in their life: what an answer can say without looking at each of them.
package struct LaneCounts: Sendable, Hashable {
    /// No card, and none on its way.
    package var absent = 0
    /// A start was sent, and nobody has reported the card.
    package var open = 0
    /// A card is shown.
    package var live = 0
    /// The card is over.
    package var over = 0

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
    }

    package static func - (left: Self, right: Self) -> Self {
        var counts = left
        counts.absent -= right.absent
        counts.open -= right.open
        counts.live -= right.live
        counts.over -= right.over
        return counts
    }
}

extension LaneRecord {
    /// What a claim looks at in a lane.
    package enum Page: Sendable, Equatable {
        /// Every phone of these stretches, in order: a lap.
        case lap([Range<DeviceKey>])
        /// The phones whose own time has come.
        case due
    }

    /// Every phone of the lap was looked at.
    package var isLapDone: Bool { hasWrapped && position >= stop }

    /// How much of the activity's newest lap it has done, from 0 to 1: by keys, which are random.
    package func progress(in newest: Int64) -> Double {
        guard lap >= newest else { return 0 }
        guard !isLapDone else { return 1 }
        let done = hasWrapped ? Double(toDevice - stop) + Double(position - fromDevice) : Double(position - stop)
        return min(1, max(0, done / max(1, Double(toDevice - fromDevice))))
    }

    /// The lane as it goes on now. The ring: a new lap, once the coalescing window lets it begin, goes once around from
    /// where the lane stands.
    package func inLap(of activity: ActivityRecord, at now: UnixTime) -> Self {
        let next = now >= activity.holdUntil ? activity.lap : activity.begunLap
        guard lap < next else { return self }
        var lane = self
        lane.lap = next
        lane.goAround(from: position)
        return lane
    }

    /// Looks at every phone once, from this device on.
    package mutating func goAround(from device: DeviceKey) {
        position = device
        stop = device
        hasWrapped = false
    }

    /// What is to be looked at now.
    package func page(for activity: ActivityRecord, at now: UnixTime) -> Page {
        let lane = inLap(of: activity, at: now)
        return lane.isLapDone ? .due : .lap(lane.stretches)
    }

    /// When there is something to do next, if nothing hinders it.
    package func rests(_ activity: ActivityRecord, from now: UnixTime) -> UnixTime? {
        guard isLapDone else { return now }
        // Only a newer state waits for the coalescing window: the rest of a lap goes on at once.
        guard lap >= activity.begunLap else { return now }
        let lapAt = lap < activity.lap ? max(now, activity.holdUntil) : nil
        return [lapAt, lookAt].compactMap { $0 }.min()
    }

    /// The stretches to look at next, in order: from the position to the end, then from the beginning to the stop.
    package var stretches: [Range<DeviceKey>] {
        if hasWrapped { return position < stop ? [position..<stop] : [] }
        return [position..<toDevice, fromDevice..<stop].filter { !$0.isEmpty }
    }

    /// A phone of it wants to be looked at then. A lane that is in flight or backs off learns of it afterwards.
    package mutating func look(at time: UnixTime) {
        lookAt = min(lookAt ?? time, time)
        guard flight == nil, reason == nil || nextAt == nil else { return }
        nextAt = min(nextAt ?? time, time)
    }

    /// It waits for a fault that is not a phone's: no news of a state or a phone shortens that.
    package func isBackingOff(now: UnixTime) -> Bool {
        guard reason != nil, let nextAt else { return false }
        return now < nextAt
    }

    /// The open flight is nobody's any more: its lease is over, or its process is gone.
    package func isAbandoned(now: UnixTime, node: Int64) -> Bool {
        flight.map { $0.leaseUntil <= now || $0.node != node } ?? false
    }

    /// Where the lane is cut in two.
    package var middle: DeviceKey { fromDevice + (toDevice - fromDevice) / 2 }

    /// It has more phones than one flight after the other should serve, and its activity may have more lanes.
    package func shouldSplit(lanes: Int, _ limits: Limits) -> Bool {
        flight == nil && counts.total > limits.phones && lanes < limits.lanes && middle > fromDevice
    }

    /// Its two halves; a lap that is not done begins anew in both.
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

/// The write-ahead of a flight: which phones may get what, before anything leaves.
package struct FlightRecord: Sendable, Hashable {
    /// The process that claimed it.
    package var node: Int64
    package var claimedAt: UnixTime
    /// After that instant nobody sends or settles it any more, and a rescuer may close it.
    package var leaseUntil: UnixTime
    package var fromDevice: DeviceKey
    package var toDevice: DeviceKey
    /// The phones themselves, where they were picked one by one; `nil`: any of the range may be in it.
    package var devices: [DeviceKey]?
    package var revision: Revision
    /// The least timestamp of its pushes, in seconds.
    package var timestamp: Int64
    /// What the ids of its pushes are made from.
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

    /// The push to a device has this id.
    package func pushID(of device: DeviceKey) -> PushID { PushID.of(device, seed: seed) }
}

extension PushID {
    /// The `apns-id` of the push to a device: the same however often it is asked for.
    package static func of(_ device: DeviceKey, seed: UInt64) -> PushID {
        PushID(random: seed, SplitMix64.mix(UInt64(bitPattern: device) &+ seed &* SplitMix64.stride))
    }
}
