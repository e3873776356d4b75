import APNSModel
import LiveActivityCore
import TestSupport
import Testing

struct LaneTests {
    private static func activity(lap: Int64) -> ActivityRecord {
        var activity = ActivityRecord(
            number: 1, app: Sample.bundleID, id: Sample.activityID("a"), type: "order", at: Sample.now)
        activity.lap = lap
        return activity
    }

    @Test(arguments: UInt64(1)...200)
    func `halves leave no gap, share the counts, and begin a lap in progress anew`(seed: UInt64) {
        var dice = SeededDice(seed: seed)
        var lane = LaneRecord(activity: 1)
        lane.fromDevice = dice.chance(30) ? 0 : DeviceKey(dice.next() >> 2)
        lane.toDevice = dice.chance(30) ? .max : lane.fromDevice + 2 + DeviceKey(dice.next() >> 2)
        lane.position = DeviceKey.random(in: lane.fromDevice...lane.toDevice, using: &dice)
        lane.stop = DeviceKey.random(in: lane.fromDevice...lane.toDevice, using: &dice)
        lane.hasWrapped = dice.chance(50)
        lane.lap = Int64(dice.roll(3))
        lane.fence = Int64(dice.roll(100))
        var lower = LaneCounts()
        for state in CardState.allCases {
            let (low, high) = (dice.roll(9), dice.roll(9))
            lane.counts.count(state, low + high)
            lower.count(state, low)
        }
        let halves = lane.split(lower: lower)
        #expect(halves.lower.fromDevice == lane.fromDevice && halves.upper.toDevice == lane.toDevice)
        #expect(halves.lower.toDevice == halves.upper.fromDevice && lane.middle == halves.upper.fromDevice)
        #expect(lane.fromDevice < lane.middle && lane.middle < lane.toDevice)
        var sum = halves.lower.counts
        sum += halves.upper.counts
        #expect(sum == lane.counts && halves.lower.counts == lower)
        let activity = Self.activity(lap: lane.lap)
        for half in [halves.lower, halves.upper] {
            let range = half.fromDevice..<half.toDevice
            #expect(range.contains(half.position) && range.contains(half.stop))
            #expect(half.fence == lane.fence && half.lap == lane.lap && half.isLapDone == lane.isLapDone)
            if lane.isLapDone {
                #expect(half.page(for: activity, at: Sample.now) == .due)
            } else {
                #expect(half.page(for: activity, at: Sample.now) == .lap([range]))
            }
            // A newer lap covers the whole half.
            let next = half.page(for: Self.activity(lap: lane.lap + 1), at: Sample.now)
            #expect(next == .lap([range]), "seed \(seed)")
        }
    }

    @Test(arguments: UInt64(1)...200)
    func `from any place a lap looks at every device of the range once`(seed: UInt64) {
        var dice = SeededDice(seed: seed)
        var lane = LaneRecord(activity: 1)
        lane.fromDevice = DeviceKey(dice.roll(50))
        lane.toDevice = lane.fromDevice + 1 + DeviceKey(dice.roll(20))
        lane.goAround(from: DeviceKey.random(in: lane.fromDevice...lane.toDevice, using: &dice))
        #expect(lane.stretches.flatMap(Array.init).sorted() == Array(lane.fromDevice..<lane.toDevice), "seed \(seed)")
        #expect(!lane.isLapDone)
    }

    @Test func `how far a lap has come is told by where it stands on the ring`() {
        var lane = LaneRecord(activity: 1)
        (lane.fromDevice, lane.toDevice, lane.lap) = (100, 200, 3)
        lane.goAround(from: 160)
        #expect(lane.progress(in: 3) == 0 && lane.progress(in: 4) == 0)
        lane.position = 185
        #expect(lane.progress(in: 3) == 0.25)
        (lane.position, lane.hasWrapped) = (135, true)
        #expect(lane.progress(in: 3) == 0.75 && lane.progress(in: 4) == 0)
        lane.position = 160
        #expect(lane.isLapDone && lane.progress(in: 3) == 1 && lane.progress(in: 4) == 0)
        var whole = LaneRecord(activity: 1)
        whole.goAround(from: 0)
        whole.position = .max / 2
        #expect(abs(whole.progress(in: 0) - 0.5) < 0.001)
    }

    @Test(arguments: UInt64(1)...100)
    func `a device belongs to the one lane whose range holds it`(seed: UInt64) {
        var dice = SeededDice(seed: seed)
        var snapshot = Snapshot()
        snapshot.place(LaneRecord(activity: 1))
        for _ in 0..<dice.roll(20) {
            guard let lane = snapshot.lane(of: DeviceKey(dice.next() >> 1), in: 1) else { continue }
            let halves = lane.split(lower: LaneCounts())
            snapshot.place(halves.lower)
            snapshot.place(halves.upper)
        }
        #expect(snapshot.laneFaults.isEmpty)
        let lanes = snapshot.lanes[1] ?? []
        let edges = lanes.flatMap { [$0.fromDevice, $0.toDevice - 1] }
        for device in edges + (0..<20).map({ _ in DeviceKey(dice.next() >> 1) }) {
            let found = lanes.filter { ($0.fromDevice..<$0.toDevice).contains(device) }
            #expect(found.count == 1 && snapshot.lane(of: device, in: 1) == found.first, "seed \(seed)")
        }
    }

    @Test func `an activity has no more lanes than it may, though several split in one claim`() throws {
        var scene = Scene()
        scene.limits.width.phones = 1
        scene.limits.width.lanes = 5
        for number in 0..<16 {
            try scene.register(
                "phone\(number)", startToken: "p2s-\(number)", key: DeviceKey(number) << 59 | DeviceKey(number))
        }
        try scene.put(users: ["ann"]) { $0.devices = .all }
        scene.wait(.seconds(20))
        #expect(try scene.deliver().count == 16)
        #expect(scene.store.rows.laneFaults.isEmpty)
        let lanes = scene.store.rows.lanes[1] ?? []
        #expect(lanes.count == 5 && lanes.allSatisfy { $0.flight == nil && $0.isLapDone })
    }

    @Test func `all lanes go around for a new state at once, whatever the number of claims, and the next one waits`()
        throws
    {
        var scene = Scene()
        (scene.limits.width.phones, scene.limits.width.lanes) = (1, 8)
        for number in 0..<8 {
            try scene.register(
                "phone\(number)", startToken: "p2s-\(number)", key: DeviceKey(number) << 60 | DeviceKey(number))
        }
        try scene.put(users: ["ann"]) { $0.devices = .all }
        scene.wait(.seconds(20))
        try scene.deliver()
        for number in 0..<8 { try scene.report("phone\(number)", local: "card-\(number)", token: "u-\(number)") }
        try scene.deliver()
        #expect(scene.store.rows.lanes[1]?.count == 8)
        scene.wait(.seconds(5))
        // Each claim has room for one or two lanes of the activity.
        scene.limits.phones = 4
        try scene.put("a", 2)
        #expect(try scene.deliver().count == 8)
        #expect(scene.store.rows.lanes[1]?.allSatisfy { $0.flight == nil && $0.isLapDone } == true)
        try scene.put("a", 3)
        #expect(try scene.deliver().isEmpty)
        scene.wait(.seconds(1))
        #expect(try scene.deliver().count == 8)
    }

    @Test func `a lap of every lane is a lap, though another lane of the same claim has begun it`() throws {
        var scene = Scene()
        (scene.limits.width.phones, scene.limits.width.lanes) = (1, 2)
        for number in 0..<4 {
            try scene.register(
                "phone\(number)", startToken: "p2s-\(number)", key: DeviceKey(number) << 61 | DeviceKey(number))
        }
        try scene.put(users: ["ann"]) { $0.devices = .all }
        scene.wait(.seconds(20))
        try scene.deliver()
        for number in 0..<4 { try scene.report("phone\(number)", local: "card-\(number)", token: "u-\(number)") }
        try scene.deliver()
        scene.wait(.seconds(5))
        try scene.put("a", 2)
        let flights = try scene.claim().flights
        #expect(flights.map(\.seats.count) == [2, 2] && flights.allSatisfy { $0.record.devices == nil })
    }
}
