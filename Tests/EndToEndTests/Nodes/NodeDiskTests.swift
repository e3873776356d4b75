import Foundation
import JSONText
import LiveActivityAPI
import PostgresCluster
import Testing

@testable import islet

/// A full disk of the database that nodes share. Needs root, for a disk of its own.
@Suite(
    .serialized,
    .enabled("needs root, and a mount namespace") {
        guard getuid() == 0 else { return false }
        return try await SmallDisk.isExpected()
    })
struct NodeDiskTests {
    @Test func `on a full disk of the database changes are refused and nothing is lost; with room all goes on`()
        async throws
    {
        try await withNodes(2, disk: 128) { nodes, stage in
            try await stage.addPhone("alice")
            var last = try await nodes.set("preparing", through: 1)
            try await nodes.shows("preparing")
            let disk = try #require(nodes.cluster.disk?.path)

            try SmallDisk.fill(disk)
            let refused = try await refusal {
                // Tables may have some room left.
                for number in 0..<2000 { last = try await nodes.set(["ready", "preparing"][number % 2], through: 1) }
            }
            #expect(refused?.status == 503, "\(String(describing: refused))")
            #expect(refused?.detail.contains("nothing was changed") == true, "\(String(describing: refused))")
            nodes.checkAllRun("on a full disk")
            let view = try await nodes.view(through: 1)
            #expect(view.revision == last, "reads go on, and what was refused was not done")

            // Without room for its log, PostgreSQL ends.
            try await Waiting.until("PostgreSQL has no room for its log", within: .seconds(60)) {
                let next = "SELECT pg_logical_emit_message(false, 'islet', 'x'), pg_switch_wal()"
                return (try? nodes.cluster.run(next)) == nil
            }
            let unreachable = try await refusal { try await nodes.set("ready", through: 0) }
            #expect(unreachable?.status == 503, "\(String(describing: unreachable))")
            nodes.checkAllRun("without a database")

            try SmallDisk.makeRoom(disk)
            try await Waiting.until("PostgreSQL answers again", within: .seconds(60)) {
                // It has begun again by itself, unless the disk was full then too.
                if !nodes.cluster.isFirstRunning { try? nodes.cluster.startFirst() }
                return (try? nodes.cluster.run("SELECT 1")) != nil
            }
            try await nodes.insist("delivered", through: 1, revision: last...last + 10)
            try await nodes.shows("delivered")
        }
    }
}
