import APNSModel
import HTTPTypes
import JSONText
import LiveActivityCore
import LiveActivityServer
import Testing

private let order = #"{"type":"Order","state":{"step":1},"attributes":{"shop":"Roma"},"audience":{"users":["ada"]}}"#

@Suite struct ActivityCallTests {
    @Test func `B6: an order with no registered phone answers 200 and nothing-to-update`() async throws {
        try await withServer { fixture in
            let reply = try await fixture.put("/v1/activities/order-12345", #"{"type":"Order","state":{"step":1}}"#)
            #expect(reply.status == 200)
            #expect(
                reply.json == [
                    "revision": 1, "changed": true, "phase": "active",
                    "phones": ["start": 0, "update": 0, "pending": 0, "none": 0],
                    "reasons": [["reason": "nothing-to-update", "count": 0]],
                    "summary": "no phone: nothing to update",
                ])
        }
    }

    @Test func `the same content again changes nothing, whatever the order of its members`() async throws {
        try await withServer { fixture in
            _ = try await fixture.put("/v1/activities/a", #"{"type":"Order","state":{"x":1,"y":2.0}}"#)
            let again = try await fixture.put("/v1/activities/a", #"{"state":{"y":2,"x":1e0},"type":"Order"}"#)
            #expect(again["/changed"] == false)
            #expect(again["/revision"] == 1)
            let changed = try await fixture.put("/v1/activities/a", #"{"type":"Order","state":{"x":2,"y":2}}"#)
            #expect(changed["/changed"] == true)
            #expect(changed["/revision"] == 2)
        }
    }

    @Test func `an alert without an id goes out once, however often its call is repeated`() async throws {
        try await withServer { fixture in
            let body = #"{"type":"Order","state":{"x":1},"alert":{"title":"Ready"}}"#
            _ = try await fixture.put("/v1/activities/a", body)
            #expect(try await fixture.put("/v1/activities/a", body)["/changed"] == false)
        }
    }

    @Test func `a phone with a start token is started, then updated, then ended`() async throws {
        try await withServer { fixture in
            try await fixture.registerPhone()
            let first = try await fixture.put("/v1/activities/order-1", order)
            #expect(first["/phones/start"] == 1)
            #expect(first["/reasons"] == [])
            #expect(try await fixture.deliver() == [.start])
            let waiting = try await fixture.put("/v1/activities/order-1", #"{"type":"Order","state":{"step":2}}"#)
            #expect(waiting["/phones/pending"] == 1)
            #expect(waiting["/reasons/0/reason"] == "start-unconfirmed")
            let report = #"{"type":"Order","activity":"order-1","state":"active","token":"\#(token("update"))"}"#
            #expect(try await fixture.put("/v1/devices/phone-1/instances/card-1", report).status == 200)
            let second = try await fixture.put("/v1/activities/order-1", #"{"type":"Order","state":{"step":3}}"#)
            #expect(second["/phones/update"] == 1)
            fixture.clock.advance(.seconds(2))
            #expect(try await fixture.deliver() == [.update])
            let end = try await fixture.call(.post, "/v1/activities/order-1/end", #"{"dismissNow":true}"#)
            #expect(end["/phase"] == "ended")
            #expect(end["/phones/update"] == 1)
            fixture.clock.advance(.seconds(2))
            #expect(try await fixture.deliver() == [.end])
        }
    }

    @Test func `an answer counts what was sent before it was written`() async throws {
        try await withServer { fixture in
            try await fixture.registerPhone()
            _ = try await fixture.put("/v1/activities/order-1", order)
            _ = try await fixture.deliver()
            // The clock stands still. The call's own push has already left when the call is repeated.
            let again = try await fixture.put("/v1/activities/order-1", order)
            #expect(again["/changed"] == false)
            #expect(again["/phones/start"] == 1)
        }
    }

    @Test func `a type without a start alert is taken, and the phones say what is missing`() async throws {
        try await withServer { fixture in
            try await fixture.registerPhone(type: "Silent")
            let reply = try await fixture.put(
                "/v1/activities/a", #"{"type":"Silent","state":{},"audience":{"users":["ada"]}}"#)
            #expect(reply.status == 200)
            #expect(reply["/phones/none"] == 1)
            #expect(reply["/reasons"] == [["reason": "no-start-alert", "count": 1]])
        }
    }

    @Test func `reasons come the most frequent first`() async throws {
        try await withServer { fixture in
            for name in ["a", "b", "c"] { _ = try await fixture.put("/v1/devices/\(name)", #"{"user":"u-\#(name)"}"#) }
            _ = try await fixture.put("/v1/devices/d", #"{"user":"u-d","activitiesEnabled":false}"#)
            let reply = try await fixture.put(
                "/v1/activities/x", #"{"type":"Order","state":{},"audience":{"users":["u-a","u-b","u-c","u-d"]}}"#)
            #expect(
                reply["/reasons"] == [
                    ["reason": "no-push-to-start-token", "count": 3], ["reason": "activities-disabled", "count": 1],
                ])
            #expect(reply["/phones"] == ["start": 0, "update": 0, "pending": 3, "none": 1])
        }
    }

    @Test func `a percent-encoded id is the id`() async throws {
        try await withServer { fixture in
            let path = "/v1/activities/caf%C3%A9%2Forder%20%231%3F"
            #expect(try await fixture.put(path, #"{"type":"Named","state":{}}"#).status == 200)
            let view = try await fixture.call(.get, path)
            #expect(view["/activity"] == "café/order #1?")
            #expect(view["/attributes/orderID"] == "café/order #1?")
            #expect(try await fixture.call(.get, path + "/timeline").status == 200)
        }
    }

    @Test func `ending without a body ends with the newest state`() async throws {
        try await withServer { fixture in
            _ = try await fixture.put("/v1/activities/a", #"{"type":"Order","state":{"step":1}}"#)
            let end = try await fixture.call(.post, "/v1/activities/a/end")
            #expect(end.status == 200)
            #expect(end["/phase"] == "ended")
            let again = try await fixture.call(.post, "/v1/activities/a/end", "{}")
            #expect(again["/changed"] == false)
            let view = try await fixture.call(.get, "/v1/activities/a")
            #expect(view["/state/step"] == 1)
            let late = try await fixture.put("/v1/activities/a", #"{"type":"Order","state":{}}"#)
            #expect(late.status == 409 && late.code == "activity_ended")
            let reopened = try await fixture.put("/v1/activities/a", #"{"type":"Order","state":{},"reopen":true}"#)
            #expect(reopened["/phase"] == "active")
            #expect(try await fixture.call(.get, "/v1/activities/a")["/run"] == 2)
        }
    }

    @Test func `HEAD answers as GET does, without the body`() async throws {
        try await withServer { fixture in
            _ = try await fixture.put("/v1/activities/a", #"{"type":"Order","state":{}}"#)
            let reply = try await fixture.call(.head, "/v1/activities/a")
            #expect(reply.status == 200)
            #expect(reply.text.isEmpty)
        }
    }
}
