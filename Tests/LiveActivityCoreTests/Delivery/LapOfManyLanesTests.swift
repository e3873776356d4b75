import APNSModel
import LiveActivityCore
import TestSupport
import Testing

struct LapOfManyLanesTests {
    @Test func `every lane of an activity begins a lap at once`() throws {
        var scene = Scene()
        for index in 0..<8 {
            let key = DeviceKey(1) << 60 + DeviceKey(index) * (DeviceKey(1) << 59)
            try scene.register("d\(index)", user: "u\(index)", startToken: "p\(index)", key: key)
        }
        try scene.put(users: (0..<8).map { "u\($0)" })
        scene.wait(.seconds(20))
        try scene.deliver()
        for index in 0..<8 { try scene.report("d\(index)", local: "c\(index)", token: "t\(index)") }
        scene.wait(.seconds(2))
        try scene.deliver()
        let lane = try scene.lane()
        var lower = LaneCounts()
        for (key, card) in scene.store.rows.cards where key.device < lane.middle {
            lower.count(card.state, 1)
        }
        scene.store.edit { draft in
            let (low, high) = lane.split(lower: lower)
            draft.put(low)
            draft.put(high)
        }
        scene.wait(.seconds(20))
        scene.limits.phones = 8
        try scene.put("a", 2)
        let sent = try scene.deliver()
        #expect(sent.count == 8)
    }
}
