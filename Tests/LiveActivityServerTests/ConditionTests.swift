import APNSModel
import HTTPTypes
import JSONText
import LiveActivityServer
import LiveActivityStorage
import Testing

private let order = "/v1/activities/order-1"

private func state(_ step: Int, _ more: String = "") -> String {
    #"{"type":"Order","state":{"step":\#(step)}\#(more)}"#
}

extension Fixture {
    /// Makes a call as the backend, with headers.
    func call(
        _ method: HTTPRequest.Method, _ path: String, _ body: String? = nil, ifMatch: String? = nil,
        idempotencyKey: String? = nil
    ) async throws -> Reply {
        var headers = HTTPFields()
        headers[.ifMatch] = ifMatch
        if let idempotencyKey, let name = HTTPField.Name("Idempotency-Key") { headers[name] = idempotencyKey }
        return try await call(method, path, body, key: keys[.backend]?.text, headers: headers)
    }
}

@Suite struct ConditionTests {
    // MARK: - Revisions

    @Test func `every answer about an activity carries its revision as entity tag`() async throws {
        try await withServer { fixture in
            let replies = [
                try await fixture.put(order, state(1)), try await fixture.call(.get, order),
                try await fixture.call(.patch, order, #"{"state":{"x":1}}"#),
                try await fixture.call(.post, order + "/audience", #"{"add":["ada"]}"#),
                try await fixture.call(.post, order + "/end"), try await fixture.call(.delete, order),
            ]
            let tags = replies.map { $0.headers[.eTag] }
            #expect(tags == [1, 1, 2, 2, 3, 4].map { "\"\($0)\"" })
        }
    }

    @Test(arguments: [
        ("\"1\"", true), ("*", true), (" \"7\" , \"1\"", true), ("\"2\"", false), ("W/\"1\"", false), ("\"01\"", false),
        ("\"one\"", false), ("W/\"1\", \"3\"", false),
    ])
    func `a change is made if If-Match names the revision that stands`(tag: String, isMet: Bool) async throws {
        let calls: [(HTTPRequest.Method, String, String?)] = [
            (.put, order, state(2)), (.patch, order, #"{"state":{"step":2}}"#), (.post, order + "/end", "{}"),
            (.delete, order, nil), (.post, order + "/audience", #"{"add":["ada"]}"#), (.get, order, nil),
        ]
        for (method, path, body) in calls {
            try await withServer { fixture in
                _ = try await fixture.put(order, state(1))
                let before = try fixture.contents()
                let reply = try await fixture.call(method, path, body, ifMatch: tag)
                if isMet {
                    #expect(reply.status == 200, "\(method)")
                } else {
                    #expect(reply.status == 412 && reply.code == "revision_differs", "\(method)")
                    #expect(reply["/revision"] == 1 && reply.headers[.eTag] == "\"1\"")
                    #expect(try fixture.contents() == before)
                }
            }
        }
    }

    @Test func `If-Match on what is not there is not met, and a header of another form is refused`() async throws {
        try await withServer { fixture in
            let new = try await fixture.call(.put, order, state(1), ifMatch: "*")
            #expect(new.status == 412 && new["/revision"] == 0)
            _ = try await fixture.put(order, state(1))
            for bad in ["1", "\"1", "", ",", "\"1\" \"2\"", "w/\"1\"", "*, \"1\""] {
                #expect(try await fixture.call(.put, order, state(2), ifMatch: bad).code == "invalid_header", "\(bad)")
            }
            let phone = try await fixture.call(.put, "/v1/devices/p", #"{"user":"ada"}"#, ifMatch: "*")
            #expect(phone.code == "invalid_header")
            for bad in ["", "two words", "umläut", String(repeating: "k", count: 256)] {
                let reply = try await fixture.call(.put, order, state(2), idempotencyKey: bad)
                #expect(reply.status == 400 && reply.code == "invalid_header", "\(bad)")
            }
            #expect(try await fixture.call(.get, order)["/revision"] == 1)
        }
    }

    // MARK: - Sequences

    @Test func `a call whose sequence is not greater changes nothing, and is told the current revision`() async throws {
        try await withServer { fixture in
            #expect(try await fixture.put(order, state(5, #","sequence":5"#))["/superseded"] == nil)
            for body in [state(4, #","sequence":4"#), state(6, #","sequence":5"#)] {
                let before = try fixture.contents()
                let late = try await fixture.put(order, body)
                #expect(late.status == 200 && late["/superseded"] == true && late["/changed"] == false)
                #expect(late["/revision"] == 1)
                #expect(try fixture.contents() == before)
            }
            #expect(try await fixture.call(.patch, order, #"{"state":{"step":1},"sequence":5}"#)["/superseded"] == true)
            #expect(try await fixture.call(.delete, order + "?sequence=5")["/superseded"] == true)
            let end = try await fixture.call(.post, order + "/end", #"{"sequence":9}"#)
            #expect(end["/changed"] == true)
            // Late calls after the end are superseded, not refused.
            #expect(try await fixture.put(order, state(7, #","sequence":7"#))["/superseded"] == true)
            #expect(try await fixture.call(.patch, order, #"{"sequence":8}"#)["/superseded"] == true)
            #expect(try await fixture.put(order, state(7)).code == "activity_ended")
            // A new run starts a new sequence.
            let again = try await fixture.put(order, state(1, #","sequence":1,"reopen":true"#))
            #expect(again["/changed"] == true && again["/superseded"] == nil)
            #expect(try await fixture.put(order, state(1, #","sequence":1"#))["/superseded"] == true)
        }
    }

    @Test func `a call that changes nothing takes its sequence all the same`() async throws {
        try await withServer { fixture in
            _ = try await fixture.put(order, state(1, #","sequence":1"#))
            #expect(try await fixture.put(order, state(1, #","sequence":3"#))["/changed"] == false)
            #expect(try await fixture.put(order, state(2, #","sequence":2"#))["/superseded"] == true)
            _ = try await fixture.call(.post, order + "/end", #"{"sequence":4}"#)
            #expect(try await fixture.call(.post, order + "/end", #"{"sequence":6}"#)["/changed"] == false)
            #expect(try await fixture.call(.delete, order + "?sequence=5")["/superseded"] == true)
        }
    }

    // MARK: - Keys

    @Test func `a repeated key gets the first answer and changes nothing, whatever stands by then`() async throws {
        try await withServer { fixture in
            let first = try await fixture.call(.put, order, state(1), idempotencyKey: "k")
            let replayed = try #require(Self.replayed)
            #expect(first["/changed"] == true && first.headers[replayed] == nil)
            _ = try await fixture.put(order, state(2))
            let before = try fixture.contents()
            // The order of members does not matter.
            let again = try await fixture.call(
                .put, order, #"{"state":{"step":1.0},"type":"Order"}"#, idempotencyKey: "k")
            #expect(again.headers[replayed] == "true")
            #expect(again["/revision"] == 1 && again["/changed"] == true && again["/phase"] == "active")
            #expect(try fixture.contents() == before)
            #expect(try await fixture.call(.get, order)["/state/step"] == 2)
        }
    }

    @Test func `a key with another body, path or method is refused`() async throws {
        try await withServer { fixture in
            _ = try await fixture.call(.put, order, state(1), idempotencyKey: "k")
            let before = try fixture.contents()
            let calls: [(HTTPRequest.Method, String, String?)] = [
                (.put, order, state(2)), (.put, "/v1/activities/order-2", state(1)), (.delete, order, nil),
                (.post, order + "/end", "{}"), (.put, "/v1/devices/phone", #"{"user":"ada"}"#),
            ]
            for (method, path, body) in calls {
                let reply = try await fixture.call(method, path, body, idempotencyKey: "k")
                #expect(reply.status == 422 && reply.code == "idempotency_key_reused", "\(method) \(path)")
            }
            #expect(try fixture.contents() == before)
            // Another app's key of the same name is another key.
            var headers = HTTPFields()
            headers[try #require(HTTPField.Name("Idempotency-Key"))] = "k"
            let other = try await fixture.call(.put, order, state(2), key: fixture.otherApp.text, headers: headers)
            #expect(other.status == 200 && other["/changed"] == true)
        }
    }

    @Test func `a key is forgotten after a day, and a refusal is not kept`() async throws {
        try await withServer { fixture in
            #expect(try await fixture.call(.patch, order, "{}", idempotencyKey: "k").code == "unknown_activity")
            _ = try await fixture.put(order, state(1))
            #expect(try await fixture.call(.patch, order, "{}", idempotencyKey: "k").status == 200)
            fixture.clock.advance(.seconds(24 * 3600 - 1))
            #expect(try await fixture.call(.delete, order, idempotencyKey: "k").code == "idempotency_key_reused")
            fixture.clock.advance(.seconds(1))
            #expect(try await fixture.call(.delete, order, idempotencyKey: "k").status == 200)
        }
    }

    @Test func `every write takes a key`() async throws {
        let writes: [(HTTPRequest.Method, String, String?)] = [
            (.put, "/v1/devices/phone", #"{"user":"ada"}"#),
            (.put, "/v1/devices/phone/push-to-start-tokens/Order", #"{"token":"\#(token("p"))"}"#),
            (.put, order, state(1)), (.patch, order, #"{"state":{"x":1}}"#),
            (.post, order + "/audience", #"{"add":["ada"]}"#),
            (.put, "/v1/devices/phone/instances/c", #"{"type":"Order","activity":"order-1","state":"active"}"#),
            (.put, "/v1/devices/phone/instances", #"{"sequence":1,"instances":[]}"#),
            (.post, "/v1/users/ada/notifications", #"{"alert":{"title":"Hello"}}"#),
            (.post, "/v1/users/ada/refresh", nil), (.post, "/v1/refreshes", #"{"users":["ada"]}"#),
            (.post, order + "/end", "{}"), (.delete, order, nil),
            (.delete, "/v1/devices/phone/credential", nil), (.delete, "/v1/devices/phone", nil),
        ]
        // A batch has one key for each of its lines.
        #expect(writes.count == Route.all.filter { !$0.scopes.isEmpty && $0.takesKey }.count - 1)
        // Repeating these calls does no harm. Their own tests check that they refuse a key.
        #expect(
            Route.all.filter { $0.method != .get && !$0.takesKey }.map(\.path.description) == [
                "/v1/webhooks/{webhook}/replay", "/v1/webhooks/{webhook}/discard", "/v1/webhooks/{webhook}/enable",
                "/v1/types/{type}/what-if",
            ])
        let replayed = try #require(Self.replayed)
        try await withServer { fixture in
            for (index, write) in writes.enumerated() {
                let first = try await fixture.call(write.0, write.1, write.2, idempotencyKey: "k\(index)")
                #expect(first.status == 200, "\(write.1)")
                let before = try fixture.contents()
                fixture.clock.advance(.seconds(1))
                let again = try await fixture.call(write.0, write.1, write.2, idempotencyKey: "k\(index)")
                #expect(again.headers[replayed] == "true", "\(write.1)")
                #expect(again["/revision"] == first["/revision"] && again["/added"] == first["/added"])
                #expect(try fixture.contents() == before, "\(write.1)")
            }
        }
    }

    @Test func `asking for everybody takes no key, since it is many commits`() async throws {
        try await withServer { fixture in
            try await fixture.registerPhone()
            let everybody = #"{"all":true}"#
            let refused = try await fixture.call(.post, "/v1/refreshes", everybody, idempotencyKey: "k")
            #expect(refused.status == 400 && refused.code == "invalid_header")
            #expect(try await fixture.call(.post, "/v1/refreshes", everybody)["/asked"] == 1)
        }
    }

    private static let replayed = HTTPField.Name("Idempotency-Replayed")
}
