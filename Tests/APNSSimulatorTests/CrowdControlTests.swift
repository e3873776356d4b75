import APNSModel
import APNSSimulator
import JSONText
import NIOCore
import NIOHPACK
import NIOHTTP2
import Testing

/// A crowd over the control API, with pushes over the wire.
@Suite(.timeLimit(.minutes(10)))
struct CrowdControlTests {
    static let crowd: JSONValue = [
        "name": "c1", "count": 1_000_000, "bundleID": "com.acme.pizza", "environment": "sandbox",
        "attributesType": "OrderAttributes",
    ]

    /// Sends updates to members over one connection, one after another.
    struct Sender: Sendable {
        let client: FrameClient
        let fields: [(String, String)]

        func push(_ stream: Int, _ member: Int, later: Int64 = 0, _ step: String = "delivering") async throws {
            let update = Fixture.updateBody(at: Fixture.start.seconds + later, Fixture.state(step))
            let body = JSONValue.object(update).bytes
            let path = "/3/device/" + CrowdTokens(crowd: "c1", kind: .update).hex(of: member)
            try await client.push(stream, path: path, fields, body: body)
            for await frame in client.frames {
                guard case .headers(let headers) = frame.payload else { continue }
                #expect(headers.headers.first(name: ":status") == "200")
                return
            }
        }
    }

    private func withCrowd(
        _ body: @escaping @Sendable (ControlTests.Control, Sender) async throws -> Void
    ) async throws {
        let team = Team()
        let fields = [
            ("authorization", try team.authorization()), ("apns-topic", Fixture.topic),
            ("apns-push-type", "liveactivity"), ("apns-priority", "5"),
        ]
        try await ControlTests.withControl({ $0.keys = [team.key()] }) { control in
            _ = try await control.json("POST", "crowd", Self.crowd)
            let addresses = try await control.simulator.started
            let port = try #require(addresses.ports[.sandbox])
            let client = try await FrameClient.connect(port: port, caPEM: addresses.caPEM)
            try await body(control, Sender(client: client, fields: fields))
            try await client.channel.close()
        }
    }

    @Test
    func `a million members, two pushes, and who holds what`() async throws {
        try await withCrowd { control, sender in
            try await sender.push(1, 0)
            try await sender.push(3, 999_999)
            try await sender.push(5, 999_999)
            let totals = try await control.json("GET", "crowd/c1")
            for (key, value) in [
                ("members", 1_000_000), ("accepted", 3), ("reached", 2), ("updates", 2), ("staleIgnored", 1),
                ("running", 2), ("refused", 0), ("secondCards", 0), ("acceptedByPriority/5", 3),
                ("holding/0/members", 2),
            ] as [(String, JSONValue)] {
                #expect(totals[try JSONPointer("/\(key)")] == value, "\(key)")
            }
            let state = "%7B%22eta%22%3A5%2C%22step%22%3A%22delivering%22%7D"
            let held = try await control.json("GET", "crowd/c1?state=\(state)")
            #expect(held[try JSONPointer("/holding")] == totals[try JSONPointer("/holding")])
            let none = try await control.json("GET", "crowd/c1?state=%7B%7D")
            #expect(none[try JSONPointer("/holding/0/members")] == 0)
            let member = try await control.json("GET", "crowd/c1/members/999999")
            #expect(member[try JSONPointer("/accepted")] == 2)
            #expect(member[try JSONPointer("/timestamp")] == 1_800_000_000)
            try await sender.push(7, 999_999, later: 1, "delivered")
            let moved = try await control.json("GET", "crowd/c1?state=\(state)")
            #expect(moved[try JSONPointer("/holding/0/members")] == 1)
            _ = try await control.json("DELETE", "crowd/c1")
            #expect(try await control.call("GET", "crowd/c1").status == "404")
        }
    }

    @Test
    func `a wait is answered by the push that makes it true`() async throws {
        try await withCrowd { control, sender in
            async let waited = control.json(
                "POST", "crowd/c1/wait",
                ["pushes": 2, "state": ["step": "delivering", "eta": 5], "members": 2, "seconds": 30])
            try await sender.push(1, 0)
            try await sender.push(3, 1)
            let totals = try await waited
            #expect(totals[try JSONPointer("/accepted")] == 2)
            let late = try await control.call("POST", "crowd/c1/wait", ["pushes": 3, "seconds": 0])
            #expect(late.status == "408")
            #expect(late.json?[try JSONPointer("/accepted")] == 2)
        }
    }

    @Test
    func `the apps of members start cards on a channel, and what clients send is counted in bytes`() async throws {
        try await withCrowd { control, sender in
            let totals = try await control.json(
                "POST", "crowd/c1/cards", ["channel": "abcd", "first": 5, "count": 3])
            #expect(totals[try JSONPointer("/running")] == 3)
            #expect(totals[try JSONPointer("/broadcasts")] == 0)
            try await sender.push(1, 0)
            // The preface and the settings of HTTP/2, headers with a provider token, and a body of about 100 bytes.
            let view = try await control.json("GET", "simulator")
            let bytes = view[try JSONPointer("/receivedBytes")]?.int ?? 0
            #expect((200..<2000).contains(bytes), "\(bytes)")
        }
    }

    @Test
    func `who waits for a crowd that is removed is told`() async throws {
        let simulator = try APNSSimulator()
        try simulator.addCrowd(
            CrowdSpecification(name: "c1", count: 10, bundleID: Fixture.bundleID, attributesType: "A"))
        let waiting = Task { try await simulator.waitForCrowd("c1", pushes: 1) }
        try simulator.removeCrowd("c1")
        await #expect(throws: SimulatorError.self) { try await waiting.value }
    }

    static let mistakes: [ControlTests.Mistake] = [
        .init("POST", "crowd", crowd, "409", "crowd-exists"),
        .init("POST", "crowd", ["name": "c2"], "400", "bad-body"),
        .init(
            "POST", "crowd", ["name": "c2", "count": 1, "bundleID": "a.b", "attributesType": "A"], "409",
            "too-many-phones"),
        .init("POST", "crowd/c1/wait", [:], "422", "bad-value"),
        .init("POST", "crowd/c1/wait", ["pushes": 1, "members": 1], "422", "bad-value"),
        .init("POST", "crowd/c1/wait", ["pushes": 1, "seconds": 9999], "422", "bad-value"),
        .init("POST", "crowd/c2/wait", ["pushes": 1], "404", "unknown-crowd"),
        .init("POST", "crowd/c1/cards", ["channel": "no!"], "422", "bad-value"),
        .init("POST", "crowd/c1/cards", ["channel": "abcd", "first": 1_000_000], "422", "bad-value"),
        .init("POST", "crowd/c1/cards", ["channel": "abcd", "first": 999_999, "count": 2], "422", "bad-value"),
        .init("POST", "crowd/c1/cards", ["channel": "abcd", "first": -1], "422", "bad-value"),
        .init("POST", "crowd/c2/cards", ["channel": "abcd"], "404", "unknown-crowd"),
        .init("GET", "crowd/c2", nil, "404", "unknown-crowd"),
        .init("GET", "crowd/c1?state=5", nil, "422", "bad-value"),
        .init("GET", "crowd/c1/members/1000000", nil, "404", "unknown-phone"),
        .init("GET", "crowd/c1/members/x", nil, "404", "unknown-phone"),
        .init("DELETE", "crowd/c2", nil, "404", "unknown-crowd"),
    ]

    @Test
    func `mistakes about crowds have a status and a code`() async throws {
        try await withCrowd { control, _ in
            for mistake in Self.mistakes {
                let answer = try await control.call(mistake.method, mistake.path, mistake.body)
                #expect(answer.status == mistake.status, "\(mistake.testDescription)")
                #expect(answer.json?[try JSONPointer("/code")] == mistake.code, "\(mistake.testDescription)")
            }
        }
    }
}
