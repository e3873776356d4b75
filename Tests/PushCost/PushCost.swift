import AllocationCounter
import Foundation
import LiveActivityStorage
import StorageSQL
import StorageSQLite
import TestSupport

/// Counts the cost of a push: statements, rows, commits and bytes of the store, and allocations of the whole process.
///
/// It is a separate program because it replaces the process's malloc. It prints one line of JSON for each scenario,
/// with the totals and the number of pushes or calls.
@main
struct PushCost {
    private struct Line: Encodable {
        let scenario: String
        let count: Int
        let statements: Int
        let rows: Int
        let commits: Int
        let bytes: Int
        let allocations: Int
        let allocatedBytes: Int
    }

    static func main() async throws {
        try print(probe())
        try await fanOut()
        try await singles()
    }

    /// Makes a number of objects, to check that allocations are counted at all.
    private static func probe() throws -> Line {
        final class Object { var next: Object? }
        let count = 1000
        var first: Object?
        allocation_counter_start()
        for _ in 0..<count {
            let object = Object()
            object.next = first
            first = object
        }
        let counts = allocation_counter_stop()
        // Released one by one, because a long chain that is released at once recurses.
        while let object = first { first = object.next }
        return Line(
            scenario: allocation_counter_is_available() ? "probe" : "no allocation counter", count: count,
            statements: 0, rows: 0, commits: 0, bytes: 0, allocations: counts.allocations,
            allocatedBytes: counts.bytes)
    }

    /// Measures one activity with a new state for everybody's phones.
    private static func fanOut() async throws {
        let (people, phonesEach) = (1000, 2)
        let phones = people * phonesEach
        try await Scene.perform { scene in
            try await scene.register(people: people, phonesEach: phonesEach)
            try await scene.put(1, [0]) { _ in 0..<people }
            try await scene.report(phones: phones) { _ in 0 }
            await scene.store.accepted(phones)
            // The windows of coalescing and of high priority are over.
            scene.clock.advance(by: .seconds(120))
            try await measure("fan-out", phones, scene) {
                try await scene.put(2, [0])
                await scene.store.accepted(2 * phones)
            }
        }
    }

    /// Measures as many activities as phones: first the calls, then the pushes.
    private static func singles() async throws {
        let count = 1000
        try await Scene.perform { scene in
            try await scene.register(people: count)
            try await scene.put(1, Array(0..<count)) { $0..<($0 + 1) }
            try await scene.report(phones: count) { $0 }
            await scene.store.accepted(count)
            scene.clock.advance(by: .seconds(120))
            scene.store.holdClaims()
            try await measure("calls", count, scene) { try await scene.put(2, Array(0..<count)) }
            try await measure("singles", count, scene) {
                scene.store.releaseClaims()
                await scene.store.accepted(2 * count)
            }
        }
    }

    private static func measure(
        _ scenario: String, _ count: Int, _ scene: Scene, _ body: () async throws -> Void
    ) async throws {
        let before = try await scene.store.inner.statistics()
        allocation_counter_start()
        try await body()
        let counts = allocation_counter_stop()
        let after = try await scene.store.inner.statistics()
        try print(
            Line(
                scenario: scenario, count: count, statements: after.statements - before.statements,
                rows: after.rowsWritten - before.rowsWritten, commits: after.commits - before.commits,
                bytes: after.bytesWritten - before.bytesWritten, allocations: counts.allocations,
                allocatedBytes: counts.bytes))
    }

    private static func print(_ line: Line) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        FileHandle.standardOutput.write(try encoder.encode(line) + Data("\n".utf8))
    }
}
