import Foundation
import GRDB
import JSONText
import LiveActivityAPI
import TestSupport
import Testing

@testable import islet

/// A damaged or locked database: real files and a real server.
@Suite(.serialized) struct DamageTests {
    @Test func `a damaged page is named by doctor, by backup and by the call that meets it; a backup heals it`()
        async throws
    {
        try await withStage { stage in
            try await stage.addKilledPhone()
            try await stage.setOrder("ready")
            try await stage.shows("ready")
            // The phone does not repeat reports that it has made by then.
            try await stage.isLive()
            let backup = stage.directory.appendingPathComponent("good.db").path
            #expect(try await stage.command("backup", backup).code == 0)
            await stage.stopServer()

            try Self.overwritePage(ofTable: "content", in: Self.database(of: stage))
            let doctor = try await stage.command("doctor", "--offline")
            #expect(doctor.code == 1 && doctor.output.contains("it is damaged"), "\(doctor)")
            #expect(doctor.output.contains("islet restore"), "\(doctor)")

            try await stage.startServer(within: .seconds(20))
            let refused = try await refusal { _ = try await stage.setOrder("picked_up") }
            #expect(refused?.status == 503 && refused?.code == "storage_unavailable", "\(String(describing: refused))")
            let copy = try await stage.command("backup", stage.directory.appendingPathComponent("bad.db").path)
            #expect(copy.code == 1 && copy.errors.contains("damaged"), "\(copy)")
            await stage.stopServer()

            let restored = try await stage.command("restore", "--starts-are-known", backup)
            #expect(restored.code == 0, "\(restored)")
            try await stage.startServer(within: .seconds(20))
            #expect(try await stage.viewOrder().state["status"] == "ready")
            try await stage.setOrder("delivering")
            try await stage.shows("delivering")
        }
    }

    @Test func `whatever is left of the log after a kill, the server starts on a state that some commit made`()
        async throws
    {
        let seed = UInt64.random(in: 0 ... .max)
        var dice = SeededDice(seed: seed)
        try await withStage { stage in
            try await stage.addKilledPhone()
            var last = 0
            for number in 1...40 { last = try await stage.setOrder(["ready", "picked_up", "preparing"][number % 3]) }
            try await stage.killServer()
            let database = Self.database(of: stage)
            let log = try Data(contentsOf: URL(fileURLWithPath: database.path + "-wal"))
            let main = try Data(contentsOf: database)
            #expect(log.count > 40 * 4096, "the log holds the writes")
            var revisions: Set<Int> = []
            for trial in 1...9 {
                var rest = log
                switch trial {
                // The unchanged log. The other trials may leave a state from before the phone came.
                case 9: break
                case _ where trial % 2 == 0: rest = rest.prefix(dice.roll(log.count))
                default: rest[dice.roll(log.count)] ^= UInt8(1 << dice.roll(8))
                }
                try main.write(to: database)
                try rest.write(to: URL(fileURLWithPath: database.path + "-wal"))
                try? FileManager.default.removeItem(atPath: database.path + "-shm")
                try await stage.startServer(within: .seconds(20))
                // Either the order did not exist yet, or it is at a revision that it had.
                let revision = (try? await stage.viewOrder().revision) ?? 0
                #expect((0...last).contains(revision), "seed \(seed)")
                revisions.insert(revision)
                let doctor = try await stage.command("doctor", "--offline")
                #expect(!doctor.output.contains("damaged"), "seed \(seed): \(doctor.output)")
                if trial == 9 {
                    #expect(revision == last)
                    try await stage.setOrder("delivering")
                    // A server whose log had lost the first card started another one, and the phone reported it. This
                    // server learns of it when the person opens the app.
                    try await stage.act("foreground", on: "alice")
                    try await stage.shows("delivering")
                }
                try await stage.killServer()
            }
            #expect(revisions.count > 1, "what was cut away was there before, seed \(seed)")
        }
    }

    @Test func `while another process writes the database, calls are refused with when to come again, and then taken`()
        async throws
    {
        try await withStage { stage in
            try await stage.addKilledPhone()
            try await stage.setOrder("ready")
            try await stage.shows("ready")
            var configuration = Configuration()
            configuration.allowsUnsafeTransactions = true
            configuration.busyMode = .timeout(60)
            let other = try DatabaseQueue(path: Self.database(of: stage).path, configuration: configuration)
            try await other.writeWithoutTransaction { db in try db.execute(sql: "BEGIN IMMEDIATE") }
            let refused = try await refusal { _ = try await stage.setOrder("picked_up") }
            #expect(refused?.status == 503, "\(String(describing: refused))")
            #expect(try await stage.viewOrder().revision == 1, "reads go on, and nothing was changed")
            try await other.writeWithoutTransaction { db in try db.execute(sql: "ROLLBACK") }
            try await stage.setOrder("picked_up")
            try await stage.shows("picked_up")
        }
    }

    // MARK: - Parts

    static func database(of stage: DemoStage) -> URL { stage.directory.appendingPathComponent("islet.db") }

    /// Fills the first page of a table with bytes that no page begins with.
    private static func overwritePage(ofTable table: String, in file: URL) throws {
        let (page, size) = try DatabaseQueue(path: file.path).read { db in
            (
                try Int.fetchOne(db, sql: "SELECT rootpage FROM sqlite_master WHERE name = ?", arguments: [table]) ?? 0,
                try Int.fetchOne(db, sql: "PRAGMA page_size") ?? 0
            )
        }
        let handle = try FileHandle(forUpdating: file)
        try handle.seek(toOffset: UInt64((page - 1) * size))
        try handle.write(contentsOf: Data(repeating: 0xA5, count: size))
        try handle.close()
    }
}
