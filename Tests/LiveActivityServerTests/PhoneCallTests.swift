import APNSModel
import HTTPTypes
import JSONText
import LiveActivityCore
import StorageSQL
import StorageSQLite
import Testing

@Suite struct PhoneCallTests {
    private static let order =
        #"{"type":"Order","state":{"step":1},"attributes":{"shop":"Roma"},"#
        + #""audience":{"users":["ada"]},"staleAfter":"10m"}"#

    @Test func `B3: a phone registers a running card by the order's number, and a second report replaces its token`()
        async throws
    {
        try await withServer { fixture in
            _ = try await fixture.put("/v1/devices/phone-1", #"{"user":"ada","platform":"ios"}"#)
            func report(_ name: String) -> String {
                #"{"type":"Order","activity":"12345","state":"active","token":"\#(token(name))","#
                    + #""contentState":{"step":1}}"#
            }
            #expect(try await fixture.put("/v1/devices/phone-1/instances/card-1", report("one")).status == 200)
            #expect(try await fixture.put("/v1/devices/phone-1/instances/card-1", report("two")).status == 200)
            let reply = try await fixture.put("/v1/activities/12345", #"{"type":"Order","state":{"step":2}}"#)
            #expect(reply["/phones/update"] == 1)
            #expect(try await fixture.deliver() == [.update])
            let phones = try await fixture.store.phones(of: 1, after: -1, limit: 10)
            #expect(phones.map(\.updateToken?.value.hex) == [token("two")])
        }
    }

    @Test func `every phone call answers with what the phone should show`() async throws {
        try await withServer { fixture in
            try await fixture.registerPhone()
            _ = try await fixture.put("/v1/activities/order-1", Self.order)
            let expected: JSONValue = [
                "activities": [
                    [
                        "activity": "order-1", "type": "Order",
                        "attributes": ["shop": "Roma", "islet": ["activity": "order-1"]], "state": ["step": 1],
                        "revision": 1, "phase": "active", "staleAt": "2027-01-15T08:10:00Z",
                    ]
                ]
            ]
            #expect(try await fixture.put("/v1/devices/phone-1", #"{"user":"ada"}"#).json == expected)
            let token = #"{"token":"\#(token("another"))"}"#
            #expect(try await fixture.put("/v1/devices/phone-1/push-to-start-tokens/Order", token).json == expected)
            let inventory = #"{"sequence":1,"instances":[]}"#
            #expect(try await fixture.put("/v1/devices/phone-1/instances", inventory).json == expected)
            // An existing card is only updated, because its attributes are fixed.
            let report = #"{"type":"Order","activity":"order-1","state":"active"}"#
            let shown = try await fixture.put("/v1/devices/phone-1/instances/card-1", report)
            #expect(shown["/activities/0/attributes"] == nil)
            #expect(shown["/activities/0/state"] == ["step": 1])
        }
    }

    @Test func `who left the audience is told to end the card, and nothing of its state`() async throws {
        try await withServer { fixture in
            try await fixture.registerPhone()
            _ = try await fixture.put("/v1/activities/order-1", Self.order)
            let report = #"{"type":"Order","activity":"order-1","state":"active"}"#
            _ = try await fixture.put("/v1/devices/phone-1/instances/card-1", report)
            _ = try await fixture.put(
                "/v1/activities/order-1", #"{"type":"Order","state":{"secret":2},"audience":{"users":[]}}"#)
            let reply = try await fixture.put("/v1/devices/phone-1", #"{"user":"ada"}"#)
            #expect(reply["/activities/0/phase"] == "ended")
            #expect(reply["/activities/0/state"] == [:])
            #expect(!reply.text.contains("secret"))
        }
    }

    @Test func `a phone with more activities than one commit takes is the next person's with one call`() async throws {
        try await withServer { fixture in
            try await fixture.registerPhone()
            for number in 1...310 {
                let body = #"{"type":"Order","state":{"step":1},"audience":{"users":["ada"]}}"#
                #expect(try await fixture.put("/v1/activities/order-\(number)", body).status < 300)
            }
            let reply = try await fixture.put("/v1/devices/phone-1", #"{"user":"bob"}"#)
            #expect(reply.status == 200)
            for number in [1, 155, 310] as [Int64] {
                let phones = try await fixture.store.phones(of: number, after: -1, limit: 10)
                #expect(phones.map(\.card.isWanted) == [false])
                #expect(phones.map(\.device.userID.text) == ["bob"] && phones[0].device.signedOutAt == nil)
            }
        }
    }

    @Test func `signing out ends what runs and leaves nothing else`() async throws {
        try await withServer { fixture in
            try await fixture.registerPhone()
            _ = try await fixture.put("/v1/activities/order-1", Self.order)
            let report = #"{"type":"Order","activity":"order-1","state":"active"}"#
            _ = try await fixture.put("/v1/devices/phone-1/instances/card-1", report)
            let reply = try await fixture.call(.delete, "/v1/devices/phone-1")
            #expect(reply.status == 200)
            #expect(reply["/activities/0/phase"] == "ended")
            #expect(try await fixture.call(.delete, "/v1/devices/nobody").code == "unknown_device")
            // A card that the phone reports later, of an activity whose audience it was not in, is only ended.
            _ = try await fixture.put("/v1/activities/order-2", #"{"type":"Order","state":{"secret":1}}"#)
            let late = #"{"type":"Order","activity":"order-2","state":"active","token":"\#(token("late"))"}"#
            let told = try await fixture.put("/v1/devices/phone-1/instances/card-2", late)
            #expect(told["/activities/1/phase"] == "ended")
            #expect(!told.text.contains("secret"))
            fixture.clock.advance(.seconds(2))
            #expect(try await fixture.deliver() == [.end])
        }
    }

    @Test func `a dead push-to-start token is refused with 409, and the phone is asked for a new one`() async throws {
        try await withServer { fixture in
            try await fixture.registerPhone()
            _ = try await fixture.put("/v1/activities/order-1", Self.order)
            #expect(try await fixture.deliver(PushAnswer(status: 410, reason: APNSReason("Unregistered"))) == [.start])
            let before = try fixture.contents()
            let path = "/v1/devices/phone-1/push-to-start-tokens/Order"
            let reply = try await fixture.put(path, #"{"token":"\#(token("phone-1Order"))"}"#)
            #expect(reply.status == 409)
            #expect(reply.code == "dead_token")
            #expect(reply["/pointer"] == "/token")
            #expect(try fixture.contents() == before)
            #expect(try await fixture.put(path, #"{"token":"\#(token("fresh"))"}"#).status == 200)
        }
    }

    @Test func `an inventory takes what it lists, and an older one changes nothing`() async throws {
        try await withServer { fixture in
            try await fixture.registerPhone()
            _ = try await fixture.put("/v1/activities/order-1", Self.order)
            let list =
                #"{"sequence":2,"instances":[{"localID":"card-1","type":"Order","#
                + #""activity":"order-1","state":"active"}]}"#
            #expect(try await fixture.put("/v1/devices/phone-1/instances", list).status == 200)
            let view = try await fixture.call(.get, "/v1/activities/order-1")
            #expect(view["/devices/0/state"] == "live")
            #expect(
                try await fixture.put("/v1/devices/phone-1/instances", #"{"sequence":1,"instances":[]}"#).status == 200)
            #expect(try await fixture.call(.get, "/v1/activities/order-1")["/devices/0/state"] == "live")
            #expect(
                try await fixture.put("/v1/devices/phone-1/instances", #"{"sequence":3,"instances":[]}"#).status == 200)
            #expect(try await fixture.call(.get, "/v1/activities/order-1")["/devices/0/state"] == "gone")
        }
    }

    @Test func `an inventory that comes too late is told which one was taken`() async throws {
        try await withServer { fixture in
            try await fixture.registerPhone()
            let path = "/v1/devices/phone-1/instances"
            let taken = try await fixture.put(path, #"{"sequence":9,"instances":[]}"#)
            #expect(taken.status == 200 && taken["/supersededBy"] == nil)
            for sequence in [5, 9] {
                let late = try await fixture.put(path, #"{"sequence":\#(sequence),"instances":[]}"#)
                #expect(late.status == 200 && late["/supersededBy"] == 9 && late["/activities"] == [])
            }
            #expect(try await fixture.put(path, #"{"sequence":10,"instances":[]}"#)["/supersededBy"] == nil)
        }
    }

    @Test func `a phone is told when its card was started, so that it knows a renewal`() async throws {
        try await withServer { fixture in
            try await fixture.registerPhone()
            _ = try await fixture.put("/v1/activities/order-1", Self.order)
            fixture.clock.advance(.seconds(2))
            #expect(try await fixture.deliver() == [.start])
            let started = fixture.clock.now
            fixture.clock.advance(.seconds(1_800))
            let report = #"{"type":"Order","activity":"order-1","state":"active"}"#
            let told = try await fixture.put("/v1/devices/phone-1/instances/card-1", report)
            #expect(told["/activities/0/startedAt"] == .string(started.description))
        }
    }

    @Test func `a UUID is one activity, whoever writes it in capitals`() async throws {
        try await withServer { fixture in
            try await fixture.registerPhone()
            let id = "0e984725-c51c-4bf4-9960-e1c80e27aba0"
            let report =
                #"{"type":"Order","activity":"\#(id.uppercased())","state":"active","token":"\#(token("own"))"}"#
            #expect(try await fixture.put("/v1/devices/phone-1/instances/card-1", report).status == 200)
            let set = try await fixture.put("/v1/activities/\(id)", Self.order)
            #expect(set["/phones/update"] == 1 && set["/phones/start"] == 0, "\(set.text)")
            let told = try await fixture.put("/v1/devices/phone-1/instances/card-1", report)
            #expect(told["/activities/0/localID"] == "card-1" && told["/activities/0/activity"] == .string(id))
            for spelling in [id, id.uppercased()] {
                let view = try await fixture.call(.get, "/v1/activities/\(spelling)")
                #expect(view["/devices/0/state"] == "live" && view["/activity"] == .string(id), "\(view.text)")
            }
            let ended = try await fixture.call(.delete, "/v1/activities/\(id.uppercased())")
            #expect(ended.status == 200 && ended["/phase"] == "ended")
        }
    }

    @Test
    func `a duplicate is buried alone, has a code of its own in the timeline, and the answer names the other card`()
        async throws
    {
        try await withServer { fixture in
            try await fixture.registerPhone()
            _ = try await fixture.put("/v1/activities/order-1", Self.order)
            func report(_ state: String) -> String {
                #"{"type":"Order","activity":"order-1","state":"\#(state)","lastTimestamp":1800000005}"#
            }
            let taken = try await fixture.put("/v1/devices/phone-1/instances/own", report("active"))
            #expect(taken["/activities/0/localID"] == "own")
            #expect(taken["/activities/0/lastTimestamp"] == "2027-01-15T08:00:05Z")
            #expect(try await fixture.put("/v1/devices/phone-1/instances/twin", report("duplicate")).status == 200)
            let list =
                #"{"sequence":1,"instances":[{"localID":"own","type":"Order","activity":"order-1","state":"active"},"#
                + #"{"localID":"third","type":"Order","activity":"order-1","state":"duplicate"}]}"#
            let answer = try await fixture.put("/v1/devices/phone-1/instances", list)
            #expect(answer["/activities/0/localID"] == "own" && answer["/activities/0/phase"] == "active")
            #expect(try await fixture.call(.get, "/v1/activities/order-1")["/devices/0/state"] == "live")
            let timeline = try await fixture.call(.get, "/v1/activities/order-1/timeline")
            let codes = timeline["/entries"]?.array?.compactMap { $0.object?["code"]?.string } ?? []
            #expect(codes.filter { $0 == "duplicate-ended" }.count == 2, "\(codes)")
        }
    }

    @Test func `percent-encoded device and card ids are the ids`() async throws {
        try await withServer { fixture in
            _ = try await fixture.put("/v1/devices/my%20phone%2F1", #"{"user":"ada"}"#)
            let report = #"{"type":"Order","activity":"order-1","state":"active"}"#
            #expect(try await fixture.put("/v1/devices/my%20phone%2F1/instances/card%3A1", report).status == 200)
            let view = try await fixture.call(.get, "/v1/activities/order-1")
            #expect(view["/phase"] == "announced")
            #expect(view["/devices/0/device"] == "my phone/1")
            #expect(view["/devices/0/localID"] == "card:1")
            // A phone that reports before the backend gets no state until the backend has set one.
            #expect(try await fixture.put("/v1/devices/my%20phone%2F1", #"{"user":"ada"}"#)["/activities"] == [])
            let end = try await fixture.call(.post, "/v1/activities/order-1/end")
            #expect(end.status == 409 && end.code == "no_state_yet")
        }
    }

    @Test func `a card that nothing names is refused and told how to name it`() async throws {
        try await withServer { fixture in
            try await fixture.registerPhone()
            let before = try fixture.contents()
            let reply = try await fixture.put(
                "/v1/devices/phone-1/instances/card-1", #"{"type":"Order","state":"active"}"#)
            #expect(reply.status == 422)
            #expect(reply.code == "activity_not_named")
            #expect(reply["/fix"]?.string?.isEmpty == false)
            #expect(try fixture.contents() == before)
        }
    }
}
