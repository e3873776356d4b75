import ActivityKitStandIn
import Foundation
import JSONText
import LiveActivityClient
import Testing

/// The phone's credential, from the server's answer to the Keychain and back.
@Suite(.timeLimit(.minutes(1)))
struct CredentialEdgeTests {
    @Test func `the phone's own credential is used once it was given, kept apart, and survives the process`()
        async throws
    {
        let app = App()
        app.server.give("islet_device_1")
        try await app.launch { _ in
            try await app.server.wait { $0.contains { $0.path.hasSuffix("/instances") } }
        }
        let said = app.server.said
        #expect(said.map(\.credential) == ["secret"] + Array(repeating: "islet_device_1", count: said.count - 1))
        #expect(said.count > 1)
        try await app.launch { _ in
            try await app.server.wait { $0.count > said.count }
        }
        #expect(app.server.said.dropFirst(said.count).allSatisfy { $0.credential == "islet_device_1" })
        #expect(app.identity.text.contains("islet_device_1") && !app.memory.text.contains("islet_device_1"))
        #expect(!app.identity.text.contains("secret"), "the person's is not needed any more")
    }

    @Test func `one that is refused is dropped, and the person's is asked for again`() async throws {
        let app = App()
        app.server.give("islet_device_1", "islet_device_2")
        try await app.launch { client in
            try await app.server.wait { $0.contains { $0.credential == "islet_device_1" } }
            app.server.refuse("islet_device_1")
            client.setForeground(true)
            try await app.server.wait { $0.last?.credential == "islet_device_2" }
        }
        let ways = app.server.said.map(\.credential).reduce(into: [String]()) { if $0.last != $1 { $0.append($1) } }
        #expect(ways == ["secret", "islet_device_1", "secret", "islet_device_2"])
    }

    @Test func `one of somebody else is not kept: the closure is asked again, which may have the right one by then`()
        async throws
    {
        let app = App()
        app.server.forbid("bob's")
        let asked = Log<String?>()
        try await app.launch(
            credentials: { refused in
                asked.add(refused)
                return refused == nil ? "bob's" : "ann's"
            }
        ) { _ in try await app.server.wait { $0.contains { $0.path.hasSuffix("/instances") } } }
        #expect(asked.all == [nil, "bob's"])
        #expect(app.server.said.allSatisfy { $0.credential == "ann's" })
    }

    @Test func `signing out says so with it, and erases it`() async throws {
        let app = App()
        app.server.give("islet_device_1")
        try await app.launch { client in
            try await app.server.wait { $0.contains { $0.path.hasSuffix("/instances") } }
            let events = client.events
            client.signOut()
            for await event in events where event.code == .signedOut { return }
        }
        #expect(app.server.said.last?.method == "DELETE" && app.server.said.last?.credential == "islet_device_1")
        #expect(!app.identity.text.contains("islet_device_1"))
    }

    @Test func `what was asked for one person and comes late is not kept for the next`() async throws {
        let app = App()
        let (asked, question) = AsyncStream.makeStream(of: Void.self)
        let (answers, answer) = AsyncStream.makeStream(of: String.self)
        let first = Once()
        try await app.launch(
            credentials: { _ in
                guard first.isFirst else { return "bob's" }
                question.yield()
                for await credential in answers { return credential }
                throw CancellationError()
            }
        ) { client in
            for await _ in asked { break }
            client.signIn(user: "bob")
            answer.yield("ann's")
            try await app.server.wait { $0.contains { $0.body["user"]?.string == "bob" } }
        }
        let bobs = app.server.said.drop { $0.body["user"]?.string != "bob" }
        #expect(bobs.allSatisfy { $0.credential == "bob's" })
    }

    @Test func `the next person speaks with nothing of the one before`() async throws {
        for given in [[], ["islet_device_1", "islet_device_2"]] {
            let app = App()
            for credential in given.prefix(1) { app.server.give(credential, given[1]) }
            try await app.launch(credentials: { _ in "ann's" }) { _ in
                try await app.server.wait { $0.contains { $0.path.hasSuffix("/instances") } }
            }
            let said = app.server.said.count
            try await app.launch(user: "bob", credentials: { _ in "bob's" }) { _ in
                try await app.server.wait { $0.dropFirst(said).contains { $0.body["user"]?.string == "bob" } }
            }
            // If the server gave nothing, Ann is signed out first, with her own token.
            let bobs = app.server.said.dropFirst(said).drop { $0.method == "DELETE" }
            #expect(bobs.allSatisfy { $0.credential == "bob's" || $0.credential == "islet_device_2" })
            #expect(bobs.first?.body["user"]?.string == "bob" && bobs.first?.credential == "bob's")
        }
    }
}

/// Returns `true` once.
private final class Once: @unchecked Sendable {
    private let lock = NSLock()
    private var hasBeen = false

    var isFirst: Bool {
        lock.lock()
        defer {
            hasBeen = true
            lock.unlock()
        }
        return !hasBeen
    }
}
