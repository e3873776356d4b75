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
            // Each look is half a second old, and more on a busy machine.
            try await Waiting.until("all nodes are listed, and the calls of the door", within: .seconds(60)) {
                let list = try await nodes.caller(2).call(.GET, "/v1/nodes").decode(NodeList.self).nodes
                return list.map(\.role) == [.owner, .door, .door]
                    && list.contains { $0.address.hasSuffix(":\(nodes.peerPorts[2])") && $0.calls > 2 }
            }
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

    @Test func `a failover that loses changes counts as a restore, and the order goes on on one card`() async throws {
        try await withNodes(2, onPair: true) { nodes, stage in
            try await stage.addPhone("alice")
            try await Waiting.until("alice is registered", within: .seconds(60)) {
                try await stage.hasReported("alice")
            }
            #expect(try await nodes.set("preparing", through: 1) == 1)
            try await nodes.shows("preparing")
            try await nodes.failOver {
                #expect(try await nodes.set("ready", through: 1) == 2)
                try await nodes.shows("ready")
            }
            // The backend sets its activities again. The database has never heard of the second revision.
            try await Waiting.until("a node owns the database", within: .seconds(60)) {
                (try? await nodes.set("picked_up", through: 1)) == 2
            }
            try await nodes.shows("picked_up")
            #expect(nodes.logs.contains("the database counts as restored"))
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
            // A call waits for an owner that has just opened the database; a stream, once it was sent, does not.
            try await nodes.caller(1).call(.GET, "/v1/types")
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
}
