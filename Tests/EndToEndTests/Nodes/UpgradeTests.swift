import Foundation
import JSONText
import LiveActivityAPI
import Synchronization
import Testing

@testable import islet

/// Replaces nodes of an earlier version, which `script/upgrade` builds and names in `EARLIER_EXECUTABLE`.
struct UpgradeTests {
    private static let earlier = ProcessInfo.processInfo.environment["EARLIER_EXECUTABLE"].map {
        URL(fileURLWithPath: $0)
    }

    @Test(.enabled(if: earlier != nil, "script/upgrade builds an earlier version"))
    func `nodes of an earlier version are replaced under load, and no call fails`() async throws {
        let earlier = try #require(Self.earlier)
        try await withNodes(3, executable: earlier) { nodes, stage in
            try await stage.addPhone("alice")
            try await Waiting.until("alice is registered", within: .seconds(60)) {
                try await stage.hasReported("alice")
            }
            #expect(try await nodes.set("preparing", through: 2) == 1)
            try await nodes.shows("preparing")
            let writes = Writes()
            try await withThrowingTaskGroup(of: Void.self) { group in
                // Every call is made once, and the node that takes the calls stays an earlier one to the end.
                group.addTask {
                    while !writes.isOver {
                        let id = "order-\(writes.next())"
                        try await nodes.caller(2).call(.PUT, "/v1/activities/\(id)", Nodes.order("ready", id))
                    }
                }
                defer { writes.end() }
                try await Self.pass(20, writes)
                let migration = try JSONValue(parsing: try await nodes.command("migrate", "--json")).object ?? [:]
                print("islet migrate beside the earlier owner: \(migration)")
                try await Self.pass(20, writes)
                try await nodes.stop(1)
                try await nodes.start(1)
                try await Self.pass(20, writes)
                // The owner of the earlier version goes, and the node of this version takes over.
                await stage.stopServer()
                try await Self.pass(20, writes)
                #expect(try await nodes.owner() == 1)
                writes.end()
                try await group.waitForAll()
            }
            try await nodes.stop(2)
            try await nodes.start(2)
            #expect(try await nodes.set("picked_up", through: 2) == 2)
            for number in [writes.first, writes.last] {
                let view = try await nodes.caller(1).call(.GET, "/v1/activities/order-\(number)")
                #expect(view.object?["revision"]?.int == 1, "order-\(number)")
            }
            print("\(writes.last - writes.first + 1) calls while three nodes were replaced")
        }
    }

    /// Waits until that many calls more were made.
    private static func pass(_ count: Int, _ writes: Writes) async throws {
        let last = writes.last + count
        try await Waiting.until("\(count) calls are answered", within: .seconds(60)) { writes.last >= last }
    }
}

/// The numbers of orders that were set, for one writer.
private final class Writes: Sendable {
    let first = 2
    private let state = Mutex((last: 1, isOver: false))

    /// Number of the last order whose call has begun.
    var last: Int { state.withLock(\.last) }
    var isOver: Bool { state.withLock(\.isOver) }

    func next() -> Int {
        state.withLock { state in
            state.last += 1
            return state.last
        }
    }

    func end() { state.withLock { $0.isOver = true } }
}
