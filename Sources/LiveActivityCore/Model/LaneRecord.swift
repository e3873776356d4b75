package import APNSModel

/// A range of devices within an activity: the unit of exclusion, order and fencing. At most one flight is open on it.
package struct LaneRecord: Sendable, Equatable {
    package var activity: ActivityNumber
    package var fromDevice: DeviceKey = 0
    package var toDevice: DeviceKey = .max
    /// The next device to look at. Never reset, so that no phone starves under steady change.
    package var position: DeviceKey = 0
    /// Where the lap ends; a new revision moves it to the position.
    package var stop: DeviceKey = 0
    /// The lap has passed the end of the range and goes on from its beginning.
    package var hasWrapped: Bool = false
    /// The revision the lap is for.
    package var lapRevision: Revision = 0
    /// The earliest instant that a phone seen in this lap waits for.
    package var lapNextAt: UnixTime?
    /// When this lane has something to do; `nil` sleeps.
    package var nextAt: UnixTime?
    /// Grows with each claim and rescue; a settlement of an older fence is judged phone by phone.
    package var fence: Int64 = 0
    /// Flights in a row that failed for a fault that is not a phone's.
    package var tries: Int = 0
    /// Why the lane waits, when that is not a phone's matter.
    package var reason: Reason?
    package var flight: FlightRecord?

    package init(activity: ActivityNumber) {
        self.activity = activity
    }
}

extension LaneRecord {
    /// Every phone of the lap was looked at.
    package var isLapDone: Bool { hasWrapped && position >= stop }

    /// The ring: a new revision, or a new reason to look, makes the lap go once around from where the lane stands.
    package func inLap(for revision: Revision) -> Self {
        guard lapRevision != revision || isLapDone else { return self }
        var lane = self
        lane.stop = position
        lane.hasWrapped = false
        lane.lapNextAt = nil
        lane.lapRevision = revision
        return lane
    }

    /// The stretches to look at next, in order: from the position to the end, then from the beginning to the stop.
    package var stretches: [Range<DeviceKey>] {
        if hasWrapped { return position < stop ? [position..<stop] : [] }
        return [position..<toDevice, fromDevice..<stop].filter { !$0.isEmpty }
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
}

/// The write-ahead of a flight: which phones may get what, before anything leaves.
package struct FlightRecord: Sendable, Equatable {
    /// The process that claimed it.
    package var node: Int64
    package var claimedAt: UnixTime
    /// After that instant nobody sends or settles it any more, and a rescuer may close it.
    package var leaseUntil: UnixTime
    package var fromDevice: DeviceKey
    package var toDevice: DeviceKey
    package var revision: Revision
    /// The least timestamp of its pushes, in seconds.
    package var timestamp: Int64
    /// What the ids of its pushes are made from.
    package var seed: UInt64

    package init(
        node: Int64, claimedAt: UnixTime, leaseUntil: UnixTime, fromDevice: DeviceKey, toDevice: DeviceKey,
        revision: Revision, timestamp: Int64, seed: UInt64
    ) {
        self.node = node
        self.claimedAt = claimedAt
        self.leaseUntil = leaseUntil
        self.fromDevice = fromDevice
        self.toDevice = toDevice
        self.revision = revision
        self.timestamp = timestamp
        self.seed = seed
    }

    /// The `apns-id` of the push to a device: the same however often it is asked for.
    package func pushID(of device: DeviceKey) -> PushID {
        var mixed = UInt64(bitPattern: device) &+ seed &* 0x9E37_79B9_7F4A_7C15
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return PushID(random: seed, mixed ^ mixed >> 31)
    }
}
