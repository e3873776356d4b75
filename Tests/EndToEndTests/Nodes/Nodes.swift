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

/// Runs a test with several servers on one database.
///
/// - Parameters:
///   - onPair: `true` if a standby must have each commit before it is answered.
///   - isOnNetwork: `true` if the nodes reach the database through the loopback network, each with a group of its own.
///     On a pair, it is the standby that does.
///   - disk: Megabytes of the database's own disk; `nil` for none.
///   - executable: The program that all nodes begin with; `nil` for that of the tests.
func withNodes(
    _ count: Int, onPair: Bool = false, isOnNetwork: Bool = false, disk: Int? = nil, executable: URL? = nil,
    _ body: (Nodes, DemoStage) async throws -> Void
) async throws {
    let cluster = try PostgresCluster(port: isOnNetwork ? try DemoStage.freePort() : nil, disk: disk)
    defer { cluster.stop() }
    if onPair { try cluster.addStandby(group: isOnNetwork ? Nodes.group(count) : nil) }
    var surroundings = DemoStage.Surroundings()
    let ports = try (0..<count).map { _ in try DemoStage.freePort() }
    let shared = [
        "ISLET_STORAGE": onPair ? cluster.pairURL("postgres") : cluster.url("postgres"),
        "ISLET_TOKEN_KEYS_ENVIRONMENT": "RING",
        "RING": TokenKeyRing.fresh().text, "ISLET_LOG_LEVEL": "info",
    ]
    if isOnNetwork { surroundings.command = Nodes.command(of: 0) }
    surroundings.environment = shared.merging(["ISLET_NODES_LISTEN": "127.0.0.1:\(ports[0])"]) { $1 }
    try await withStage(surroundings, executable: executable) { stage in
        let nodes = try Nodes(stage, shared, cluster, hasStandby: onPair, peerPorts: ports)
        do {
            nodes.haveGroups = isOnNetwork
            for number in 1..<count { try await nodes.start(number, executable) }
            try await body(nodes, stage)
        } catch {
            await nodes.close()
            print(nodes.logs)
            throw error
        }
        await nodes.close()
    }
}

/// The nodes of a test. The first is the server of the stage, which the phones report to.
final class Nodes: @unchecked Sendable {
    let stage: DemoStage
    let cluster: PostgresCluster
    /// `true` until the standby was promoted.
    private(set) var hasStandby: Bool
    let peerPorts: [UInt16]
    private let shared: [String: String]
    private let ports: [UInt16]
    // Changed by one task at a time.
    private(set) var processes: [Int: ChildProcess] = [:]
    /// `true` if each node has a group of its own.
    var haveGroups = false

    /// Returns the group of a node, which no user of the machine has. The number of nodes stands for the standby.
    static func group(_ number: Int) -> Int { 61_000 + number }

    /// Returns the beginning of a command that runs as a node's group.
    static func command(of number: Int) -> [String] {
        ["/usr/bin/setpriv", "--regid", "\(group(number))", "--clear-groups", "--"]
    }

    init(
        _ stage: DemoStage, _ shared: [String: String], _ cluster: PostgresCluster, hasStandby: Bool,
        peerPorts: [UInt16]
    ) throws {
        self.cluster = cluster
        self.hasStandby = hasStandby
        self.stage = stage
        self.shared = shared
        self.peerPorts = peerPorts
        ports = try peerPorts.map { _ in try DemoStage.freePort() }
    }

    private var config: String { stage.directory.appendingPathComponent("islet.yaml").path }

    /// Starts a node.
    ///
    /// - Parameters:
    ///   - executable: The program; `nil` for that of the test.
    ///   - environment: Variables of this node alone.
    func start(_ number: Int, _ executable: URL? = nil, environment: [String: String] = [:]) async throws {
        guard number > 0 else { return try await stage.startServer(environment, within: .seconds(60)) }
        let program = try executable ?? Executable.islet
        let command =
            (haveGroups ? Self.command(of: number) : []) + [program.path, "serve", "--config", config]
        let node = try ChildProcess(
            "node \(number)", executable: URL(fileURLWithPath: command[0]), arguments: Array(command.dropFirst()),
            environment: shared.merging([
                "ISLET_LISTEN": "127.0.0.1:\(ports[number])", "ISLET_NODES_LISTEN": "127.0.0.1:\(peerPorts[number])",
            ]) { $1 }.merging(environment) { $1 }, log: stage.directory.appendingPathComponent("node-\(number).log"))
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

    /// Kills the database and promotes its standby.
    ///
    /// - Parameter lost: Changes that the standby does not get; `nil` if it has each.
    func failOver(losing lost: (() async throws -> Void)? = nil) async throws {
        hasStandby = false
        if let lost {
            try cluster.run("ALTER SYSTEM SET synchronous_standby_names = ''")
            try cluster.run("SELECT pg_reload_conf()")
            try cluster.stopStandby()
            try await lost()
        }
        try cluster.crash()
        if lost != nil { try cluster.startStandby() }
        try cluster.promoteStandby()
    }

    /// Text of the logs of all nodes.
    var logs: String {
        (["server"] + processes.keys.map { "node-\($0)" }).map { name in
            let log = stage.directory.appendingPathComponent("\(name).log")
            return "--- \(name)\n\((try? String(contentsOf: log, encoding: .utf8)) ?? "no log")"
        }.joined(separator: "\n")
    }

    /// Checks that no node has ended by itself.
    func checkAllRun(_ note: Comment) {
        #expect(stage.isServerRunning, note)
        for (number, process) in processes { #expect(process.isRunning, "node \(number), \(note)") }
    }

    func signal(_ number: Int, _ signal: Int32) {
        _ = Foundation.kill(processes[number]?.identifier ?? stage.serverProcess, signal)
    }

    func close() async {
        for process in processes.values { await process.stop() }
    }

    /// URL at which a node answers.
    func address(of number: Int) -> String {
        number > 0 ? "http://127.0.0.1:\(ports[number])" : stage.isletAddress
    }

    func caller(_ number: Int) -> JSONCaller {
        guard number > 0 else { return stage.islet }
        return JSONCaller("http://127.0.0.1:\(ports[number])") { [stage] in stage.key }
    }

    /// Runs a command of the program with the configuration of the nodes, and returns its first line.
    @discardableResult
    func command(_ arguments: String...) async throws -> String {
        let command = try ChildProcess(
            "islet \(arguments[0])", executable: Executable.islet, arguments: arguments + ["--config", config],
            environment: shared, log: stage.directory.appendingPathComponent("\(arguments[0]).log"))
        let line = try await command.firstLine(within: .seconds(60))
        #expect(try await command.exitCode(within: .seconds(60)) == 0)
        return line
    }

    /// Returns the number of the node that owns the database.
    func owner() async throws -> Int? {
        let nodes = try JSONValue(parsing: try await command("nodes", "--json")).array ?? []
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
final class Told: Sendable {
    private let ids = Mutex<[String]>([])

    var all: [String] { ids.withLock(\.self) }
    func note(_ id: String) { ids.withLock { $0.append(id) } }
}
