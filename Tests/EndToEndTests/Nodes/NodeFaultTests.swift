import Foundation
import JSONText
import PostgresCluster
import Synchronization
import TestSupport
import Testing

@testable import islet

/// Histories of random faults of nodes and of their database, under load. `script/crash --nodes` plays many.
@Suite(.serialized) struct NodeFaultTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let histories = environment["NODE_HISTORIES"].flatMap { UInt64($0) } ?? 1
    private static let seed = environment["CRASH_SEED"].flatMap { UInt64($0) } ?? .random(in: 0 ... .max / 2)
    private static let faults = environment["NODE_FAULTS"].flatMap { Int($0) } ?? 6
    private static let orders = 4

    @Test(arguments: seed..<seed + histories)
    func `whatever fails, no write is lost or done twice, and every phone ends on the last state`(
        seed: UInt64
    )
        async throws
    {
        var dice = SeededDice(seed: seed)
        let count = 2 + dice.roll(3)
        try await withNodes(count, onPair: dice.chance(50)) { nodes, stage in
            let turn = SeededTurn(seed: seed)
            let load = KillLoad { nodes.caller(turn.next(below: count)) }
            let run = KillRun(stage: stage, load: load, note: Comment("seed \(seed)"))
            let orders = (1...Self.orders).map { number in
                KillLoad.Order(id: "order-\(number)", people: ["a-\(number)", "b-\(number)"])
            }
            try await run.addPhones(orders.flatMap(\.people))
            try await run.beginFaults()
            var history: [String] = []
            do {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for order in orders { group.addTask { try await load.drive(order) } }
                    for number in 1...Self.faults {
                        let writes = load.total + dice.roll(60)
                        try await Waiting.until("the nodes take writes before fault \(number)", within: .seconds(120)) {
                            load.total >= writes
                        }
                        let fault = NodeFault.pick(&dice, of: count, isPair: nodes.hasStandby)
                        history.append("\(fault)")
                        nodes.checkAllRun(run.note)
                        try await fault.happen(to: nodes)
                        _ = try? await stage.act("rotateUpdateToken", on: "a-\(1 + dice.roll(Self.orders))")
                    }
                    load.finish()
                    try await group.waitForAll()
                }
                try await run.endFaults()
                nodes.checkAllRun(run.note)
                for order in orders { try await run.check(order) }
                try await run.checkStarts()
                // Starts of unknown fate are few.
                #expect(try await run.shown(orders) >= Self.orders, run.note)
            } catch {
                Issue.record("seed \(seed), \(count) nodes: \(history.joined(separator: ", ")): \(error)")
                throw error
            }
            print(
                "seed \(seed), \(count) nodes: \(history.joined(separator: ", ")); \(load.total) writes, "
                    + "\(load.unanswered) repeated")
        }
    }
}

/// A fault of a node or of the database, which is over when `happen` returns.
enum NodeFault: CustomStringConvertible {
    /// The node that owns the database is killed, and started again.
    case killOwner
    case kill(Int)
    /// The node is stopped as for an upgrade, and started again.
    case replace(Int)
    /// The process stands still for a while.
    case hang(Int, Duration)
    /// All processes of the database stand still for a while.
    case stallDatabase(Duration)
    /// The database is killed, and its standby promoted.
    case failOver
    /// The same. The first database then comes back beside it, and takes writes.
    case failOverBeside
    /// The owner and the database are lost together.
    case failOverWithOwner

    static func pick(_ dice: inout SeededDice, of nodes: Int, isPair: Bool) -> Self {
        let node = dice.roll(nodes)
        return switch dice.roll(isPair ? 13 : 10) {
        case 0..<3: .killOwner
        case 3..<5: .kill(node)
        case 5..<7: .replace(node)
        case 7..<9: .hang(node, .seconds(1 + dice.roll(11)))
        case 9: .stallDatabase(.seconds(1 + dice.roll(11)))
        case 10: .failOver
        case 11: .failOverBeside
        default: .failOverWithOwner
        }
    }

    var description: String {
        switch self {
        case .killOwner: "kill the owner"
        case .kill(let node): "kill \(node)"
        case .replace(let node): "replace \(node)"
        case .hang(let node, let time): "hang \(node) for \(time)"
        case .stallDatabase(let time): "stall the database for \(time)"
        case .failOver: "fail over"
        case .failOverBeside: "fail over, and start the first database again"
        case .failOverWithOwner: "fail over with the owner killed"
        }
    }

    func happen(to nodes: Nodes) async throws {
        switch self {
        case .killOwner:
            try await Waiting.until("a node owns the database", within: .seconds(60)) {
                try await nodes.owner() != nil
            }
            try await Self.kill(try await nodes.owner() ?? 0, of: nodes)
        case .kill(let node): try await Self.kill(node, of: nodes)
        case .replace(let node):
            try await nodes.stop(node)
            try await nodes.start(node)
        case .hang(let node, let time):
            nodes.signal(node, SIGSTOP)
            await Self.pass(time)
            nodes.signal(node, SIGCONT)
        case .stallDatabase(let time):
            try nodes.cluster.pause()
            await Self.pass(time)
            try nodes.cluster.resume()
        case .failOver: try await nodes.failOver()
        case .failOverBeside:
            try await nodes.failOver()
            try nodes.cluster.startFirst()
        case .failOverWithOwner:
            let owner = try await nodes.owner() ?? 0
            try await nodes.kill(owner)
            try await nodes.failOver()
            try await Waiting.until("another node owns the database", within: .seconds(60)) {
                try await nodes.owner() != nil
            }
            try await nodes.start(owner)
        }
    }

    private static func kill(_ node: Int, of nodes: Nodes) async throws {
        try await nodes.kill(node)
        try await nodes.start(node)
    }

    /// Lets the fault last.
    private static func pass(_ time: Duration) async {
        try? await Waiting.until("the fault is over", within: time) { false }
    }
}

/// Random numbers for concurrent callers.
private final class SeededTurn: Sendable {
    private let dice: Mutex<SeededDice>

    init(seed: UInt64) {
        dice = Mutex(SeededDice(seed: ~seed))
    }

    func next(below limit: Int) -> Int { dice.withLock { $0.roll(limit) } }
}
