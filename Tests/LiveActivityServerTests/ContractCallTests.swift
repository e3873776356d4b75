import HTTPTypes
import JSONText
import LiveActivityCore
import Testing

@Suite struct ContractCallTests {
    private static let bad =
        #"{"type":"Checked","state":{"status":"deliverin","eta":12.5},"attributes":{"shop":"Roma"}}"#
    private static let good = #"{"type":"Checked","state":{"status":"ready","at":"2026-03-01T12:00:00Z"}}"#

    @Test func `what phones could not decode is 422 with every place, and nothing is kept`() async throws {
        try await withServer { fixture in
            let reply = try await fixture.put("/v1/activities/a", Self.bad)
            #expect(reply.status == 422)
            #expect(reply.code == "contract_violation")
            #expect(reply["/pointer"] == "/state/status")
            #expect(
                reply["/detail"]
                    == "/state/status: one of \"ready\", \"delivering\" expected, \"deliverin\" given (and 1 more)")
            #expect(
                reply["/errors"] == [
                    [
                        "pointer": "/state/status", "expected": "one of \"ready\", \"delivering\"",
                        "given": "\"deliverin\"", "fix": "is \"delivering\" meant?",
                    ],
                    [
                        "pointer": "/state/eta", "expected": "Int or null", "given": "12.5",
                        "fix": "round it, or make the Swift property a Double",
                    ],
                ])
            #expect(try await fixture.call(.get, "/v1/activities/a").status == 404)
        }
    }

    @Test func `a dry run is checked as the call is`() async throws {
        try await withServer { fixture in
            let reply = try await fixture.put("/v1/activities/a?dryRun=true", Self.bad)
            #expect(reply.status == 422)
            #expect(reply.code == "contract_violation")
        }
    }

    @Test func `phones on a build that could not decode a state are counted, and the others are sent it`() async throws
    {
        try await withServer { fixture in
            for (number, build) in ["100", "119", "120", "130"].enumerated() {
                let phone = "phone-\(number)"
                try await fixture.registerPhone(phone, type: "Versioned")
                let reply = try await fixture.put("/v1/devices/\(phone)", #"{"user":"ada","build":"\#(build)"}"#)
                #expect(reply.status == 200)
            }
            fixture.clock.advance(.seconds(100))
            let body =
                #"{"type":"Versioned","state":{"status":"delivering"},"audience":{"users":["ada"],"devices":"all"}}"#
            for path in ["/v1/activities/a?dryRun=true", "/v1/activities/a"] {
                let reply = try await fixture.put(path, body)
                #expect(reply["/phones/start"] == 2 && reply["/phones/none"] == 2, "\(reply.text)")
                #expect(reply["/reasons/0"] == ["reason": "incompatible-build", "count": 2])
                #expect(
                    reply["/summary"]
                        == "will start 2 of 4; 2 on a build of the app that cannot decode it", "\(reply.text)")
            }
            #expect(try await fixture.deliver() == [.start, .start])
            let back = #"{"type":"Versioned","state":{"status":"ready","eta":5}}"#
            #expect(try await fixture.put("/v1/activities/a", back)["/phones/start"] == 2)
        }
    }

    @Test func `attributes are told apart from the state`() async throws {
        try await withServer { fixture in
            let reply = try await fixture.put(
                "/v1/activities/a", #"{"type":"Checked","state":{"status":"ready"},"attributes":{"shop":5}}"#)
            #expect(reply["/errors/0/pointer"] == "/attributes/shop")
            #expect(reply["/errors/0/given"] == "5")
        }
    }

    @Test func `a patch, an end and a line of a batch are checked too`() async throws {
        try await withServer { fixture in
            #expect(try await fixture.put("/v1/activities/a", Self.good).status == 200)
            let patch = try await fixture.call(.patch, "/v1/activities/a", #"{"state":{"eta":"soon"}}"#)
            #expect(patch.status == 422)
            #expect(patch["/errors/0/pointer"] == "/state/eta")
            let end = try await fixture.call(.post, "/v1/activities/a/end", #"{"state":{"status":null}}"#)
            #expect(end.code == "contract_violation")
            let lines = try await fixture.stream(
                "/v1/batch",
                [
                    #"{"method":"PUT","path":"/v1/activities/b","body":\#(Self.bad)}"#,
                    #"{"method":"PUT","path":"/v1/activities/b","body":\#(Self.good)}"#,
                ])
            #expect(lines.map { $0["/status"] } == [422, 200])
            #expect(lines.first?["/body/errors/0/pointer"] == "/state/status")
            #expect(try await fixture.put("/v1/activities/a", Self.good)["/changed"] == false)
        }
    }

    @Test func `a date leaves as the Swift type decodes it`() async throws {
        try await withServer { fixture in
            _ = try await fixture.put("/v1/activities/a", Self.good)
            #expect(try await fixture.call(.get, "/v1/activities/a")["/state/at"] == 794_059_200)
            let later = #"{"type":"Checked","state":{"status":"ready","at":1772366400}}"#
            #expect(try await fixture.put("/v1/activities/a", later)["/changed"] == false)
        }
    }

    @Test func `F8: a push that is too large says how large each field is`() async throws {
        try await withServer { fixture in
            let long = String(repeating: "x", count: 5_000)
            let reply = try await fixture.put(
                "/v1/activities/a", #"{"type":"Order","state":{"a/b":"\#(long)","c":1},"attributes":{"shop":"Roma"}}"#)
            #expect(reply.status == 422)
            #expect(reply.code == "payload_too_large")
            #expect(reply["/sizes/0"] == ["pointer": "/state/a~1b", "bytes": 5_008])
            #expect(reply["/sizes"]?.array?.count == 4)
        }
    }

    @Test(arguments: [
        #"{"type":"Checked","state":"# + String(repeating: #"{"a":"#, count: 200) + "1"
            + String(repeating: "}", count: 201),
        #"{"type":"Checked","state":{"status":"\ud800"}}"#,
        #"{"type":"Checked","state":{"status":"ready","status":"ready"}}"#,
        #"{"type":"Checked","state":{"status":"ready","eta":1e999999999999999999}}"#,
    ])
    func `hostile JSON is refused before the contract sees it`(body: String) async throws {
        try await withServer { fixture in
            let reply = try await fixture.put("/v1/activities/a", body)
            #expect(reply.status == 400)
        }
    }

    @Test(arguments: [
        #"{"status":"ready","eta":1e400}"#, #"{"status":"ready","eta":99999999999999999999999999}"#,
        #"{"status":"rea\u0000dy"}"#, #"{"status":"ready","at":1e300}"#, #"{"status":"ready","at":-0}"#,
    ])
    func `and by the contract where it is JSON`(state: String) async throws {
        try await withServer { fixture in
            let reply = try await fixture.put("/v1/activities/a", #"{"type":"Checked","state":\#(state)}"#)
            #expect(reply.code == "contract_violation")
        }
    }
}
