import Foundation
import LiveActivityClient
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A phone that changes hands: the app's client against the server's own rules of access.
@Suite(.timeLimit(.minutes(1)))
struct HandOverTests {
    private struct Refused: Error {
        let event: ClientEvent
    }

    /// Signs a person in and waits until the server knows them. A launch may confirm the previous person first.
    private static func known(_ user: String, to server: DoorServer, _ client: IsletClient) async throws {
        let events = client.events
        client.signIn(user: user)
        for await event in events {
            if event.code == .deviceConfirmed, server.people.values.contains(user) { return }
            if [.credentialsRefused, .callRefused].contains(event.code) { throw Refused(event: event) }
        }
    }

    private static func app(_ server: DoorServer) -> App {
        var app = App()
        app.transport = server
        return app
    }

    @Test func `the next person takes the phone over by what it was given, and by that alone`() async throws {
        let server = DoorServer()
        let app = Self.app(server)
        let session = Session("ann")
        try await app.launch(user: nil, credentials: { _ in session.user }) { client in
            try await Self.known("ann", to: server, client)
            session.user = "bob"
            try await Self.known("bob", to: server, client)
        }
        #expect(Array(server.people.values) == ["bob"])
        let taking = try #require(server.handled.first { $0.request.proof != nil })
        #expect(taking.request.credential == "bob" && taking.request.method == "PUT")
        #expect(taking.request.path.split(separator: "/").count == 3, "with the registration")
        #expect(server.handled.filter { $0.request.proof != nil }.count == 1)
        #expect(app.identity.text.contains("islet_device_") && !app.identity.text.contains("ann"))
        #expect(!server.handled.contains { $0.status == 403 }, "\(server.handled.map(\.request.path))")

        // Without the proof the server does not hand the phone over, so the proof above is what decides.
        let bare = ClientRequest(
            method: "PUT", path: taking.request.path, body: Data(#"{"user":"cleo"}"#.utf8), credential: "cleo")
        #expect(try await server.send(bare).status == 403)
    }

    @Test func `also where the app was killed between the two`() async throws {
        let server = DoorServer()
        let app = Self.app(server)
        try await app.launch(user: nil, credentials: { _ in "ann" }) { client in
            try await Self.known("ann", to: server, client)
        }
        try await app.launch(user: nil, credentials: { _ in "bob" }) { client in
            try await Self.known("bob", to: server, client)
        }
        #expect(Array(server.people.values) == ["bob"])
    }

    @Test func `one whose registration was never answered takes leave, and the next one finds the phone free`()
        async throws
    {
        let server = DoorServer()
        let app = Self.app(server)
        server.loseAnswers(1)
        let session = Session("ann")
        try await app.launch(user: nil, credentials: { _ in session.user }) { client in
            let events = client.events
            client.signIn(user: "ann")
            for await event in events where event.code == .serverUnreachable { break }
            session.user = "bob"
            try await Self.known("bob", to: server, client)
        }
        #expect(Array(server.people.values) == ["bob"])
        #expect(server.handled.prefix(3).map(\.request.method) == ["PUT", "DELETE", "PUT"])
        #expect(server.handled.prefix(3).map(\.request.credential) == ["ann", "ann", "bob"])
    }

    @Test func `where the server has taken back what it gave, the phone is another device of the next person's`()
        async throws
    {
        let server = DoorServer()
        let app = Self.app(server)
        try await app.launch(user: nil, credentials: { _ in "ann" }) { client in
            try await Self.known("ann", to: server, client)
        }
        let first = try #require(server.people.keys.first)
        server.revoke(first)
        for _ in 0..<2 {
            try await app.launch(user: nil, credentials: { _ in "bob" }) { client in
                client.signIn(user: "bob")
                await client.handleBackgroundPush()
            }
        }
        let device = try #require(server.people.first { $0.value == "bob" }?.key)
        #expect(device != first && server.people.count == 2, "and the same one at the next launch: \(server.people)")
    }

    @Test func `also where the app says who is there after the phone has learned of it`() async throws {
        let server = DoorServer()
        let app = Self.app(server)
        try await app.launch(user: nil, credentials: { _ in "ann" }) { client in
            try await Self.known("ann", to: server, client)
        }
        server.revoke(try #require(server.people.keys.first))
        try await app.launch(user: nil, credentials: { _ in "bob" }) { client in
            try await app.heard.wait { $0.contains { $0.code == .credentialsRefused } }
            let confirmed = app.heard.all.count { $0.code == .deviceConfirmed }
            client.signIn(user: "bob")
            try await app.heard.wait { $0.count { $0.code == .deviceConfirmed } > confirmed }
        }
        #expect(server.people.values.contains("bob"), "\(server.people)")
    }

    @Test func `a call has the header where there is something to show, and not else`() throws {
        let server = try #require(URL(string: "https://push.example.com/"))
        for proof in [nil, "islet_device_1"] {
            let request = ClientRequest(
                method: "PUT", path: "/v1/devices/a%2Fb", body: Data("{}".utf8), credential: "bob", proof: proof)
            let call = try URLSessionTransport.call(request, to: server)
            #expect(call.url?.absoluteString == "https://push.example.com/v1/devices/a%2Fb")
            #expect(call.httpMethod == "PUT" && call.httpBody == request.body)
            #expect(call.value(forHTTPHeaderField: "Authorization") == "Bearer bob")
            #expect(call.value(forHTTPHeaderField: "Islet-Device-Credential") == proof)
            #expect(call.value(forHTTPHeaderField: "Content-Type") == "application/json")
            var text = "\(request)"
            dump(request, to: &text)
            #expect(!text.contains("islet_device_1") && !text.contains("bob"))
        }
    }
}

/// The person whose token the app has.
private final class Session: @unchecked Sendable {
    private let lock = NSLock()
    private var person: String

    init(_ person: String) { self.person = person }

    var user: String {
        get {
            lock.lock()
            defer { lock.unlock() }
            return person
        }
        set {
            lock.lock()
            person = newValue
            lock.unlock()
        }
    }
}
