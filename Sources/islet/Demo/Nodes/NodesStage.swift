import EmbeddedIslet
import Foundation
import LiveActivityAPI
import PostgresCluster
import StorageSQL
import Synchronization

/// Several servers on a PostgreSQL primary with a synchronous standby, and a simulator with phones.
final class NodesStage: Sendable {
    /// The simulator and the first server, which phones report to.
    let stage: DemoStage
    let cluster: PostgresCluster
    /// Addresses of the servers, as callers reach them.
    let addresses: [String]
    /// Ports at which the servers reach each other.
    private let peers: [UInt16]
    /// The servers except the first, which is the stage's.
    private let others = Mutex<[ChildProcess]>([])
    private let ports: [UInt16]

    /// Starts all in a directory. If a part fails, nothing keeps running.
    init(_ count: Int, in directory: URL, executable: URL, startGrace: String) async throws {
        cluster = try PostgresCluster()
        do {
            try cluster.addStandby()
            peers = try (0..<count).map { _ in try DemoStage.freePort() }
            ports = try (0..<count).map { _ in try DemoStage.freePort() }
            var surroundings = DemoStage.Surroundings()
            surroundings.environment = [
                "ISLET_STORAGE": cluster.pairURL("postgres"), "ISLET_TOKEN_KEYS_ENVIRONMENT": "ISLET_DEMO_RING",
                "ISLET_DEMO_RING": TokenKeyRing.fresh().text, "ISLET_NODES_LISTEN": "127.0.0.1:\(peers[0])",
            ]
            stage = try await DemoStage(
                directory: directory, startGrace: startGrace, executable: executable, surroundings: surroundings)
            addresses = [stage.isletAddress] + ports.dropFirst().map { "http://127.0.0.1:\($0)" }
            do {
                for number in 1..<count {
                    let node = try await startOther(number)
                    others.withLock { $0.append(node) }
                }
            } catch {
                for node in others.withLock(\.self) { await node.stop() }
                await stage.close()
                throw error
            }
        } catch {
            cluster.stop()
            throw error
        }
    }

    private func startOther(_ number: Int) async throws -> ChildProcess {
        try await stage.startNode(
            "node-\(number + 1)",
            ["ISLET_LISTEN": "127.0.0.1:\(ports[number])", "ISLET_NODES_LISTEN": "127.0.0.1:\(peers[number])"])
    }

    /// Starts a server again, which is killed first unless it has ended.
    func restart(_ number: Int) async throws {
        guard number > 0 else { return try await stage.crashServer() }
        others.withLock { $0[number - 1].kill() }
        let node = try await startOther(number)
        others.withLock { $0[number - 1] = node }
    }

    func close() async {
        for node in others.withLock(\.self) { await node.stop() }
        await stage.close()
        cluster.stop()
    }

    /// The servers as the database knows them.
    func nodes() throws -> (list: NodeList, isServed: Bool) {
        try DatabaseLocation(cluster.pairURL("postgres")).nodes() ?? (NodeList(nodes: []), false)
    }

    /// Returns the number of the server that owns the database.
    func owner() throws -> Int? {
        let owner = try nodes().list.nodes.first { $0.role == .owner }
        return peers.firstIndex { "http://127.0.0.1:\($0)" == owner?.address }
    }

    /// Sends a signal to a server.
    func signal(_ number: Int, _ signal: Int32) {
        _ = kill(number == 0 ? stage.serverProcess : others.withLock { $0[number - 1].identifier }, signal)
    }
}
