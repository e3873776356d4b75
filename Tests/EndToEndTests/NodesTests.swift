import AsyncHTTPClient
import Foundation
import JSONText
import LiveActivityAPI
import NIOCore
import NIOHTTP1
import PostgresCluster
import StorageSQL
import Synchronization
import Testing

@testable import islet

/// Several servers as processes on one PostgreSQL database, each with a port of its own.
@Suite(.serialized) struct NodesTests {
    @Test func `an order goes on when the node that owns the database is killed, through every other node`()
        async throws
    {
        try await withNodes(3) { nodes, stage in
            try await stage.addPhone("alice")
            try await Waiting.until("alice is registered", within: .seconds(60)) {
                try await stage.hasReported("alice")
            }
            #expect(try await nodes.owner() == 0)
            #expect(try await nodes.set("preparing", through: 2) == 1)
            try await nodes.shows("preparing")
            // The owner dies. A call that another node has not sent yet waits for the next owner.
            try await nodes.kill(0)
            let start = ContinuousClock.now
            #expect(try await nodes.set("ready", through: 1) == 2)
            let time = ContinuousClock.now - start
            print("first acknowledgement after kill -9 of the owner: \(time)")
            let owner = try #require(try await nodes.owner())
            #expect(owner != 0)
            // The node that phones report to comes back as a door.
            try await nodes.start(0)
            try await nodes.shows("ready")
            try await nodes.kill(owner)
            #expect(try await nodes.set("picked_up", through: 0) == 3)
            try await nodes.shows("picked_up")
            #expect(try await nodes.view(through: 0).revision == 3)
        }
    }

    @Test func `a node that hangs loses the database, says so to its callers, and follows when it wakes`() async throws
    {
        try await withNodes(2) { nodes, stage in
            try await stage.addPhone("alice")
            try await Waiting.until("alice is registered", within: .seconds(60)) {
                try await stage.hasReported("alice")
            }
            #expect(try await nodes.set("preparing", through: 1) == 1)
            try await nodes.shows("preparing")
            nodes.signal(0, SIGSTOP)
            let start = ContinuousClock.now
            // The call reaches the process that hangs, so nobody knows what becomes of it.
            let refusal = await #expect(throws: JSONCaller.Refusal.self) {
                try await nodes.set("ready", through: 1)
            }
            #expect(refusal?.code == "commit_unknown" && refusal?.status == 503)
            #expect(try await nodes.set("ready", through: 1) == 2)
            print("first acknowledgement after SIGSTOP of the owner: \(ContinuousClock.now - start)")
            #expect(try await nodes.owner() == 1)
            nodes.signal(0, SIGCONT)
            // What the old owner still had of that call cannot change anything: it passes calls on now.
            try await Waiting.until("the node follows", within: .seconds(60)) {
                (try? await nodes.set("picked_up", through: 0)) == 3
            }
            try await nodes.shows("picked_up")
            #expect(try await nodes.view(through: 0).revision == 3)
        }
    }

    @Test func `nodes are replaced one after the other, and no call fails`() async throws {
        try await withNodes(2) { nodes, _ in
            #expect(try await nodes.set("preparing", through: 1) == 1)
            try await withThrowingTaskGroup(of: Void.self) { group in
                // Every call is made once.
                group.addTask {
                    for number in 1...200 {
                        try await nodes.caller(1).call(
                            .PUT, "/v1/activities/order-\(number)", Nodes.order("ready", "order-\(number)"))
                    }
                }
                group.addTask {
                    try await nodes.stop(0)
                    try await nodes.start(0)
                }
                try await group.waitForAll()
            }
            #expect(try await nodes.owner() == 1)
            for number in [1, 50, 200] {
                let view = try await nodes.caller(0).call(.GET, "/v1/activities/order-\(number)")
                #expect(view.object?["revision"]?.int == (number == 1 ? 2 : 1))
            }
        }
    }

    @Test func `a stream of events is cut when its owner goes, and goes on where it ended`() async throws {
        try await withNodes(2) { nodes, stage in
            try await stage.addPhone("alice")
            try await Waiting.until("alice is registered", within: .seconds(60)) {
                try await stage.hasReported("alice")
            }
            #expect(try await nodes.set("preparing", through: 1) == 1)
            let told = Told()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await nodes.events(through: 1, after: "0", told) }
                try await Waiting.until("an event is told", within: .seconds(60)) { !told.all.isEmpty }
                try await nodes.kill(0)
                // Ends because the stream does.
                try await group.waitForAll()
                let first = told.all
                try await nodes.caller(1).call(.POST, "/v1/activities/order-1/end", [:])
                try await nodes.start(0)
                group.addTask { await nodes.events(through: 1, after: first.last, told) }
                try await Waiting.until("another event is told", within: .seconds(60)) { told.all.count > first.count }
                group.cancelAll()
                #expect(told.all.count == Set(told.all).count, "no event comes twice")
            }
        }
    }

    @Test func `a stream passes through a door, and one that the owner refuses ends the connection alone`()
        async throws
    {
        try await withNodes(2) { nodes, _ in
            let lines = (1...500).map { number in
                let write: JSONValue = [
                    "method": "PUT", "path": .string("/v1/activities/order-\(number)"),
                    "body": Nodes.order("ready", "order-\(number)"),
                ]
                return String(decoding: write.bytes, as: UTF8.self) + "\n"
            }
            let (status, answers) = try await nodes.stream(lines, through: 1, key: nodes.stage.key)
            #expect(status == 200 && answers.split(separator: "\n").count >= 500, "\(status): \(answers.prefix(300))")
            #expect(try await nodes.caller(0).call(.GET, "/v1/activities/order-500").object?["revision"]?.int == 1)
            // The owner answers before the end, and the caller never ends.
            let refused = try await nodes.stream([lines[0], nil], through: 1, key: "islet_wrong")
            #expect(refused.status == 401)
            #expect(try await nodes.caller(1).call(.GET, "/healthz").object?["status"] == "ok")
            #expect(try await nodes.view(through: 1).revision == 1)
        }
    }

    @Test func `the demo kills the owner and then the primary database, and every lock screen ends right`()
        async throws
    {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("islet-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: directory) }
        let lines = Mutex<[String]>([])
        try await Turns.ofSystems.take {
            try await NodesDemo.run(nodes: 3, in: directory, executable: Executable.islet, fast: true) { line in
                lines.withLock { $0.append(line) }
            }
        }
        let all = lines.withLock { $0 }
        let nodes = try #require(all.last)
        #expect(nodes.contains("owner") && nodes.contains("door"), "\(nodes)")
    }

    @Test func `a node answers other nodes that know its secret, and nobody else`() async throws {
        try await withNodes(2) { nodes, _ in
            let peers = JSONCaller("http://127.0.0.1:\(nodes.peerPorts[0])") { nodes.stage.key }
            let refusal = await #expect(throws: JSONCaller.Refusal.self) {
                try await peers.call(.GET, "/v1/activities/order-1")
            }
            #expect(refusal?.status == 421)
            // A door answers about itself.
            #expect(try await nodes.caller(1).call(.GET, "/healthz").object?["status"] == "ok")
            #expect(try await nodes.caller(1).call(.GET, "/readyz").object?["status"] == "ready")
            let metrics = try await nodes.caller(1).text("/metrics")
            #expect(metrics.contains(#"islet_door_requests_total{result="passed"} 1"#))
            #expect(try await !nodes.caller(0).text("/metrics").contains("islet_door_requests_total"))
        }
    }

    private func withNodes(_ count: Int, _ body: (Nodes, DemoStage) async throws -> Void) async throws {
        let cluster = try PostgresCluster()
        defer { cluster.stop() }
        var surroundings = DemoStage.Surroundings()
        let ports = try (0..<count).map { _ in try DemoStage.freePort() }
        let shared = [
            "ISLET_STORAGE": cluster.url("postgres"), "ISLET_TOKEN_KEYS_ENVIRONMENT": "RING",
            "RING": TokenKeyRing.fresh().text, "ISLET_LOG_LEVEL": "info",
        ]
        surroundings.environment = shared.merging(["ISLET_NODES_LISTEN": "127.0.0.1:\(ports[0])"]) { $1 }
        try await withStage(surroundings) { stage in
            let nodes = try Nodes(stage, shared, peerPorts: ports)
            do {
                for number in 1..<count { try await nodes.start(number) }
                try await body(nodes, stage)
            } catch {
                await nodes.close()
                nodes.printLogs()
                throw error
            }
            await nodes.close()
        }
    }
}

/// The nodes of a test. The first is the server of the stage, which the phones report to.
private final class Nodes: @unchecked Sendable {
    let stage: DemoStage
    let peerPorts: [UInt16]
    private let shared: [String: String]
    private let ports: [UInt16]
    // Changed by one task at a time.
    private var processes: [Int: ChildProcess] = [:]

    init(_ stage: DemoStage, _ shared: [String: String], peerPorts: [UInt16]) throws {
        self.stage = stage
        self.shared = shared
        self.peerPorts = peerPorts
        ports = try peerPorts.map { _ in try DemoStage.freePort() }
    }

    private var config: String { stage.directory.appendingPathComponent("islet.yaml").path }

    func start(_ number: Int) async throws {
        guard number > 0 else { return try await stage.startServer(within: .seconds(60)) }
        let node = try ChildProcess(
            "node \(number)", executable: Executable.islet, arguments: ["serve", "--config", config],
            environment: shared.merging([
                "ISLET_LISTEN": "127.0.0.1:\(ports[number])", "ISLET_NODES_LISTEN": "127.0.0.1:\(peerPorts[number])",
            ]) { $1 }, log: stage.directory.appendingPathComponent("node-\(number).log"))
        processes[number] = node
        try await node.isUp(within: .seconds(60))
    }

    func kill(_ number: Int) async throws {
        guard number > 0 else { return try await stage.killServer() }
        processes[number]?.kill()
        _ = try await processes[number]?.exitCode(within: .seconds(60))
    }

    func stop(_ number: Int) async throws {
        if number > 0 { await processes[number]?.stop() } else { await stage.stopServer() }
    }

    func signal(_ number: Int, _ signal: Int32) {
        _ = Foundation.kill(processes[number]?.identifier ?? stage.serverProcess, signal)
    }

    func printLogs() {
        for name in ["server"] + processes.keys.map({ "node-\($0)" }) {
            let log = stage.directory.appendingPathComponent("\(name).log")
            print("--- \(name)\n\((try? String(contentsOf: log, encoding: .utf8)) ?? "no log")")
        }
    }

    func close() async {
        for process in processes.values { await process.stop() }
    }

    func caller(_ number: Int) -> JSONCaller {
        guard number > 0 else { return stage.islet }
        return JSONCaller("http://127.0.0.1:\(ports[number])") { [stage] in stage.key }
    }

    /// Returns the number of the node that owns the database.
    func owner() async throws -> Int? {
        let command = try ChildProcess(
            "islet nodes", executable: Executable.islet, arguments: ["nodes", "--json", "--config", config],
            environment: shared, log: stage.directory.appendingPathComponent("nodes.log"))
        let line = try await command.firstLine(within: .seconds(60))
        _ = try await command.exitCode(within: .seconds(60))
        let nodes = try JSONValue(parsing: line).array ?? []
        let owner = nodes.first { $0.object?["role"] == "owner" }?.object?["address"]?.string
        return peerPorts.firstIndex { "http://127.0.0.1:\($0)" == owner }
    }

    static func order(_ status: String, _ id: String) -> JSONValue {
        [
            "type": "OrderTracking", "state": ["status": .string(status), "progress": 0.5],
            "attributes": ["orderId": .string(id), "restaurant": "Da Mario"], "audience": ["users": ["alice"]],
        ]
    }

    /// Sets the state of the order with one call, and returns its revision.
    @discardableResult
    func set(_ status: String, through number: Int) async throws -> Int {
        try await caller(number).call(.PUT, "/v1/activities/order-1", Self.order(status, "order-1"))
            .decode(ActivityAnswer.self).revision
    }

    func view(through number: Int) async throws -> ActivityView {
        try await caller(number).call(.GET, "/v1/activities/order-1").decode(ActivityView.self)
    }

    func shows(_ status: String) async throws {
        try await Waiting.until("alice's phone shows \(status), on one card", within: .seconds(90)) {
            let cards = try await self.stage.cards(on: "alice")
            return cards.count == 1 && cards[0]["contentState"]?.object?["status"]?.string == status
        }
    }

    /// Sends lines as a stream, which does not end if the last is `nil`, and returns the answer.
    func stream(_ lines: [String?], through number: Int, key: String) async throws -> (status: Int, body: String) {
        var request = HTTPClientRequest(url: "http://127.0.0.1:\(ports[number])/v1/batch")
        request.method = .POST
        request.headers.add(name: "authorization", value: "Bearer \(key)")
        request.headers.add(name: "content-type", value: "application/x-ndjson")
        let (body, source) = AsyncStream.makeStream(of: ByteBuffer.self)
        for line in lines {
            if let line { source.yield(ByteBuffer(string: line)) }
        }
        if lines.last != .some(nil) { source.finish() }
        request.body = .stream(body, length: .unknown)
        let answer = try await HTTPClient.shared.execute(request, timeout: .seconds(60))
        let text = try await answer.body.collect(upTo: 1 << 22)
        return (Int(answer.status.code), String(buffer: text))
    }

    /// Notes the ids of the events that a stream tells, until it ends.
    func events(through number: Int, after: String?, _ told: Told) async {
        let port = number > 0 ? ports[number] : 0
        var request = HTTPClientRequest(url: "http://127.0.0.1:\(port)/v1/events")
        request.headers.add(name: "authorization", value: "Bearer \(stage.key)")
        if let after { request.headers.add(name: "last-event-id", value: after) }
        do {
            let answer = try await HTTPClient.shared.execute(request, timeout: .seconds(90))
            var text = ""
            var id: String?
            for try await part in answer.body {
                text += String(buffer: part)
                while let end = text.firstIndex(of: "\n") {
                    let line = text[..<end]
                    if line.hasPrefix("id: ") { id = String(line.dropFirst(4)) }
                    // An id without data is a position, and no event.
                    if line.hasPrefix("data: "), let id { told.note(id) }
                    text = String(text[text.index(after: end)...])
                }
            }
        } catch {
            // Cut, or no longer needed.
        }
    }
}

/// The ids of events, as they come.
private final class Told: Sendable {
    private let ids = Mutex<[String]>([])

    var all: [String] { ids.withLock(\.self) }
    func note(_ id: String) { ids.withLock { $0.append(id) } }
}
