import ActivityKitStandIn
import Foundation
import JSONText
import LiveActivityRegistration
import Testing

@testable import LiveActivityClient

/// An activity that the person wants to follow now, from the app's call to the card.
@Suite(.timeLimit(.minutes(1)))
struct JoinEdgeTests {
    private static let channel = "dHN0LXNyY2gtY2hubA=="

    /// Returns an app whose clock a test moves, so that no start is too late for the server's answer.
    private static func app(_ clock: HandClock = HandClock()) -> App { App().with { $0.clock = clock } }

    /// Waits until the server has confirmed the phone and its cards.
    private static func settled(_ app: App) async throws {
        try await app.server.wait { $0.contains { $0.path.hasSuffix("/instances") } }
    }

    /// Returns the error of a call that joins.
    private static func refusal(_ client: IsletClient, _ activity: String = "r1") async -> ActivityError? {
        let refusal = await #expect(throws: ActivityError.self) {
            _ = try await client.join(activity, as: RideAttributes.self)
        }
        return refusal
    }

    /// Expects that no card was made and that the server was told of none.
    private static func expectNothing(_ app: App) {
        #expect(app.phone.isEmpty(of: RideAttributes.self))
        #expect(app.server.said.allSatisfy { $0.body["state"]?.string != "requesting" })
    }

    // MARK: - Joining

    @Test func `who joins gets the card as the server has it, on the channel that the announcement is answered with`()
        async throws
    {
        let app = Self.app()
        let more: JSONObject = ["relevance": 0.4, "staleAt": "2050-01-01T00:00:00Z", "retryAfter": 2]
        app.server.offer(wish("r1", step: 4, revision: 7, starts: true, more))
        // The app is not known to be on the screen, so the client starts nothing without being asked.
        app.server.want(wish("r1", step: 4, revision: 7, starts: true, ["channel": .string(Self.channel)]))
        try await app.launch { client in
            try await Self.settled(app)
            #expect(app.phone.isEmpty(of: RideAttributes.self))
            let card = try #require(await client.join("r1", as: RideAttributes.self))
            #expect(card.attributes.rideID == "r1" && card.content.state.step == 4)
            #expect(card.content.relevanceScore == 0.4 && card.style == .standard)
            #expect(card.content.staleDate == Date(timeIntervalSince1970: 2_524_608_000))
            #expect(card.pushType == .channel(Self.channel))
            let said = app.server.said
            let asked = try #require(said.firstIndex { $0.method == "GET" })
            let told = try #require(said.firstIndex { $0.body["state"]?.string == "requesting" })
            #expect(said[asked].path == "/v1/activities/r1/join?environment=sandbox" && asked < told)
            #expect(said[asked].credential == "secret" && said[told].body["activity"] == "r1")
            try await app.server.wait { $0.contains { $0.body["state"]?.string == "active" } }
        }
    }

    @Test func `the offer's own channel is not used, because the announcement is answered with a newer one or none`()
        async throws
    {
        let app = Self.app()
        app.server.offer(wish("r1", step: 4, revision: 7, starts: true, ["channel": .string(Self.channel)]))
        try await app.launch { client in
            let card = try #require(await client.join("r1", as: RideAttributes.self, style: .transient))
            #expect(card.pushType == .token && card.style == .transient)
        }
    }

    @Test func `who joins what is shown gets that card, without a call`() async throws {
        let app = Self.app()
        try await app.launch { client in
            let shown = app.phone.pushStart(RideAttributes(rideID: "r1"), .init(step: 1))
            try await app.server.wait(toHearOf: shown.id)
            app.server.setAway(true)
            let card = try await client.join("r1", as: RideAttributes.self)
            #expect(card?.id == shown.id)
        }
    }

    @Test func `a card that the server knows the activity of is found by its id, and one that is over is none`()
        async throws
    {
        let app = Self.app().with { $0.track = { $0.track(PlainAttributes.self, as: "plain") } }
        try await app.launch { client in
            let shown = app.phone.pushStart(PlainAttributes(name: "tank"), .init(level: 1))
            try await app.server.wait(toHearOf: shown.id)
            for localID in [shown.id, "card-99"] {
                app.server.offer([
                    "activity": "p1", "type": "plain", "state": ["level": 3], "revision": 1, "phase": "active",
                    "localID": .string(localID),
                ])
                if localID == shown.id {
                    let card = try await client.join("p1", as: PlainAttributes.self)
                    #expect(card?.id == shown.id)
                } else {
                    let refusal = await #expect(throws: ActivityError.self) {
                        _ = try await client.join("p1", as: PlainAttributes.self)
                    }
                    #expect(refusal?.description == ActivityError.notOffered("p1").description)
                }
            }
            #expect(Activity<PlainAttributes>.activities.count == 1)
        }
    }

    @Test func `what iOS refuses is refused, as for a start`() async throws {
        let app = Self.app()
        app.server.offer(wish("r1", step: 4, revision: 7, starts: true))
        app.phone.refuseRequests(with: .globalMaximumExceeded)
        try await app.launch { client in
            let refusal = await Self.refusal(client)
            guard case .refused(ActivityAuthorizationError.globalMaximumExceeded) = refusal else {
                throw Log<String>.Missing(description: "it said \(String(describing: refusal))")
            }
        }
    }

    // MARK: - What is not started

    @Test(
        arguments: [
            (404, "unknown_activity", .unknownActivity("r1")), (404, "not_found", .callRefused("not_found")),
            (405, nil, .callRefused("405")), (409, "activity_ended", .activityEnded("r1")),
            (403, "scope_missing", .credentialsRefused), (429, "rate_limited", .rateLimited),
            (503, "overloaded", .serverUnreachable),
        ] as [(Int, String?, ActivityError)])
    func `each refusal of the server's is an error of its own`(
        status: Int, code: String?, error: ActivityError
    ) async throws {
        let app = Self.app()
        var body = JSONObject()
        if let code { body["code"] = .string(code) }
        app.server.offer(body, status: status)
        try await app.launch { client in
            try await Self.settled(app)
            let refusal = await Self.refusal(client)
            #expect(refusal?.description == error.description)
            Self.expectNothing(app)
        }
    }

    @Test func `what is not offered, or is of another type, is not started`() async throws {
        let app = Self.app()
        try await app.launch { client in
            app.server.offer(wish("r1", step: 4, revision: 7))
            var refusal = await Self.refusal(client)
            #expect(refusal?.description == ActivityError.notOffered("r1").description)
            app.server.offer(wish("r1", step: 4, revision: 7, starts: true, ["type": "order"]))
            refusal = await Self.refusal(client)
            #expect(refusal?.description == ActivityError.typeDiffers("order").description)
            Self.expectNothing(app)
        }
    }

    @Test(arguments: [["attributes": ["rideID": 5]], ["state": ["step": "four"]]] as [JSONObject])
    func `what this build cannot decode is not announced either`(more: JSONObject) async throws {
        let app = Self.app()
        app.server.offer(wish("r1", step: 4, revision: 7, starts: true, more))
        try await app.launch { client in
            let refusal = await Self.refusal(client)
            guard case .undecodable(let error) = refusal, error is DecodingError else {
                throw Log<String>.Missing(description: "it said \(String(describing: refusal))")
            }
            Self.expectNothing(app)
        }
    }

    @Test func `a type that nobody tracks and a text that is no id reach no server`() async throws {
        let app = Self.app()
        try await app.launch { client in
            let refusal = await #expect(throws: ActivityError.self) {
                _ = try await client.join("p1", as: PlainAttributes.self)
            }
            #expect(refusal?.description == ActivityError.untrackedType("PlainAttributes").description)
            for text in ["", "r\n1", String(repeating: "r", count: 257)] {
                let refusal = await Self.refusal(client, text)
                #expect(refusal?.description == ActivityError.invalidActivity(text).description)
            }
            try await Self.settled(app)
            #expect(app.server.said.allSatisfy { $0.method != "GET" })
        }
    }

    @Test func `nobody joins where nobody is signed in, and where there is no network`() async throws {
        let app = Self.app()
        app.server.offer(wish("r1", step: 4, revision: 7, starts: true))
        try await app.launch(user: nil) { client in
            var refusal = await Self.refusal(client)
            #expect(refusal?.description == ActivityError.nobodySignedIn.description)
            client.signIn(user: "ann")
            try await Self.settled(app)
            app.server.setAway(true)
            refusal = await Self.refusal(client)
            #expect(refusal?.description == ActivityError.serverUnreachable.description)
            Self.expectNothing(app)
        }
    }

    // MARK: - Credentials

    @Test func `the phone's own credential joins, and the person's where the server refuses it`() async throws {
        let app = Self.app()
        app.server.give("islet_device_1")
        app.server.offer(wish("r1", step: 4, revision: 7, starts: true))
        let asked = Log<String?>()
        try await app.launch { refused in
            asked.add(refused)
            return "secret"
        } _: { client in
            try await Self.settled(app)
            _ = try #require(await client.join("r1", as: RideAttributes.self))
            #expect(app.server.said.last { $0.method == "GET" }?.credential == "islet_device_1")
            await client.settle()
            app.server.refuse("islet_device_1")
            app.server.offer(wish("r2", step: 4, revision: 8))
            let refusal = await Self.refusal(client, "r2")
            #expect(refusal?.description == ActivityError.notOffered("r2").description)
            #expect(app.server.said.last { $0.method == "GET" }?.credential == "secret")
            await client.handleBackgroundPush()
            #expect(app.server.said.last?.credential == "secret")
        }
        #expect(asked.all == [nil, nil], "the client's own calls use what the app was asked for")
    }

    @Test func `the app is asked once more for a credential that the server refuses`() async throws {
        let app = Self.app()
        app.server.offer(wish("r1", step: 4, revision: 7, starts: true))
        let asked = Log<String?>()
        try await app.launch { refused in
            asked.add(refused)
            return refused == nil ? "old" : "new"
        } _: { client in
            try await Self.settled(app)
            app.server.refuse("old")
            _ = try #require(await client.join("r1", as: RideAttributes.self))
            #expect(app.server.said.last { $0.method == "GET" }?.credential == "new")
            #expect(asked.all == [nil, "old"])
            app.server.refuse("new")
            let refusal = await Self.refusal(client, "r2")
            #expect(refusal?.description == ActivityError.credentialsRefused.description)
        }
    }

    // MARK: - Waiting

    @Test func `a server that does not answer is waited for half a minute, and not longer`() async throws {
        let clock = HandClock()
        let app = Self.app(clock)
        let gate = Gate(app.server)
        try await app.with { $0.transport = gate }.launch { client in
            try await Self.settled(app)
            await client.settle()
            clock.advance(5_000)
            let join = Task { try await client.join("r1", as: RideAttributes.self) == nil }
            try await clock.deadlines.wait { $0.contains(35_000) }
            clock.advance(30_000)
            let refusal = await #expect(throws: ActivityError.self) { try await join.value }
            #expect(refusal?.description == ActivityError.serverUnreachable.description)
        }
    }

    @Test func `whoever cancels is told so at once, and the late answer starts nothing`() async throws {
        let app = Self.app()
        app.server.offer(wish("r1", step: 4, revision: 7, starts: true))
        let gate = Gate(app.server)
        try await app.with { $0.transport = gate }.launch { client in
            try await Self.settled(app)
            let join = Task { try await client.join("r1", as: RideAttributes.self) == nil }
            try await gate.asked.wait { !$0.isEmpty }
            join.cancel()
            let refusal = await #expect(throws: ActivityError.self) { try await join.value }
            #expect(refusal?.description == ActivityError.cancelled.description)
            gate.open()
            try await app.server.wait { $0.contains { $0.method == "GET" } }
            await client.settle()
            Self.expectNothing(app)
        }
    }

    @Test func `what one person asked for is not started for the next`() async throws {
        let app = Self.app()
        app.server.offer(wish("r1", step: 4, revision: 7, starts: true))
        let gate = Gate(app.server)
        try await app.with { $0.transport = gate }.launch { client in
            try await Self.settled(app)
            let join = Task { try await client.join("r1", as: RideAttributes.self) == nil }
            try await gate.asked.wait { !$0.isEmpty }
            client.signIn(user: "bob")
            try await app.server.wait { $0.contains { $0.body["user"]?.string == "bob" } }
            gate.open()
            let refusal = await #expect(throws: ActivityError.self) { try await join.value }
            #expect(refusal?.description == ActivityError.cancelled.description)
            // The person may also change between the answer and the start.
            let order = CardOrder(type: "ride", activity: "r1", attributes: ["rideID": "r1"], content: ["step": 1])
            let isDropped = await client.engine.start(order, in: -1) == nil
            #expect(isDropped)
            Self.expectNothing(app)
        }
    }

    // MARK: - With the server's own rules

    @Test func `who is not in the audience joins what is open to all, and the server follows their card`()
        async throws
    {
        let server = DoorServer(isOpen: true)
        server.set("r1", step: 3)
        let app = App().with { $0.transport = server }
        try await app.launch(credentials: { _ in "ann" }) { client in
            let card = try #require(await client.join("r1", as: RideAttributes.self))
            #expect(card.content.state.step == 3 && card.attributes.rideID == "r1")
            await client.settle()
            #expect(server.cards(of: "r1") == [card.id])
            let refusal = await Self.refusal(client, "r2")
            #expect(refusal?.description == ActivityError.unknownActivity("r2").description)
        }
    }

    @Test func `where only the audience may join, it is as if there were nothing`() async throws {
        let server = DoorServer()
        server.set("r1", step: 3)
        let app = App().with { $0.transport = server }
        try await app.launch(credentials: { _ in "ann" }) { client in
            let refusal = await Self.refusal(client)
            #expect(refusal?.description == ActivityError.unknownActivity("r1").description)
            #expect(app.phone.isEmpty(of: RideAttributes.self))
        }
    }
}

/// A server that answers whoever joins when the test says so.
private final class Gate: ClientTransport, Sendable {
    let asked = Log<String>()
    private let server: FakeServer
    private let (opened, input) = AsyncStream.makeStream(of: Void.self)

    init(_ server: FakeServer) { self.server = server }

    func open() { input.yield() }

    func send(_ request: ClientRequest) async throws -> ClientResponse {
        if request.method == "GET" {
            asked.add(request.path)
            for await _ in opened { break }
            try Task.checkCancellation()
        }
        return try await server.send(request)
    }
}
