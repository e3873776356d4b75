import APNSModel
import Dispatch
import Foundation
import GRDB
import LiveActivityCore
import LiveActivityStorage
import Synchronization
import TestSupport
import Testing

@testable import StorageConformance
@testable import StorageSQL
@testable import StorageSQLite

struct BackupTests {
    private func mode(_ path: String) throws -> Int? {
        (try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? NSNumber)?.intValue
    }

    @Test func `a copy taken beside a server is one file, its owner's alone, and says when it was made`() async throws {
        try await withDirectory { directory in
            let (path, copy) = (directory.appending(path: "islet.db").path, directory.appending(path: "copy.db").path)
            let store = try SQLStore(path: path)
            defer { store.close() }
            _ = try await store.commit(PutRows { $0.put(Sample.deviceRecord()) }).get()
            let summary = try BackupCopy(of: path, to: copy).make(overwrites: false, at: Sample.now)
            #expect(summary.devices == 1 && summary.activities == 0 && summary.restarts == 0)
            let size = try FileManager.default.attributesOfItem(atPath: copy)[.size] as? NSNumber
            #expect(size?.int64Value == summary.bytes)
            #expect(try mode(copy) == 0o600)
            let names = try FileManager.default.contentsOfDirectory(atPath: directory.path)
            #expect(
                Set(names) == ["islet.db", "islet.db-wal", "islet.db-shm", "islet.db.lock", "islet.db.keys", "copy.db"])
            let (journal, made) = try await DatabaseQueue(path: copy).read { db in
                (
                    try String.fetchOne(db, sql: "PRAGMA journal_mode"),
                    try Int64.fetchOne(db, sql: "SELECT at FROM \(BackupCopy.table)")
                )
            }
            #expect(journal == "delete" && made == Sample.now.milliseconds)
        }
    }

    @Test func `a copy of a database that nobody serves holds what its log holds`() async throws {
        try await withDirectory { directory in
            let (path, copy) = (directory.appending(path: "islet.db").path, directory.appending(path: "copy.db").path)
            let store = try SQLStore(path: path)
            _ = try await store.commit(PutRows { $0.put(Sample.deviceRecord()) }).get()
            // Copies the files as a killed process leaves them.
            for suffix in ["", "-wal"] {
                try FileManager.default.copyItem(atPath: path + suffix, toPath: copy + suffix)
            }
            store.close()
            let second = directory.appending(path: "second.db").path
            #expect(try BackupCopy(of: copy, to: second).make(overwrites: false, at: Sample.now).devices == 1)
        }
    }

    /// Each commit changes two tables alike, so no commit made a state in which they differ.
    @Test func `a copy taken while writers commit is a state that some commit made`() async throws {
        try await withDirectory { directory in
            let (path, copy) = (directory.appending(path: "islet.db").path, directory.appending(path: "copy.db").path)
            let store = try SQLStore(path: path)
            defer { store.close() }
            for first in stride(from: Int64(1), through: 4_000, by: 500) {
                _ = try await store.commit(PutRows { Self.put(first..<first + 500, &$0) }).get()
            }
            let commits = Mutex(4_000)
            // Another process writes between two steps, so that the copy begins again.
            let other = try DatabaseQueue(path: path, configuration: BackupCopy.configuration)
            var backup = BackupCopy(of: path, to: copy)
            backup.pagesPerStep = 20
            backup.afterStep = {
                let number = Int64(
                    commits.withLock {
                        $0 += 1; return $0
                    })
                let result = Result {
                    try other.write { db in
                        try db.execute(
                            sql: "INSERT INTO tombstone VALUES (?, 'a', 1, 6, 0); INSERT INTO member VALUES (1, ?, 0)",
                            arguments: [number, number])
                    }
                }
                if case .failure(let error) = result { Issue.record(error) }
            }
            let summary = try backup.make(overwrites: false, at: Sample.now)
            try other.close()
            #expect(summary.restarts == BackupCopy.maximumRestarts)
            let (tombstones, members, check) = try await DatabaseQueue(path: copy).read { db in
                (
                    try Int64.fetchAll(db, sql: "SELECT dk FROM tombstone ORDER BY dk"),
                    try Int64.fetchAll(db, sql: "SELECT user FROM member ORDER BY user"),
                    try String.fetchOne(db, sql: "PRAGMA integrity_check")
                )
            }
            #expect(check == "ok" && tombstones == members)
            #expect(tombstones == Array(1...Int64(tombstones.count)) && tombstones.count > 4_000)
        }
    }

    private static func put(_ numbers: Range<Int64>, _ draft: inout Draft) {
        for number in numbers {
            draft.put(
                TombstoneRecord(
                    device: number, localID: Sample.local("a"), activity: 1, state: .ended, at: UnixTime(seconds: 0)))
            draft.addMember(number, to: 1)
        }
    }

    @Test func `what cannot be copied, or must not be replaced, is refused, and nothing is left behind`() async throws {
        try await withDirectory { directory in
            func at(_ name: String) -> String { directory.appending(path: name).path }
            let path = at("islet.db")
            let store = try SQLStore(path: path)
            defer { store.close() }
            try Data("kept".utf8).write(to: URL(filePath: at("there.db")))
            try Data(repeating: 0x41, count: 8192).write(to: URL(filePath: at("text.db")))
            try await DatabaseQueue(path: at("other.db")).write { db in try db.execute(sql: "CREATE TABLE t (a)") }
            try FileManager.default.createSymbolicLink(atPath: at("link.db"), withDestinationPath: path)
            let before = try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
            func refusal(_ source: String, _ target: String, overwrites: Bool = false) -> BackupError? {
                do throws(BackupError) {
                    _ = try BackupCopy(of: source, to: target).make(overwrites: overwrites, at: Sample.now)
                    return nil
                } catch {
                    return error
                }
            }
            #expect(refusal(path, at("there.db")) == .exists(path: at("there.db")))
            #expect(refusal(at("none.db"), at("b.db")) == .missing(path: at("none.db")))
            #expect(refusal(path, path, overwrites: true) == .same(path: path))
            #expect(refusal(path, at("link.db"), overwrites: true) == .same(path: path))
            #expect(refusal(at("text.db"), at("b.db")) == .notIslet(path: at("text.db")))
            #expect(refusal(at("other.db"), at("b.db")) == .notIslet(path: at("other.db")))
            #expect(refusal(path, at("none/b.db"))?.description.contains("its folder cannot be written") == true)
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted() == before)
            #expect(FileManager.default.contents(atPath: at("there.db")) == Data("kept".utf8))
            #expect(refusal(path, at("there.db"), overwrites: true) == nil)
            #expect(try mode(at("there.db")) == 0o600)
        }
    }
}
