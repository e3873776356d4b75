import APNSModel
import JSONText
import LiveActivityCore
import TestSupport
import Testing

extension DiagnosisTests {
    /// Id of the first channel of a scene.
    private static let channelID: JSONValue = "AAAA1001R001"

    /// A phone whose start was accepted, and whose card is not reported yet.
    static func startedOnChannel() throws -> [DiagnosisFinding] {
        var scene = try Scene.onChannel()
        try scene.put(users: ["phone"])
        try scene.deliverAll()
        return try scene.diagnosis("a")
    }

    /// A phone that waits for a channel, which APNs has refused.
    private static func refusedChannel(_ change: (inout TypePolicy) -> Void) throws -> [DiagnosisFinding] {
        var scene = try Scene.onChannel(change)
        try scene.put(users: ["phone"])
        try scene.deliver()
        let refusal = BroadcastError(.refused(status: 400, reason: .known(.featureNotEnabled)), "")
        for errand in try scene.claimChannels().errands { try scene.settle(errand, .failed(refusal)) }
        return try scene.diagnosis("a")
    }

    /// A phone by `auto`, alone with its activity.
    private static func alone(_ os: OSVersion = OSVersion(18, 0)) throws -> Scene {
        var scene = try Scene.onChannel(phones: []) { $0.delivery = .auto }
        try scene.registerForChannels("phone", user: "phone", key: 7)
        if os != OSVersion(18, 0) { try scene.register("phone", user: "phone", os: os) }
        try scene.put(users: ["phone"])
        return scene
    }

    // MARK: - Broadcast channels of the server

    static let channels: [Row] = [
        Row("server-channel", .note, ["channel": channelID, "run": 1, "wanted": 2, "sent": 1]) {
            var scene = try Scene.subscribed()
            try scene.put("a", 2)
            return try scene.diagnosis("a")
        },
        Row("server-channel", .note, ["channel": channelID, "sent": 1]) { try startedOnChannel() },
        Row("channel-waits", .blocked, ["code": "channel-refused", "tries": 1]) {
            try refusedChannel { $0.delivery = .channel }
        },
        Row("channel-waits", .warning, ["code": "channel-refused", "tries": 1]) {
            try refusedChannel {
                $0.delivery = .auto
                $0.join = .open
            }
        },
        Row("by-token", .note, ["cause": "few-phones", "phones": 1]) {
            var scene = try alone()
            try scene.deliverAll()
            try scene.report(token: "u1")
            // A card that starts now would be on a channel. This one keeps its way.
            scene.app.types["order"]?.policy.join = .open
            return try scene.diagnosis("a")
        },
        Row("by-token", .note, ["cause": "phone-cannot"]) {
            // The app has started the card, so the timeline has no start.
            var scene = Scene(Sample.type("order") { $0.delivery = .auto })
            try scene.register(startToken: nil)
            try scene.put(users: ["ann"])
            try scene.report(token: "u1")
            return try scene.diagnosis("a")
        },
    ]

    /// Scenarios of the decision, by the code of its reason: cards on a channel, and starts by token beside one.
    static let channelDecisions: [Row] = [
        Row("channel-up-to-date", .note, ["wanted": 2, "argument1": channelID]) {
            var scene = try Scene.subscribed()
            try scene.put("a", 2)
            try scene.deliverAll()
            return try scene.diagnosis("a")
        },
        Row("channel-behind", .waiting, ["wanted": 2, "argument1": channelID]) {
            var scene = try Scene.subscribed()
            try scene.put("a", 2)
            return try scene.diagnosis("a")
        },
        Row("start-unconfirmed", .waiting, ["state": "unconfirmed"]) { try startedOnChannel() },
        Row("channel-pending", .waiting, ["state": "absent"]) {
            var scene = try Scene.onChannel()
            try scene.put(users: ["phone"])
            try scene.deliver()
            return try scene.diagnosis("a")
        },
        Row("first-state-on-channel", .waiting, ["argument1": channelID]) {
            var scene = try Scene.subscribed()
            try scene.registerForChannels("late", user: "late", key: 77)
            try scene.changeAudience(add: ["late"])
            return try scene.diagnosis("a", of: "late")
        },
        Row("first-state", .waiting, ["argument1": "few-phones", "next": "start, priority 10"]) {
            try alone().diagnosis("a")
        },
        Row("first-state", .waiting, ["argument1": "phone-cannot"]) { try alone(OSVersion(17, 4)).diagnosis("a") },
    ]
}
