import APNSModel
import JSONText
import Testing

@testable import APNSSimulator

/// APNs's answers to broadcasts and channel management, checked without a network.
struct ChannelTests {
    @Test func `201 has the id in a header and no body, 204 has neither, and an id never comes back`() throws {
        var bench = ChannelBench()
        let made = try #require(try bench.create(1))
        #expect(made.status == 201 && made.body.isEmpty && made.requestID != nil && made.id == nil)
        let id = try #require(made.channelID)
        let read = try #require(try bench.manage("GET") { $0.channelID = id })
        #expect(read.status == 200)
        #expect(try JSONValue(parsing: read.body) == ["message-storage-policy": 1, "push-type": "LiveActivity"])
        let list = try #require(try bench.manage("GET", "all-channels"))
        #expect(try JSONValue(parsing: list.body) == ["channels": [.string(id)]])
        let gone = try #require(try bench.manage("DELETE") { $0.channelID = id })
        #expect(gone.status == 204 && gone.body.isEmpty)
        #expect(try bench.create(1)?.channelID != id)
        #expect(try bench.manage("GET") { $0.channelID = id }?.reason == "ChannelNotRegistered")
    }

    @Test func `the id of a request is echoed, and must be a UUID`() throws {
        var bench = ChannelBench()
        let id = "123e4567-e89b-42d3-a456-426614174000"
        #expect(try bench.manage("GET", "all-channels") { $0.requestID = id }?.requestID?.description == id)
        #expect(try bench.manage("GET", "all-channels") { $0.requestID = "x" }?.reason == "BadMessageId")
    }

    static let management: [(String, String, String, @Sendable (inout PushArrival) -> Void)] = [
        ("BadPath", "GET", "others", { _ in }), ("MethodNotAllowed", "PUT", "channels", { _ in }),
        ("MethodNotAllowed", "POST", "all-channels", { _ in }), ("BadPath", "GET", "channels/more", { _ in }),
        ("MissingProviderToken", "GET", "channels", { $0.authorization = nil }),
        ("InvalidProviderToken", "GET", "channels", { $0.authorization = "bearer x" }),
        ("MissingChannelId", "GET", "channels", { _ in }), ("MissingChannelId", "DELETE", "channels", { _ in }),
        ("BadChannelId", "GET", "channels", { $0.channelID = "no!" }),
        ("ChannelNotRegistered", "DELETE", "channels", { $0.channelID = "abcd" }),
        ("PayloadEmpty", "POST", "channels", { _ in }),
        ("BadRequestPayload", "POST", "channels", { $0.bodyBytes = 3 }),
        ("PayloadTooLarge", "POST", "channels", { $0.bodyBytes = 5_121 }),
        ("BadRequestParams", "POST", "channels", { $0.set(["push-type": "LiveActivity"]) }),
        (
            "BadRequestParams", "POST", "channels",
            { $0.set(["message-storage-policy": 2, "push-type": "LiveActivity"]) }
        ), ("MissingPushType", "POST", "channels", { $0.set(["message-storage-policy": 0]) }),
        ("InvalidPushType", "POST", "channels", { $0.set(["message-storage-policy": 0, "push-type": "alert"]) }),
        (
            "BadRequestParams", "POST", "channels",
            { $0.set(["message-storage-policy": 0, "push-type": "LiveActivity", "name": "x"]) }
        ),
    ]

    @Test(arguments: management) func `channel management is refused with Apple's reasons`(
        reason: String, method: String, path: String, change: @Sendable (inout PushArrival) -> Void
    ) throws {
        var bench = ChannelBench()
        let answer = try #require(try bench.manage(method, path, change))
        #expect(answer.reason == reason)
        #expect(BroadcastReason.Known(rawValue: reason)?.status == answer.status)
    }

    static let broadcasts: [(String, @Sendable (inout PushArrival) -> Void)] = [
        ("MethodNotAllowed", { $0.method = "GET" }), ("MissingChannelId", { $0.channelID = nil }),
        ("BadChannelId", { $0.channelID = "no!" }), ("MissingPushType", { $0.pushType = nil }),
        ("InvalidPushType", { $0.pushType = "alert" }), ("BadExpirationDate", { $0.expiration = nil }),
        ("BadExpirationDate", { $0.expiration = "soon" }), ("BadExpirationDate", { $0.expiration = "1900000000" }),
        ("BadPriority", { $0.priority = nil }), ("BadPriority", { $0.priority = "7" }),
        ("ChannelNotRegistered", { $0.channelID = "abcd" }), ("PayloadEmpty", { $0.set(["aps": [:]]) }),
        ("PayloadTooLarge", { $0.bodyBytes = 5_121 }),
    ]

    @Test(arguments: broadcasts) func `a broadcast is refused with Apple's reasons`(
        reason: String, change: @Sendable (inout PushArrival) -> Void
    ) throws {
        var bench = ChannelBench()
        let id = try bench.create()?.channelID
        #expect(try bench.broadcast(id)?.status == 200)
        #expect(try bench.broadcast(id) { $0.pushType = "LiveActivity" }?.status == 200)
        #expect(try bench.broadcast(id, change)?.reason == reason)
    }

    @Test func `a body of 5,120 bytes is taken, and a key for another app is not`() throws {
        var bench = ChannelBench()
        let id = try bench.create(1)?.channelID
        #expect(try bench.broadcast(id) { $0.bodyBytes = 5_120 }?.status == 200)
        #expect(try bench.broadcast(id) { $0.expiration = "1900000000" }?.status == 200)
        var narrow = ChannelBench(topics: [Fixture.bundle("com.other")])
        #expect(try narrow.create()?.reason == "TopicMismatch")
    }

    @Test func `pushes are not taken where channels are managed, nor the other way round`() throws {
        var bench = ChannelBench()
        let push = try bench.ask {
            $0.isManagement = true
            $0.path = "/3/device/00"
        }
        #expect(push?.reason == "BadPath")
        #expect(try bench.ask { $0.path = "/1/apps/com.acme.pizza/channels" }?.reason == "BadPath")
    }

    @Test func `a fault meets a broadcast as it meets a push`() throws {
        var bench = ChannelBench()
        let id = try bench.create()?.channelID
        bench.world.faults = FaultList([FaultRule(.refuse(status: 503, reason: "Shutdown"))], at: Fixture.start)
        #expect(try bench.broadcast(id)?.status == 503)
    }
}
