import APNSModel
import APNSSimulator
import JSONText
import Testing

/// Broadcast channels in the control API, with curl as the sender.
@Suite(.timeLimit(.minutes(10)))
struct ChannelControlTests {
    private struct Sender: Sendable {
        let authorization: String
        let addresses: APNSSimulator.Addresses

        /// Makes a channel that stores the most recent message, and returns its id.
        func channel() async throws -> String {
            let port = try #require(addresses.managementPorts[.sandbox])
            let answer = try await call([
                "--data", #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#,
                "https://localhost:\(port)/1/apps/com.acme.pizza/channels",
            ])
            #expect(answer.status == "201")
            return try #require(answer.headers["apns-channel-id"])
        }

        /// Broadcasts a state that APNs keeps for a minute, and returns the status.
        func broadcast(_ step: String, to channel: String) async throws -> String {
            let port = try #require(addresses.ports[.sandbox])
            let now = Fixture.start.seconds
            return try await call([
                "--header", "apns-channel-id: \(channel)", "--header", "apns-push-type: liveactivity",
                "--header", "apns-priority: 5", "--header", "apns-expiration: \(now + 60)",
                "--data", JSONValue.object(Fixture.updateBody(at: now, Fixture.state(step))).text,
                "https://localhost:\(port)/4/broadcasts/apps/com.acme.pizza",
            ]).status
        }

        private func call(_ arguments: [String]) async throws -> Curl.Answer {
            try await Curl.withCA(addresses.caPEM) { file in
                try await Curl.run(
                    ["--http2", "--cacert", file, "--header", "authorization: \(authorization)"] + arguments)
            }
        }
    }

    private func run(_ body: @escaping @Sendable (ControlTests.Control, Sender) async throws -> Void) async throws {
        let team = Team()
        let authorization = try team.authorization()
        let key = team.key()
        try await ControlTests.withControl({ $0.keys = [key] }) { control in
            let addresses = try await control.simulator.started
            try await body(control, Sender(authorization: authorization, addresses: addresses))
        }
    }

    private static func start(on channel: String) -> JSONValue {
        [
            "action": "startLocally", "attributesType": "OrderAttributes", "attributes": ["orderId": "A1"],
            "contentState": ["step": "cooking", "eta": 5], "channel": .string(channel),
        ]
    }

    @Test func `channels are listed, and of one that is forgotten the card stays`() async throws {
        try await run { control, sender in
            let (first, second) = (try await sender.channel(), try await sender.channel())
            _ = try await control.json("POST", "phones", ControlTests.phone)
            _ = try await control.json("POST", "phones/ann/actions", Self.start(on: first))
            let channels = try await control.json("GET", "channels?limit=1")
            let expected: JSONValue = [
                "channels": [
                    [
                        "id": .string(first), "bundleID": "com.acme.pizza", "environment": "sandbox",
                        "storage": "mostRecent", "subscribers": 1,
                    ]
                ]
            ]
            #expect(channels == expected)
            #expect(try await sender.broadcast("delivering", to: first) == "200")
            _ = try await control.json("POST", "channels/forget", ["channel": .string(first)])
            #expect(try await sender.broadcast("delivered", to: first) == "400")
            let phone = try await control.json("GET", "phones/ann")
            #expect(phone[try JSONPointer("/lockScreen/cards/0/contentState/step")] == "delivering")
            #expect(phone[try JSONPointer("/lockScreen/cards/0/state")] == "active")
            #expect(phone[try JSONPointer("/lockScreen/cards/0/channel")]?.string == first)
            let left = try await control.json("GET", "channels")
            #expect(left[try JSONPointer("/channels/0/id")]?.string == second)
            #expect(left[try JSONPointer("/channels/0/subscribers")] == 0)
            let pushes = try await control.json("GET", "pushes")
            #expect(pushes[try JSONPointer("/pushes/1/channel")]?.string == first)
            #expect(pushes[try JSONPointer("/pushes/1/reason")] == "ChannelNotRegistered")
        }
    }

    @Test func `rules are set and shown, and what is left out has its standard value`() async throws {
        try await run { control, _ in
            let rules: JSONValue = [
                "broadcastApps": ["com.acme.pizza"], "channelsPerApp": 3, "broadcastsPerSecond": 2,
                "lateSubscribersGetStored": true,
            ]
            _ = try await control.json("PUT", "channels/rules", rules)
            let shown = try await control.json("GET", "channels/rules")
            #expect(shown == rules)
            #expect(control.simulator.channelRules.broadcastApps == [Fixture.bundleID])
            #expect(control.simulator.channelRules.broadcastsPerSecond == 2)
            _ = try await control.json("PUT", "channels/rules", ["lateSubscribersGetStored": true])
            var standard = ChannelRules()
            standard.lateSubscribersGetStored = true
            #expect(control.simulator.channelRules == standard)
        }
    }

    @Test(arguments: [59, 60]) func `a stored broadcast expires by the clock that is moved`(seconds: Int) async throws {
        try await run { control, sender in
            let channel = try await sender.channel()
            _ = try await control.json("POST", "phones", ControlTests.phone)
            _ = try await control.json("POST", "phones/ann/actions", Self.start(on: channel))
            _ = try await control.json("POST", "phones/ann/actions", ["action": "offline"])
            #expect(try await sender.broadcast("delivering", to: channel) == "200")
            _ = try await control.json("POST", "clock/advance", ["seconds": .number(JSONNumber(seconds))])
            _ = try await control.json("POST", "phones/ann/actions", ["action": "online"])
            let phone = try await control.json("GET", "phones/ann")
            let step: JSONValue = seconds < 60 ? "delivering" : "cooking"
            #expect(phone[try JSONPointer("/lockScreen/cards/0/contentState/step")] == step)
        }
    }
}
