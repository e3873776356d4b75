import APNSModel
import LiveActivityCore
import LiveActivityStorage
import TestSupport

/// The store as one process sees it.
///
/// All processes share the reference store. It takes time and may fail, and the process may die before or after a
/// commit.
struct NodeStore: WorkStore {
    let node: Node

    var wakeUps: AsyncStream<UnixTime> {
        let (stream, continuation) = AsyncStream.wakeUps()
        node.wakeUp = continuation
        return stream
    }

    func claimAtOnce(from source: ClaimAtOnce.Source?) { node.claims = source }

    func nextWork() async throws(StorageError) -> NextWork {
        try await read()
        let store = node.world.store
        return NextWork(
            lane: store.nextWakeAt, notification: store.nextNotificationAt, conditions: store.laneConditions)
    }

    func read() async throws(StorageError) {
        let world = node.world
        if world.chance(20, in: 1000) { await node.pause(Int64(1 + world.dice.roll(40))) }
        guard node.isAlive else { throw .closed }
        if world.chance(world.faults.store, in: 2000) { throw .failed("as the dice say") }
    }

    func commit<C: Command>(_ command: C) async throws(StorageError) -> Result<C.Reply, Refusal> {
        let result = try await write(command.rank, Words.of(command)) { $0.commit(command, by: node) }
        if let reply = (try? result.get()) as? ClaimWork.Reply { node.world.see(.claimReturned(reply.flights, node)) }
        return result
    }

    /// Makes one commit. It waits in the queue, may fail, and may be kept without the process knowing.
    func write<Value>(
        _ rank: CommandRank, _ words: String, _ body: (World) -> Value
    ) async throws(StorageError) -> Value {
        let world = node.world
        // The reply takes a moment too. Sometimes the process is slow.
        if world.chance(300, in: 1000) { await node.pause(world.pick([1, 2, 5, 20, 200])) }
        guard node.isAlive else { throw .closed }
        let fate = world.storeFate()
        if fate == .fails {
            world.count(.storeFailed)
            world.note(node.name, "\(words): the store fails")
            throw .failed("as the dice say")
        }
        node.reach(.beforeCommit(of: rank))
        guard node.isAlive else { throw .closed }
        if fate == .unknownAndLost {
            world.count(.commitUnknown)
            world.note(node.name, "\(words): the store fails while committing, nothing stands")
            throw .commitUnknown("as the dice say")
        }
        let value = body(world)
        node.reach(.afterCommit(of: rank))
        guard node.isAlive else { throw .closed }
        if fate == .unknownAndKept {
            world.count(.commitUnknown)
            world.note(node.name, "\(words): the store fails while committing, and it stands")
            throw .commitUnknown("as the dice say")
        }
        if world.chance(30, in: 1000) {
            await node.pause(world.pick([5, 50, 900, 4000, 7900, 9000, 16_000]))
            guard node.isAlive else { throw .closed }
        }
        return value
    }
}

enum Words {
    static func of<C: Command>(_ command: C) -> String {
        switch command.rank {
        case .write: "a change"
        case .settle: "a settlement"
        case .claim: "a claim"
        case .prune: "pruning"
        }
    }
}
