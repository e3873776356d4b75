import APNSModel
import HTTPTypes
import JSONText
import LiveActivityCore
import LiveActivityServer
import StorageSQL
import StorageSQLite
import Testing

@Suite struct NotificationCallTests {
    private static let path = "/v1/users/ada/notifications"

    private func register(_ fixture: Fixture, _ more: String = "") async throws {
        let body = #"{"user":"ada","deviceToken":"\#(String(repeating: "ab", count: 32))"\#(more)}"#
        #expect(try await fixture.call(.put, "/v1/devices/phone", body).status == 200)
    }

    @Test func `a notification is kept for each device, and the answer counts them`() async throws {
        try await withServer { fixture in
            try await register(fixture)
            _ = try await fixture.call(.put, "/v1/devices/tablet", #"{"user":"ada"}"#)
            let reply = try await fixture.call(
                .post, Self.path,
                #"""
                {"id": "n1", "alert": {"title": "Hello", "subtitle": {"locKey": "FROM", "locArgs": ["Bob"]},
                 "body": "Ring me back", "sound": "default", "threadId": "bob"}, "data": {"page": 3},
                 "collapse": "bob", "expiresAfter": "1h"}
                """#)
            #expect(reply.status == 200)
            #expect(
                reply.json
                    == ["devices": 1, "others": 1, "reasons": [["reason": "no-device-token", "count": 1]]])
            let notice = try await fixture.store.commit(ClaimNotifications(now: fixture.clock.now)).get()
            let seat = try #require(notice.flight.seats.first)
            #expect(
                try JSONValue(parsing: seat.notification.payload) == [
                    "aps": [
                        "alert": [
                            "title": "Hello", "subtitle-loc-key": "FROM", "subtitle-loc-args": ["Bob"],
                            "body": "Ring me back",
                        ], "sound": "default", "thread-id": "bob",
                    ], "page": 3,
                ])
            #expect(seat.request?.collapseID?.text == "bob")
            #expect(seat.notification.expiresAt == fixture.clock.now + .seconds(3600))
        }
    }

    @Test func `a repeated id gets the first answer and sends nothing; another body under it is refused`() async throws
    {
        try await withServer { fixture in
            try await register(fixture)
            let hello = #"{"id": "n1", "alert": {"title": "Hello"}}"#
            #expect(try await fixture.call(.post, Self.path, hello)["/devices"] == 1)
            let before = try fixture.contents()
            let again = try await fixture.call(.post, Self.path, hello)
            #expect(try again["/devices"] == 1 && fixture.contents() == before)
            let other = try await fixture.call(.post, Self.path, #"{"id": "n1", "alert": {"title": "Bye"}}"#)
            #expect(other.code == "idempotency_key_reused")
            // An id belongs to its person, so another person's is a different notification.
            let bob = try await fixture.call(.post, "/v1/users/bob/notifications", hello)
            #expect(bob.status == 200 && bob["/devices"] == 0)
        }
    }

    static let refusals: [(body: String, pointer: String, code: String)] = [
        (#"{"alert": {"title": "Hello"}}"#, "/id", "invalid_body"),
        (#"{"id": "n"}"#, "/alert", "invalid_body"),
        (#"{"id": "n", "alert": {"title": ""}}"#, "/alert/title", "invalid_body"),
        (#"{"id": "n", "alert": {"title": "t", "sound": "a/b.caf"}}"#, "/alert/sound", "ignored_by_ios"),
        (#"{"id": "n", "alert": {"title": "t"}, "background": true}"#, "/background", "invalid_body"),
        (#"{"id": "n", "alert": {"title": "t"}, "collapse": "a b"}"#, "/collapse", "invalid_body"),
        (#"{"id": "n", "alert": {"title": "t"}, "devices": []}"#, "/devices", "invalid_body"),
        (#"{"id": "n", "background": true, "data": {"aps": {}}}"#, "/data/aps", "invalid_body"),
        (#"{"id": "n", "alert": {"title": "t"}, "sound": "x"}"#, "/sound", "invalid_body"),
        (#"{"id": "n", "alert": {"title": "t"}, "expiresAfter": 0}"#, "/expiresAfter", "invalid_body"),
        (
            #"{"id": "n", "background": true, "data": {"x": "\#(String(repeating: "x", count: 4090))"}}"#, "/data",
            "payload_too_large"
        ),
        (
            #"{"id": "n", "alert": {"title": "\#(String(repeating: "x", count: 4090))"}}"#, "/alert",
            "payload_too_large"
        ),
    ]

    @Test(arguments: refusals.indices)
    func `what cannot be sent is refused with its place, and nothing is kept`(index: Int) async throws {
        let (body, pointer, code) = Self.refusals[index]
        try await withServer { fixture in
            try await register(fixture)
            let before = try fixture.contents()
            let reply = try await fixture.call(.post, Self.path, body)
            #expect(reply.code == code && reply["/pointer"]?.string == pointer, "\(body.prefix(80))")
            #expect(try fixture.contents() == before)
        }
    }

    @Test func `a fallback is a template, checked at the door; the answer counts who is told by it`() async throws {
        try await withServer { fixture in
            try await register(fixture, #","activitiesEnabled":false"#)
            func put(_ title: String) async throws -> Reply {
                try await fixture.call(
                    .put, "/v1/activities/order-1",
                    #"""
                    {"type": "Order", "state": {"status": "ready"}, "audience": {"users": ["ada"]},
                     "fallback": {"alert": {"title": "\#(title)"}}}
                    """#)
            }
            for title in ["{/status}", "{status|x}", "{/status", ""] {
                let reply = try await put(title)
                #expect(reply.code == (title.isEmpty ? "ignored_by_ios" : "invalid_body"))
                #expect(reply["/pointer"]?.string?.hasPrefix("/fallback/alert") == true)
            }
            let reply = try await put("Order is {/status|there}")
            #expect(reply["/phones"] == ["start": 0, "update": 0, "pending": 0, "none": 0, "fallback": 1])
            #expect(reply["/reasons"] == [["reason": "activities-disabled", "count": 1]])
        }
    }
}
