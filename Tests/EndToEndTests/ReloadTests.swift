import AsyncHTTPClient
import Foundation
import JSONText
import NIOCore
import NIOHTTP1
import Synchronization
import Testing

@testable import islet

/// SIGHUP: a server that runs as its own process goes on with a changed configuration.
@Suite(.serialized) struct ReloadTests {
    /// A second type, as lines that end a configuration.
    private static let match = """
              - type: Match
                attributesType: MatchAttributes
                policy: {start: never}

        """

    @Test(.timeLimit(.minutes(10)))
    func `a changed configuration is taken on SIGHUP: calls, streams and pushes go on, on the connections there are`()
        async throws
    {
        try await withStage { stage in
            let connections = Atomic(0)
            var options = HTTPClient.Configuration()
            options.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 2
            options.http1_1ConnectionDebugInitializer = { channel in
                _ = connections.wrappingAdd(1, ordering: .relaxed)
                return channel.eventLoop.makeSucceededVoidFuture()
            }
            let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: options)
            let result: Result<Void, any Error>
            do {
                try await stage.addPhone("ann")
                try await put(stage, client, "order-1", status: "preparing")
                try await stage.shows("preparing", on: "ann")
                let events = try await get(stage, client, "/v1/events")
                #expect(events.status == .ok)

                try stage.configure { $0.replacing("listen: ", with: "# listen: ") + Self.match }
                kill(stage.serverProcess, SIGHUP)
                try await until("the new type is there", stage, client) { $0.contains("\"Match\"") }
                try await put(stage, client, "order-1", status: "delivering")
                try await stage.shows("delivering", on: "ann")
                try await put(stage, client, "order-2", status: "preparing")
                // The stream of before has the event of after. It and the calls had one connection each.
                var text = ""
                for try await part in events.body {
                    text += String(buffer: part)
                    if text.contains("order-2") { break }
                }
                #expect(connections.load(ordering: .relaxed) == 2)
                let anew = try await stage.readEvents(after: 0) { $0.contains("order-2") }
                #expect(anew.contains("order-2"))
                try await stage.logs("some changed keys of the configuration need a restart", "listen")
                result = .success(())
            } catch { result = .failure(error) }
            try await client.shutdown()
            try result.get()
            #expect(stage.isServerRunning)
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func `a configuration that is wrong is not taken: the old one goes on, and the log says where the fault is`()
        async throws
    {
        try await withStage { stage in
            let client = HTTPClient.shared
            try await stage.addPhone("ann")
            try stage.configure { $0 + Self.match + "keepp: 3\n" }
            kill(stage.serverProcess, SIGHUP)
            try await stage.logs("the configuration was not reloaded; the old one goes on", "keepp")
            #expect(!(try await types(stage, client)).contains("\"Match\""))
            try await put(stage, client, "order-1", status: "preparing")
            try await stage.shows("preparing", on: "ann")

            // The key file is read with the configuration, so one that is broken is found before anything changes.
            try stage.configure { $0.replacing("keepp: 3\n", with: "") }
            let key = try #require(
                FileManager.default.contentsOfDirectory(atPath: stage.directory.path).first { $0.hasSuffix(".p8") })
            let file = stage.directory.appendingPathComponent(key)
            let whole = try Data(contentsOf: file)
            try Data("no key".utf8).write(to: file)
            kill(stage.serverProcess, SIGHUP)
            try await stage.logs("the configuration was not reloaded; the old one goes on", ".p8 file")
            #expect(!(try await types(stage, client)).contains("\"Match\""))
            try whole.write(to: file)
            kill(stage.serverProcess, SIGHUP)
            try await until("the new type is there", stage, client) { $0.contains("\"Match\"") }
            try await put(stage, client, "order-1", status: "delivering")
            try await stage.shows("delivering", on: "ann")
            #expect(stage.isServerRunning)
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func `delivery goes by the changed configuration: it stops at an endpoint that nothing answers, and goes on`()
        async throws
    {
        try await withStage { stage in
            let client = HTTPClient.shared
            try await stage.addPhone("ann")
            try await put(stage, client, "order-1", status: "preparing")
            try await stage.shows("preparing", on: "ann")
            let text = try stage.configure { $0 }
            try stage.configure { $0.replacing(/endpoint: https:[^\n]*/, with: "endpoint: https://127.0.0.1:1") }
            kill(stage.serverProcess, SIGHUP)
            try await stage.logs("the configuration was reloaded")
            try await put(stage, client, "order-1", status: "delivering")
            try await Waiting.until("a push has failed", within: .seconds(60)) {
                try await stage.islet.text("/metrics").contains(/kind="update",verdict="(?!accepted)/)
            }
            try await stage.shows("preparing", on: "ann")
            try stage.configure { _ in text }
            kill(stage.serverProcess, SIGHUP)
            try await stage.shows("delivering", on: "ann")
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func `a live page of the console survives a reload, and holds up no stop`() async throws {
        try await withStage { stage in
            var signIn = HTTPClientRequest(url: stage.isletAddress + "/console/session")
            signIn.method = .POST
            signIn.headers.add(name: "origin", value: stage.isletAddress)
            signIn.headers.add(name: "content-type", value: "application/json")
            signIn.body = .bytes(ByteBuffer(string: #"{"key":"\#(stage.key)"}"#))
            let session = try await HTTPClient.shared.execute(signIn, timeout: .seconds(60))
            var page = HTTPClientRequest(url: stage.isletAddress + "/console/live")
            let cookie = try #require(session.headers.first(name: "set-cookie"))
            page.headers.add(name: "cookie", value: String(cookie.prefix { $0 != ";" }))
            let live = try await HTTPClient.shared.execute(page, timeout: .seconds(60))
            #expect(live.status == .ok)
            kill(stage.serverProcess, SIGHUP)
            try await stage.logs("the configuration was reloaded")
            var overviews = 0
            let began = ContinuousClock.now
            for try await part in live.body {
                overviews += String(buffer: part).contains("event: overview") ? 1 : 0
                // Once is enough to see that it goes on. The rest of the page ends with the server.
                if overviews == 2 { kill(stage.serverProcess, SIGTERM) }
            }
            #expect(overviews >= 2)
            try await Waiting.until("the server has stopped", within: .seconds(60)) { !stage.isServerRunning }
            // What is still open is cut off after 25 s.
            #expect(ContinuousClock.now - began < .seconds(20))
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func `each of several nodes takes it, also the one that owns the database only later`() async throws {
        try await withNodes(2) { nodes, stage in
            try await stage.addPhone("alice")
            #expect(try await nodes.owner() == 0)
            try stage.configure { $0 + Self.match }
            nodes.signal(1, SIGHUP)
            nodes.signal(0, SIGHUP)
            try await until("the new type is there", stage, .shared) { $0.contains("\"Match\"") }
            try await stage.logs(of: "node-1", "the configuration was reloaded")
            try await nodes.set("preparing", through: 1)
            try await nodes.shows("preparing")
            try await nodes.kill(0)
            try await nodes.set("delivering", through: 1)
            let types = try await nodes.caller(1).call(.GET, "/v1/types")
            #expect(String(decoding: types.bytes, as: UTF8.self).contains("\"Match\""))
        }
    }

    // MARK: - Calls

    private func get(_ stage: DemoStage, _ client: HTTPClient, _ path: String) async throws -> HTTPClientResponse {
        var request = HTTPClientRequest(url: stage.isletAddress + path)
        request.headers.add(name: "authorization", value: "Bearer \(stage.key)")
        return try await client.execute(request, timeout: .seconds(60))
    }

    private func types(_ stage: DemoStage, _ client: HTTPClient) async throws -> String {
        String(buffer: try await get(stage, client, "/v1/types").body.collect(upTo: 1 << 20))
    }

    private func until(
        _ what: String, _ stage: DemoStage, _ client: HTTPClient, _ holds: @escaping @Sendable (String) -> Bool
    ) async throws {
        try await Waiting.until(what, within: .seconds(60)) { holds(try await types(stage, client)) }
    }

    private func put(_ stage: DemoStage, _ client: HTTPClient, _ id: String, status: String) async throws {
        var request = HTTPClientRequest(url: stage.isletAddress + "/v1/activities/\(id)")
        request.method = .PUT
        request.headers.add(name: "authorization", value: "Bearer \(stage.key)")
        request.headers.add(name: "content-type", value: "application/json")
        let body: JSONObject = [
            "type": "OrderTracking",
            "attributes": ["orderId": .string(id), "restaurant": "Da Mario"],
            "state": ["status": .string(status), "progress": 0.5],
            "audience": ["users": ["ann"]],
        ]
        request.body = .bytes(ByteBuffer(bytes: JSONValue.object(body).bytes))
        let response = try await client.execute(request, timeout: .seconds(60))
        #expect(response.status == .ok || response.status == .created)
        _ = try await response.body.collect(upTo: 1 << 20)
    }
}

extension DemoStage {
    /// Rewrites the server's configuration, and returns it.
    @discardableResult
    fileprivate func configure(_ change: (String) -> String) throws -> String {
        let file = directory.appendingPathComponent("islet.yaml")
        let text = change(try String(contentsOf: file, encoding: .utf8))
        try Data(text.utf8).write(to: file)
        return text
    }

    /// Waits until the server has logged a line with these words.
    fileprivate func logs(of process: String = "server", _ words: String...) async throws {
        let log = directory.appendingPathComponent("\(process).log")
        try await Waiting.until("\(process) says so: \(words)", within: .seconds(60)) {
            try String(contentsOf: log, encoding: .utf8).split(separator: "\n").contains { line in
                words.allSatisfy { line.contains($0) }
            }
        }
    }
}
