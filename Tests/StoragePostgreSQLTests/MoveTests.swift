import APNSModel
import Foundation
import LiveActivityCore
import LiveActivityStorage
import PostgresCluster
import StorageSQLite
import TestSupport
import Testing

@testable import EmbeddedIslet
@testable import StorageConformance
@testable import StoragePostgreSQL
@testable import StorageSQL

/// Tests that a move from a file takes every row, or none.
struct MoveTests {
    @Test(arguments: FreshSeeds.take(6))
    func `random commands go on after a move as if nothing had happened`(seed: UInt64) async throws {
        try await withDirectory { directory in
            let files = Files(directory)
            let store = try SQLStore(path: files.database, tokenKeys: files.keys)
            var life = RandomLife(seed: seed &* 15_485_863, Pair(store))
            do {
                try await life.live(steps: 60)
                store.close()
                let url = try TemporaryDatabase.makeEmpty()
                let summary = try files.move(to: url).run(at: Sample.now)
                #expect(summary.rows["activity", default: 0] > 0)
                life.pair.engine = try SQLStore(postgres: url, tokenKeys: files.keys)
                defer { life.pair.engine.close() }
                try await life.live(steps: 30)
                try await life.live(groups: 5)
                // The database numbers new keys after those that were moved.
                _ = try await TokenRotation(life.pair.engine).rotate { _ in }
            } catch let difference as Pair.Difference {
                Issue.record("seed \(seed), \(difference)")
            }
        }
    }

    @Test func `rows with any values are the same after a move, in every table`() async throws {
        try await withDirectory { directory in
            let files = Files(directory)
            let url = try TemporaryDatabase.make()
            let file = try SQLStore(path: files.database, tokenKeys: files.keys)
            let tables = try Self.columns(url)
            for (number, table) in tables.enumerated() where table.name != "meta" && table.name != "token_key" {
                // More than one page of rows, and of data.
                try Self.fill(table, rows: number == 0 ? 4001 : 7, file)
            }
            let before = try tables.map { try Self.rows($0, file) }
            file.close()
            _ = try files.move(to: url).run(at: Sample.now)
            let moved = try SQLStore(postgres: url, access: .administration, tokenKeys: nil)
            defer { moved.close() }
            for (table, rows) in zip(tables, before) {
                let after = try Self.rows(table, moved).filter { $0.first != #""moved""# }
                #expect(after == rows, "\(table.name)")
                #expect(table.name == "webhook_delivery" || !rows.isEmpty, "\(table.name)")
            }
        }
    }

    @Test func `both databases have the same tables with the same columns`() async throws {
        try await withDirectory { directory in
            let files = Files(directory)
            let file = try SQLStore(path: files.database, tokenKeys: files.keys)
            defer { file.close() }
            var found: [String: Set<String>] = [:]
            try file.database.readNow { transaction in
                try transaction.query(
                    """
                    SELECT t.name, c.name FROM sqlite_schema t JOIN pragma_table_info(t.name) c
                    WHERE t.type = 'table' AND t.name <> 'grdb_migrations'
                    """, []
                ) { found[$0.text(0), default: []].insert($0.text(1)) }
            }
            let expected = try Self.columns(TemporaryDatabase.make())
            #expect(found == Dictionary(uniqueKeysWithValues: expected.map { ($0.name, Set($0.columns.map(\.name))) }))
        }
    }

    @Test func `a move is complete or has changed nothing, wherever its connection is cut`() async throws {
        let proxy = try MessageProxy(to: TemporaryDatabase.server())
        defer { proxy.stop() }
        var messages = 0
        try await withDirectory { directory in
            let (files, url) = try await Self.small(directory, proxy)
            proxy.arm(nil)
            _ = try files.move(to: url).run(at: Sample.now)
            messages = proxy.disarm().messages
        }
        var outcomes: [String: Int] = [:]
        // Those of the commit, and some of those before.
        let numbers =
            Array(stride(from: 1, to: messages - 12, by: max(1, messages / 12))) + Array(messages - 12...messages)
        for number in numbers {
            for arrives in [false, true] {
                let cut = MessageProxy.Cut(message: number, arrives: arrives)
                try await withDirectory { directory in
                    let (files, url) = try await Self.small(directory, proxy)
                    proxy.arm(cut)
                    let result = Result { () throws(StorageError) in try files.move(to: url).run(at: Sample.now) }
                    // The number of messages varies a little.
                    guard proxy.disarm().hasCut else {
                        #expect(number > messages - 12, "\(cut) of \(messages)")
                        return
                    }
                    let count = try Self.count("lane", url)
                    switch result {
                    case .success:
                        #expect(count == 1, "\(cut)")
                        outcomes["moved", default: 0] += 1
                    case .failure(.commitUnknown(let words)):
                        Issue.record("\(cut): the server can be asked, but the move is unknown: \(words)")
                    case .failure:
                        #expect(count == 0, "\(cut)")
                        #expect(try files.mark() == nil, "\(cut)")
                        outcomes["failed", default: 0] += 1
                        _ = try files.move(to: url).run(at: Sample.now)
                        #expect(try Self.count("lane", url) == 1, "\(cut)")
                    }
                    #expect(try files.mark() != nil, "\(cut)")
                }
            }
        }
        #expect(outcomes["moved", default: 0] >= 2 && outcomes["failed", default: 0] >= 10, "\(outcomes)")
    }

    // MARK: - What is refused

    @Test func `a file that was moved serves no more, until it is restored`() async throws {
        try await withDirectory { directory in
            let (files, url) = try await Self.small(directory, nil)
            _ = try files.move(to: url).run(at: Sample.now)
            let error = #expect(throws: StorageError.self) {
                try SQLStore(path: files.database, tokenKeys: files.keys)
            }
            #expect(error?.description.contains("its rows are in postgres://") == true, "\(error as Any)")
            #expect(throws: StorageError.self) { try SQLStore(path: files.database, access: .administration) }
            let look = DatabaseInspection(of: files.database, tokenKeys: files.keys)
            #expect(look.problem == nil && look.moved?.at == Sample.now && look.moved?.isComplete == true)
            // A second run finds that the first was complete.
            #expect(try files.move(to: url).run(at: Sample.now + .seconds(60)).wasComplete)
            // Into another database it does not go.
            let other = try TemporaryDatabase.makeEmpty()
            #expect(throws: StorageError.self) { try files.move(to: other, again: true).run(at: Sample.now) }
            #expect(try Self.count("lane", other) == 0)
            let copy = directory.appending(path: "copy.sqlite").path
            try FileManager.default.copyItem(atPath: files.database, toPath: copy)
            _ = try BackupRestore(from: copy, to: files.database).run(startsAreKnown: false, at: Sample.now)
            try SQLStore(path: files.database, tokenKeys: files.keys).close()
        }
    }

    @Test func `nothing is moved if the file cannot be marked`() async throws {
        try await withDirectory { directory in
            let (files, url) = try await Self.small(directory, nil)
            let file = try DatabaseExport(path: files.database)
            defer { file.close() }
            let target = try PostgresImport(postgres: url, needsStandby: false)
            struct Full: Error {}
            #expect(throws: Full.self) {
                try file.read { rows in
                    try target.copy(from: rows, mark: 1, report: { _, _ in }, beforeCommit: { throw Full() })
                }
            }
            target.close()
            #expect(try Self.count("lane", url) == 0)
        }
    }

    @Test func `a file that a killed move has marked moves again when that is said`() async throws {
        try await withDirectory { directory in
            let (files, url) = try await Self.small(directory, nil)
            let file = try DatabaseExport(path: files.database)
            let target = try PostgresImport(postgres: url, needsStandby: false)
            try file.set(MoveMark(to: target.place, at: Sample.now))
            target.close()
            file.close()
            let error = #expect(throws: StorageError.self) { try files.move(to: url).run(at: Sample.now) }
            #expect(error?.description.contains("--again") == true)
            #expect(try Self.count("lane", url) == 0)
            _ = try files.move(to: url, again: true).run(at: Sample.now)
            #expect(try Self.count("lane", url) == 1)
        }
    }

    @Test func `an unknown commit leaves the file marked, and no server starts with it`() async throws {
        let proxy = try MessageProxy(to: TemporaryDatabase.server())
        try await withDirectory { directory in
            let (files, url) = try await Self.small(directory, proxy)
            var move = files.move(to: url)
            // From then on nothing of the database can be reached.
            move.beforeCommit = { proxy.stop() }
            let error = #expect(throws: StorageError.self) { try move.run(at: Sample.now) }
            guard case .commitUnknown? = error else {
                Issue.record("\(error as Any)")
                return
            }
            #expect(try files.mark()?.isComplete == false)
            let refusal = #expect(throws: StorageError.self) {
                try SQLStore(path: files.database, tokenKeys: files.keys)
            }
            #expect(refusal?.description.contains("run `islet move` again") == true)
        }
    }

    @Test func `a key that is made while the rows are copied is not lost`() async throws {
        try await withDirectory { directory in
            let (files, url) = try await Self.small(directory, nil)
            let beside = try SQLStore(path: files.database, access: .administration)
            defer { beside.close() }
            let error = #expect(throws: StorageError.self) {
                try files.move(to: url).run(at: Sample.now) { table, _ in
                    guard table == "activity" else { return }
                    _ = try? beside.database.write {
                        try $0.run("UPDATE meta SET value = 7 WHERE name = 'user_walk'", [])
                    }
                }
            }
            #expect(error?.description.contains("run `islet move` again") == true, "\(error as Any)")
            #expect(try files.mark() == nil)
            #expect(try Self.count("lane", url) == 0)
            _ = try files.move(to: url).run(at: Sample.now)
        }
    }

    @Test func `what cannot be moved is refused with a reason, and nothing is changed`() async throws {
        try await withDirectory { directory in
            let (files, url) = try await Self.small(directory, nil)
            func refusal(_ files: Files, to url: String) -> String {
                let error = #expect(throws: StorageError.self) { try files.move(to: url).run(at: Sample.now) }
                return error?.description ?? ""
            }
            // No file, and no database.
            #expect(refusal(Files(directory.appending(path: "none")), to: url).contains("there is no such file"))
            let text = directory.appending(path: "text.sqlite").path
            try Data("no database".utf8).write(to: URL(filePath: text))
            #expect(refusal(Files(database: text, keys: files.keys), to: url).contains("not a database of islet"))
            // Other keys.
            let others = TokenKeySource.given(.fresh(), name: "RING")
            #expect(refusal(Files(database: files.database, keys: others), to: url).contains("key"))
            // A server runs on the file, and then on the database.
            let running = try SQLStore(path: files.database, tokenKeys: files.keys)
            #expect(refusal(files, to: url).contains("in use"))
            running.close()
            let serving = try SQLStore(postgres: url, tokenKeys: files.keys)
            #expect(refusal(files, to: url).contains("in use"))
            serving.close()
            // That server has noted its keys.
            #expect(refusal(files, to: url).contains("rows in its table `token_key`"))
            #expect(try files.mark() == nil)
            #expect(try Self.count("lane", url) == 0)
            try SQLStore(path: files.database, tokenKeys: files.keys).close()
        }
    }

    // MARK: - Databases

    /// A SQLite file with its ring of keys.
    private struct Files {
        let database: String
        let keys: TokenKeySource

        init(_ directory: URL) {
            self.init(
                database: directory.appending(path: "islet.sqlite").path,
                keys: .file(directory.appending(path: "keys").path, isMade: true))
        }

        init(database: String, keys: TokenKeySource) {
            self.database = database
            self.keys = keys
        }

        func move(to url: String, again: Bool = false) -> DatabaseMove {
            DatabaseMove(from: database, to: url, needsStandby: false, tokenKeys: keys, again: again)
        }

        func mark() throws -> MoveMark? {
            let file = try DatabaseExport(path: database)
            defer { file.close() }
            return try file.mark()
        }
    }

    /// Makes a file with one lane and an empty database.
    private static func small(_ directory: URL, _ proxy: MessageProxy?) async throws -> (Files, url: String) {
        let files = Files(directory)
        let store = try SQLStore(path: files.database, tokenKeys: files.keys)
        let command = PutRows { draft in draft.put(LaneRecord(activity: 1)) }
        _ = try await store.commit(command).get()
        store.close()
        return (files, try TemporaryDatabase.make(through: proxy?.directory))
    }

    private static func count(_ table: String, _ url: String) throws -> Int64 {
        let store = try SQLStore(postgres: url, access: .administration, tokenKeys: nil)
        defer { store.close() }
        var count: Int64 = 0
        try store.database.readNow { try $0.query("SELECT count(*) FROM \(table)", []) { count = $0.number } }
        return count
    }

    private struct Column {
        let name: String
        let type: String
        let mayBeNull: Bool
    }

    private struct Table {
        let name: String
        var columns: [Column] = []

        /// Names in double quotes, which both databases take.
        var list: String { columns.map { "\"\($0.name)\"" }.joined(separator: ", ") }
    }

    /// Returns the tables with their columns, as PostgreSQL's information schema has them.
    private static func columns(_ url: String) throws -> [Table] {
        let store = try SQLStore(postgres: url, access: .administration, tokenKeys: nil)
        defer { store.close() }
        var tables: [Table] = []
        try store.database.readNow { transaction in
            try transaction.query(
                """
                SELECT table_name::text, column_name::text, data_type::text, (is_nullable = 'YES')::int
                FROM information_schema.columns WHERE table_schema = 'islet'
                    AND table_name NOT IN ('schema_version', 'writer', 'node')
                ORDER BY table_name, ordinal_position
                """, []
            ) { row in
                if tables.last?.name != row.text(0) { tables.append(Table(name: row.text(0))) }
                tables[tables.count - 1].columns.append(
                    Column(name: row.text(1), type: row.text(2), mayBeNull: row.number(3) == 1))
            }
        }
        return tables
    }

    private static func fill(_ table: Table, rows: Int, _ store: SQLStore) throws {
        let texts = ["", "é🙂\n\"'", "x"]
        let numbers: [Int64] = [.min, .max, 0, -1]
        let blobs: [[UInt8]] = [[], [0, 255], [UInt8](repeating: 7, count: rows > 1000 ? 0 : 300_000)]
        let places = table.columns.map { _ in "?" }.joined(separator: ", ")
        _ = try store.database.write { transaction in
            for row in 0..<rows {
                let values = table.columns.enumerated().map { index, column -> SQLArgument in
                    if column.mayBeNull, (row + index).isMultiple(of: 2) { return .null }
                    switch column.type {
                    // Unique, so that any column may be a key. Large and small numbers come first.
                    case "bigint": return .int(row < numbers.count ? numbers[row] : Int64(row))
                    case "double precision": return .int(Int64(row) - 2)
                    case "bytea": return .blob(blobs[row % blobs.count])
                    default: return .text(row < texts.count ? texts[row] : "\(texts[1])\(row)")
                    }
                }
                try transaction.run("INSERT INTO \"\(table.name)\" (\(table.list)) VALUES (\(places))", values)
            }
        }
    }

    /// Returns all rows as texts, sorted.
    private static func rows(_ table: Table, _ store: SQLStore) throws -> [[String]] {
        var rows: [[String]] = []
        try store.database.readNow { transaction in
            try transaction.query("SELECT \(table.list) FROM \"\(table.name)\"", []) { row in
                rows.append(
                    table.columns.enumerated().map { index, column in
                        let place = CInt(index)
                        if row.isNull(place) { return "null" }
                        return switch column.type {
                        case "bigint": "\(row.number(place))"
                        case "double precision": "\(row.double(place))"
                        case "bytea": "\(Array(row.bytes(place)).hashValue)"
                        default: "\"\(row.text(place))\""
                        }
                    })
            }
        }
        return rows.sorted { $0.lexicographicallyPrecedes($1) }
    }
}
