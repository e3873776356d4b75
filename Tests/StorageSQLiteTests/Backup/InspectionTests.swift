import Foundation
import GRDB
import LiveActivityCore
import TestSupport
import Testing

@testable import StorageConformance
@testable import StorageSQL
@testable import StorageSQLite

struct InspectionTests {
    @Test func `a look finds whether a database is sound, whose it is, and whether it is served`() async throws {
        try await withDirectory { directory in
            func at(_ name: String) -> String { directory.appending(path: name).path }
            let store = try SQLStore(path: at("islet.db"))
            let served = DatabaseInspection(of: at("islet.db"), tokenKeys: .beside(at("islet.db")))
            #expect(served.exists && served.isServed && served.problem == nil && served.mode == 0o600)
            #expect(served.schema == .current && served.integrity == .sound && served.folderIsWritable)
            #expect(served.bytes + served.logBytes > 0 && (served.freeBytes ?? 0) > 0)
            // The inspection did not take the server's lock.
            #expect(throws: (any Error).self) { _ = try SQLStore(path: at("islet.db")) }
            _ = try BackupCopy(of: at("islet.db"), to: at("newer.db")).make(overwrites: false, at: Sample.now)
            store.close()
            #expect(!DatabaseInspection(of: at("islet.db"), tokenKeys: .beside(at("islet.db"))).isServed)
            try await DatabaseQueue(path: at("newer.db")).write { db in
                try db.execute(sql: "INSERT INTO grdb_migrations VALUES ('99 of next year')")
            }
            #expect(DatabaseInspection(of: at("newer.db"), tokenKeys: .beside(at("newer.db"))).schema == .newer)
            try await DatabaseQueue(path: at("other.db")).write { db in try db.execute(sql: "CREATE TABLE t (a)") }
            #expect(DatabaseInspection(of: at("other.db"), tokenKeys: .beside(at("other.db"))).schema == .foreign)
            try Data(repeating: 0x41, count: 8192).write(to: URL(filePath: at("text.db")))
            #expect(
                DatabaseInspection(of: at("text.db"), tokenKeys: .beside(at("text.db"))).problem?.contains(
                    "is not a database of islet") == true)
            let none = DatabaseInspection(of: at("none.db"), tokenKeys: .beside(at("none.db")))
            #expect(!none.exists && none.folderIsWritable && none.problem == nil)
            #expect(!FileManager.default.fileExists(atPath: at("none.db")))
            #expect(
                !DatabaseInspection(of: "/nowhere/at/all/islet.db", tokenKeys: .beside("/nowhere/at/all/islet.db"))
                    .folderIsWritable)
        }
    }

    @Test func `damage inside a database is found and named`() async throws {
        try await withDirectory { directory in
            let path = directory.appending(path: "islet.db").path
            let store = try SQLStore(path: path)
            _ = try await store.commit(PutRows { $0.put(Sample.deviceRecord()) }).get()
            let copy = directory.appending(path: "copy.db").path
            _ = try BackupCopy(of: path, to: copy).make(overwrites: false, at: Sample.now)
            store.close()
            var bytes = try Data(contentsOf: URL(filePath: copy))
            // The last page belongs to some table. Its header is overwritten.
            for offset in bytes.count - 4096..<bytes.count { bytes[offset] = 0xEE }
            try bytes.write(to: URL(filePath: copy))
            let look = DatabaseInspection(of: copy, tokenKeys: .beside(copy))
            if case .damaged = look.integrity { return }
            #expect(look.problem?.contains("damaged") == true, "\(look)")
        }
    }
}
