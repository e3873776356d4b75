import AsyncHTTPClient
import Foundation
import JSONText
import LiveActivityAPI
import NIOCore
import NIOHTTP1
import PostgresCluster
import Testing

@testable import islet

/// Cuts the network between nodes and their database. `script/crash --cuts` plays them: they need root.
@Suite(.serialized, .enabled(if: ProcessInfo.processInfo.environment["NODE_CUTS"] != nil, "needs root and nftables"))
struct NodeCutTests {
    @Test(arguments: [NetworkCut.Direction.outbound, .inbound, .both])
    func `an owner that is cut from the database is replaced, and follows when the network is back`(
        direction: NetworkCut.Direction
    ) async throws {
        try await withOrder { nodes, network in
            try network.cut(0, .database, direction)
            let start = ContinuousClock.now
            try await nodes.insist("ready", through: 1, revision: 2)
            print("\(direction): first acknowledgement \(ContinuousClock.now - start) after the cut of the owner")
            #expect(try await nodes.owner() == 1)
            try await nodes.shows("ready")
            try network.heal()
            try await nodes.insist("picked_up", through: 0, revision: 3)
            try await nodes.shows("picked_up")
            #expect(try await nodes.owner() == 1)
        }
    }

    @Test(arguments: [NetworkCut.Direction.outbound, .inbound, .both])
    func `a door that is cut from the owner refuses calls, and passes them on when the network is back`(
        direction: NetworkCut.Direction
    ) async throws {
        try await withOrder { nodes, network in
            try network.cut(1, .owner, direction)
            let start = ContinuousClock.now
            let refusal = await #expect(throws: JSONCaller.Refusal.self) { try await nodes.set("ready", through: 1) }
            #expect(refusal?.status == 503)
            print("\(direction): \(refusal?.code ?? "-") \(ContinuousClock.now - start) after the cut of the door")
            // The owner serves, and nobody takes its place.
            let revision = try await nodes.set("ready", through: 0)
            #expect(revision == 2)
            try await nodes.shows("ready")
            #expect(try await nodes.owner() == 0)
            let later = ContinuousClock.now
            await #expect(throws: JSONCaller.Refusal.self) { try await nodes.set("picked_up", through: 1) }
            print("\(direction): the next refusal after \(ContinuousClock.now - later)")
            try network.heal()
            try await nodes.insist("picked_up", through: 1, revision: 3)
            try await nodes.shows("picked_up")
        }
    }

    @Test func `a door that is cut from the database passes calls on`() async throws {
        try await withOrder { nodes, network in
            try network.cut(1, .database, .both)
            let start = ContinuousClock.now
            var revision = 1
            // Longer than the door waits for an answer of the database.
            while ContinuousClock.now - start < .seconds(15) {
                revision += 1
                let status = revision.isMultiple(of: 2) ? "ready" : "preparing"
                #expect(try await nodes.set(status, through: 1) == revision)
                try await nodes.shows(status)
            }
            try network.heal()
            try await nodes.kill(0)
            try await nodes.insist("delivered", through: 1, revision: revision + 1)
        }
    }

    @Test(arguments: [NetworkCut.Direction.outbound, .inbound, .both])
    func `nothing is acknowledged without the standby, and the order goes on when it is back`(
        direction: NetworkCut.Direction
    ) async throws {
        try await withOrder(onPair: true) { nodes, network in
            // The standby's answer to this change makes its connection known to the network.
            #expect(try await nodes.set("ready", through: 0) == 2)
            try network.cutStandby(direction)
            let start = ContinuousClock.now
            for node in [0, 1] {
                let status = try await nodes.patientStatus("picked_up", through: node)
                #expect(status == 503)
                print("\(direction): \(status) by node \(node) \(ContinuousClock.now - start) after the cut")
            }
            nodes.checkAllRun("without a standby")
            try network.heal()
            // What was refused may have been made.
            try await nodes.insist("delivered", through: 1, revision: 3...10)
            print("\(direction): acknowledged \(ContinuousClock.now - start) after the cut")
            try await nodes.shows("delivered")
        }
    }

    /// Runs a test with an order on a phone, which the first of two nodes serves.
    private func withOrder(onPair: Bool = false, _ body: (Nodes, NodeNetwork) async throws -> Void) async throws {
        try await withNodes(2, onPair: onPair, isOnNetwork: true) { nodes, stage in
            try await stage.addPhone("alice")
            try await Waiting.until("alice is registered", within: .seconds(60)) {
                try await stage.hasReported("alice")
            }
            #expect(try await nodes.owner() == 0)
            #expect(try await nodes.set("preparing", through: 1) == 1)
            try await nodes.shows("preparing")
            // The phone reports the card and its token to the first node, which may be cut next.
            try await Waiting.until("the card is reported", within: .seconds(60)) {
                try await nodes.view(through: 0).devices.first?.state == "live"
            }
            try await body(nodes, try NodeNetwork(nodes))
        }
    }
}

/// The network between nodes and their database.
struct NodeNetwork {
    enum Place { case database, owner }

    private let nodes: Nodes
    private let cuts: NetworkCut

    init(_ nodes: Nodes) throws {
        self.nodes = nodes
        cuts = try NetworkCut(
            groups: (0...nodes.peerPorts.count).map(Nodes.group), ports: nodes.peerPorts + [nodes.cluster.port])
    }

    func cutStandby(_ direction: NetworkCut.Direction) throws {
        try cuts.cut(Nodes.group(nodes.peerPorts.count), to: nodes.cluster.port, direction)
    }

    func cut(_ node: Int, _ place: Place, _ direction: NetworkCut.Direction) throws {
        let port =
            switch place {
            case .database: nodes.cluster.port
            case .owner: nodes.peerPorts[0]
            }
        try cuts.cut(Nodes.group(node), to: port, direction)
    }

    func heal() throws { try cuts.heal() }
}

extension Nodes {
    /// Sets the state of the order again and again, until it is taken.
    fileprivate func insist(_ status: String, through number: Int, revision: Int) async throws {
        try await insist(status, through: number, revision: revision...revision)
    }

    /// Sets the state again and again, until it is taken with one of these revisions.
    func insist(_ status: String, through number: Int, revision: ClosedRange<Int>) async throws {
        try await Waiting.until("\(status) is taken by node \(number)", within: .seconds(90)) {
            // A call that takes long fails here, and may have been made.
            guard let found = try? await set(status, through: number) else { return false }
            #expect(revision.contains(found))
            return true
        }
    }

    /// Sets the state of the order, and returns the status of an answer that may take long: a server waits 5 seconds
    /// for a commit, and 4 to find out what became of it.
    fileprivate func patientStatus(_ status: String, through number: Int) async throws -> UInt {
        var request = HTTPClientRequest(url: address(of: number) + "/v1/activities/order-1")
        request.method = .PUT
        request.headers.add(name: "authorization", value: "Bearer \(stage.key)")
        request.headers.add(name: "content-type", value: "application/json")
        request.body = .bytes(ByteBuffer(string: Self.order(status, "order-1").description))
        return try await HTTPClient.shared.execute(request, timeout: .seconds(60)).status.code
    }
}
