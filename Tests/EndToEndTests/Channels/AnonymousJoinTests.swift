import APNSModel
import APNSSimulator
import JSONText
import LiveActivityAPI
import LiveActivityCore
import Testing

@testable import islet

/// Apps that follow an activity without a credential: their calls over real HTTP, and their cards on its channel.
@Suite(.serialized) struct AnonymousJoinTests {
    private static let people = ["nobody"]

    @Test func `an app without a credential finds the channel, and its card shows the next state and the end`()
        async throws
    {
        var options = Stack.Options()
        options.policy.delivery = .channel
        options.policy.join = .anonymous
        try await Stack.run(options) { stack in
            try await stack.set("match", "preparing", people: Self.people)
            let offer = try await Self.join("match", stack)
            #expect(offer["state"]?.object?["status"]?.string == "preparing")
            #expect(offer["attributes"]?.object?["orderId"]?.string == "match")
            let text = try #require(offer["channel"]?.string)
            let channel = try #require(ChannelID(text))
            #expect(stack.simulator.channels(of: Stack.bundleID, in: .sandbox).map(\.id) == [channel])
            // A whole phone would register with the server. These follow the channel and tell nobody.
            try stack.simulator.addCrowd(
                CrowdSpecification(
                    name: "fans", count: 3, bundleID: Stack.bundleID, attributesType: "OrderTrackingAttributes"))
            try stack.simulator.startCards(of: "fans", on: channel)

            try await stack.set("match", "ready", people: Self.people)
            let ready: JSONObject = ["status": "ready", "progress": 0.5]
            try await stack.simulator.waitForCrowd("fans", holding: ready)
            let over: JSONObject = ["status": "delivered", "progress": 1]
            try await stack.end("match", ["state": .object(over)])
            let totals = try await stack.simulator.waitForCrowd("fans", holding: over)
            #expect(totals.updates == 3 && totals.ends == 3 && totals.running == 0)
            let pushes = stack.simulator.received
            #expect(pushes.map(\.event) == ["update", "end"])
            #expect(pushes.allSatisfy { $0.channel == text && $0.status == 200 })
            #expect(try await stack.view("match").devices.isEmpty)
        }
    }

    /// Asks as an app without a credential does: again after the time that each answer names, until one has a channel.
    private static func join(_ activity: String, _ stack: Stack) async throws -> JSONObject {
        let anybody = JSONCaller(stack.address)
        for _ in 1...20 {
            let answer = try await anybody.call(.GET, "/v1/activities/\(activity)/join?environment=sandbox")
            let offer = try #require(answer.object)
            if offer["channel"] != nil { return offer }
            let pause = try #require(offer["retryAfter"]?.int)
            let next = ContinuousClock.now + .seconds(pause)
            try await Waiting.until("the app may ask again", within: .seconds(60)) { ContinuousClock.now >= next }
        }
        throw DemoFailure("no channel was made for \(activity)")
    }
}
