import BackendCalls
import Foundation
import JSONText
import OrderTracking
import PostgresCluster

/// Several servers on a PostgreSQL pair, of which one is killed in the middle of an order, and then the database.
struct NodesDemo {
    private let nodes: NodesStage
    private let play: PlayStage
    private let say: @Sendable (String) -> Void

    private var stage: DemoStage { nodes.stage }
    private var addresses: [String] { nodes.addresses }

    private let order = Shop.Order(id: "1042", restaurant: "Da Mario", people: ["alice", "bob"])
    private static let limit = Duration.seconds(60)

    /// Plays the demo in a directory, and stops all processes afterwards.
    ///
    /// - Throws: An error if a result is not as expected.
    static func run(
        nodes count: Int, in directory: URL, executable: URL, fast: Bool,
        printing say: @escaping @Sendable (String) -> Void
    ) async throws {
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        say("Starting PostgreSQL with a standby, \(count) servers and a simulator on the loopback …")
        let nodes = try await NodesStage(count, in: directory, executable: executable, startGrace: fast ? "1s" : "3s")
        let play = PlayStage(nodes.stage, OrderPlay.self, rest: fast ? .zero : .seconds(3), printing: say)
        do {
            try await Self(nodes: nodes, play: play, say: say).play()
        } catch {
            await nodes.close()
            throw error
        }
        await nodes.close()
    }

    // MARK: - The play

    private func play() async throws {
        try await play.addPhone("alice", "her app is killed")
        try await play.addPhone("bob", "his app is killed")
        for person in order.people { try await play.act("kill", on: person) }
        let last = addresses.count - 1
        try await report(.preparing, eta: 25, through: last)
        // An app that wakes up for the start takes a newer state from the answer to its report, without a push.
        for person in order.people { try await play.registers(person) }
        try await killOwner(reporting: .ready, eta: 20)
        try await report(.pickedUp, eta: 12, through: last)
        say("Server 1 is started again. It passes calls on, also those of the phones.")
        try await stage.startServer(within: Self.limit)
        try await killDatabase()
        try await report(.delivering, eta: 5, through: 0, alert: "Your order is on its way")
        try await report(.delivered, eta: nil, through: last, alert: "Enjoy your meal!")
        let (list, isServed) = try nodes.nodes()
        say("\nislet nodes:\n\(Nodes.table(list, isServed: isServed))")
    }

    /// Reports a status through a server, and waits until each phone shows it.
    private func report(_ status: OrderStatus, eta: Int?, through number: Int, alert: String? = nil) async throws {
        try await tell(status, eta: eta, through: number)
        try await shows(status, eta: eta, alert: alert)
    }

    /// Makes the shop's call, and repeats it as long as the answer is 503.
    private func tell(_ status: OrderStatus, eta: Int?, through number: Int) async throws {
        let words = eta.map { ", \($0) minutes" } ?? ""
        say("\nThe shop reports to server \(number + 1): order \(order.id) is \(status.rawValue)\(words)")
        let shop = Shop(islet: addresses[number], key: stage.key)
        let start = ContinuousClock.now
        while true {
            let answer = try await shop.report(order, status, eta: eta)
            let time = (ContinuousClock.now - start).formatted(
                .units(allowed: [.seconds], width: .narrow, fractionalPart: .show(length: 1)))
            say("Islet answers after \(time): \(answer.summary)")
            if answer.isTaken { return }
            guard answer.status == 503, ContinuousClock.now - start < Self.limit else {
                throw DemoFailure("the servers refused the order")
            }
            try await Task.sleep(for: .milliseconds(500))
        }
    }

    private func shows(_ status: OrderStatus, eta: Int?, alert: String? = nil) async throws {
        let state = OrderTrackingAttributes.ContentState(status: status, progress: status.progress, eta: eta)
        var expected: [String: Expected] = [:]
        for person in order.people {
            expected[person] = try .card(state, status == .delivered ? "ended" : "active", alert: alert)
        }
        try await play.expect(expected, within: Self.limit)
    }

    // MARK: - Disasters

    /// Kills the server that owns the database while its pushes are on their way.
    private func killOwner(reporting status: OrderStatus, eta: Int) async throws {
        try await stage.control.call(
            .PUT, "/v1/faults", ["faults": [["effect": "slow", "seconds": 5, "event": "update"]]])
        let before = try await Self.pushes(stage)
        try await tell(status, eta: eta, through: addresses.count - 1)
        try await Waiting.until("the push is on its way", within: Self.limit) { [stage] in
            try await Self.pushes(stage) > before
        }
        say("kill -9 of server 1, which owns the database and awaits APNs's answers to its pushes")
        try await stage.killServer()
        try await stage.control.call(.DELETE, "/v1/faults")
        try await shows(status, eta: eta)
    }

    private static func pushes(_ stage: DemoStage) async throws -> Int {
        try await stage.control.call(.GET, "/v1/simulator").object?["received"]?.int ?? 0
    }

    private func killDatabase() async throws {
        say("kill -9 of PostgreSQL. Its standby has every change that was answered, and is promoted")
        try nodes.cluster.crash()
        try nodes.cluster.promoteStandby()
    }
}
