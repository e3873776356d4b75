import Foundation
import LiveActivityStorage
import PostgresCluster
import TestSupport
import Testing

@testable import StorageConformance
@testable import StoragePostgreSQL
@testable import StorageSQL

/// Tests of what is said of a database that cannot be used. None of them is changed.
struct OpeningTests {
    private func problem(
        _ url: String, access: PostgresDatabase.Access = .exclusive, limits: PostgresLimits = PostgresLimits()
    ) -> StorageError? {
        do throws(StorageError) {
            try SQLStore(postgres: url, access: access, tokenKeys: nil, patience: .zero, limits: limits).close()
            return nil
        } catch {
            return error
        }
    }

    @Test func `a server that is not there is named, without a password`() throws {
        let url = "postgres://islet:verysecret@127.0.0.1:1/shop"
        let words = "\(try #require(problem(url)))"
        #expect(words.contains("postgres://127.0.0.1:1/shop") && words.contains("Connection refused"), "\(words)")
        #expect(!words.contains("verysecret"))
    }

    @Test(arguments: [
        "postgres://[", "postgres://db.example.com:port/x", "postgres://u:pw@h/x?no_such=1", "postgres://u:100%pw@h/x",
        "postgres://u:pw@[::1/x", "postgres://h/x?password=100%pw",
    ])
    func `a URL that libpq does not understand is refused`(url: String) throws {
        let words = "\(try #require(problem(url)))"
        #expect(words.contains("cannot") || words.contains("invalid") || words.contains("URI"), "\(words)")
        #expect(!words.contains("pw"))
    }

    @Test(arguments: [
        ("postgres://islet:pw@db.example.com/shop", "postgres://db.example.com/shop"),
        ("postgres://islet:p@w/x@a:1,b:2/shop?sslmode=require", "postgres://a:1,b:2/shop"),
        ("postgres://db/islet?user=islet@corp&password=pw", "postgres://db/islet"),
        ("postgres://islet@/shop?host=/run/pg", "postgres:///run/pg/shop"),
        ("postgresql://localhost", "postgres://localhost"), ("shop", "the PostgreSQL database"),
    ])
    func `a database is named by its hosts, and never with a password`(url: String, place: String) {
        #expect(PostgresInspection.place(of: url) == place)
    }

    @Test func `a database that does not exist is named`() throws {
        let words = "\(try #require(problem(TemporaryDatabase.server().url("nothing"))))"
        #expect(words.contains(#"database "nothing" does not exist"#), "\(words)")
    }

    @Test func `one process serves a database, and the next takes it over with a new epoch`() async throws {
        let url = try TemporaryDatabase.make()
        let store = try SQLStore(postgres: url, tokenKeys: nil)
        guard case .inUse? = problem(url) else {
            Issue.record("two processes serve one database")
            return
        }
        // Beside it, keys can be managed.
        #expect(problem(url, access: .administration) == nil)
        store.close()
        #expect(problem(url) == nil)
    }

    @Test(.timeLimit(.minutes(1)))
    func `a process whose connections have ended writes nothing once the next has taken over`() async throws {
        let url = try TemporaryDatabase.make()
        let lost = try SQLStore(postgres: url, node: PostgresNode(number: 7), tokenKeys: nil)
        // Its connections end, and with them its lock. The process itself lives.
        try PostgresNodes(of: url).expel(7)
        let next = try SQLStore(postgres: url, node: PostgresNode(number: 8), tokenKeys: nil)
        defer { next.close() }
        await #expect(throws: StorageError.self) { try await lost.insertKey(Self.key("a")) }
        // So it is told that it cannot serve any more.
        for await _ in lost.database.losses { break }
        try await next.insertKey(Self.key("b"))
        #expect(try await next.keys().map(\.id) == ["b"])
        lost.close()
    }

    @Test(.timeLimit(.minutes(1)))
    func `a standby starts in a process that has many files open, and ends with the server`() throws {
        let files = try (0..<200).map { _ in try FileHandle(forReadingFrom: URL(filePath: "/dev/null")) }
        defer { for file in files { try? file.close() } }
        let cluster = try PostgresCluster()
        try cluster.addStandby()
        try cluster.run("SELECT 1")
        cluster.stop()
        #expect(!FileManager.default.fileExists(atPath: cluster.directory.path))
    }

    @Test(.timeLimit(.minutes(1)))
    func `PgBouncer is refused if it shares sessions`() throws {
        let pooler = try Pooler(to: TemporaryDatabase.server(), mode: "transaction")
        defer { pooler.stop() }
        let url = try TemporaryDatabase.make(through: pooler.folder)
        #expect("\(try #require(problem(url)))".contains("`pool_mode = session`"))
        let look = PostgresInspection(of: url, tokenKeys: .given(.fresh(), name: "RING")) { 0 }
        #expect(look.problem?.contains("`pool_mode = session`") == true, "\(look.problem ?? "none")")
    }

    @Test(.timeLimit(.minutes(1)))
    func `PgBouncer can be used if each connection has a session of its own`() async throws {
        let pooler = try Pooler(to: TemporaryDatabase.server(), mode: "session")
        defer { pooler.stop() }
        let url = try TemporaryDatabase.make(through: pooler.folder)
        let look = PostgresInspection(of: url, tokenKeys: .given(.fresh(), name: "RING")) { 0 }
        #expect(look.problem == nil)
        let store = try SQLStore(postgres: url, tokenKeys: nil)
        defer { store.close() }
        try await store.insertKey(Self.key("a"))
        #expect(try await store.keys().map(\.id) == ["a"])
    }

    @Test(.timeLimit(.minutes(1)))
    func `two-safe changes need a server that names a synchronous standby`() async throws {
        let cluster = try PostgresCluster()
        defer { cluster.stop() }
        let url = cluster.url("postgres")
        func open() throws -> SQLStore { try SQLStore(postgres: url, needsStandby: true, tokenKeys: nil) }
        let error = #expect(throws: StorageError.self) { _ = try open() }
        #expect(error?.description.contains("synchronous_standby_names") == true)
        #expect(try Self.number("SELECT count(*) FROM pg_namespace WHERE nspname = 'islet'", url) == 0)
        try cluster.addStandby()
        let store = try open()
        defer { store.close() }
        try await store.insertKey(Self.key("a"))
        let look = PostgresInspection(of: url, tokenKeys: .given(.fresh(), name: "RING")) { 0 }
        #expect(look.standbys.needed == 1 && look.standbys.count == 1 && look.roundTrip > .zero)
        // Clearing the setting would let commits through without a warning.
        try Self.run("ALTER SYSTEM SET synchronous_standby_names = ''", url)
        try Self.run("SELECT pg_reload_conf()", url)
        // Each session reads its settings anew after a moment.
        var taken = ["a"]
        while taken.count < 10_000 {
            let id = "b\(taken.count)"
            do throws(StorageError) { try await store.insertKey(Self.key(id)) } catch { break }
            taken.append(id)
        }
        #expect(taken.count < 10_000, "changes are taken without a standby")
        try Self.run("ALTER SYSTEM SET synchronous_standby_names = '*'", url)
        try Self.run("SELECT pg_reload_conf()", url)
        while (try? await store.insertKey(Self.key("c"))) == nil { await Task.yield() }
        #expect(try await store.keys().map(\.id).sorted() == (taken + ["c"]).sorted())
    }

    @Test(.timeLimit(.minutes(1)))
    func `nodes see each other, who owns the database, and who is silent`() async throws {
        let url = try TemporaryDatabase.makeEmpty()
        let register = PostgresNodes(of: url)
        // Before the first owner has made the tables.
        #expect(try register.look(as: Self.node(1)) == NodesSeen(nodes: [], isServed: false))
        let store = try SQLStore(postgres: url, node: PostgresNode(number: 2), tokenKeys: nil)
        #expect(try register.look(as: Self.node(1)).nodes.map(\.isOwner) == [false])
        let seen = try PostgresNodes(of: url).look(as: Self.node(2))
        #expect(seen.nodes.map(\.number) == [1, 2] && seen.owner?.number == 2 && seen.isServed)
        #expect(seen.owner?.address == "http://10.0.0.2:8090" && seen.owner?.secret == "secret 2")
        try Self.run("UPDATE islet.node SET seen_at = seen_at - 7000 WHERE no = 1", url)
        #expect(try register.look(as: nil).nodes.map { $0.silence > .seconds(6) } == [true, false])
        try Self.run("UPDATE islet.node SET seen_at = seen_at - 700000 WHERE no = 1", url)
        #expect(try register.look(as: Self.node(2)).nodes.map(\.number) == [2])
        store.close()
        // The server needs a moment to see that a session has ended.
        while try register.look(as: nil).isServed { await Task.yield() }
        #expect(try register.look(as: nil).owner == nil)
        try register.forget(2)
        #expect(try register.look(as: nil) == NodesSeen(nodes: [], isServed: false))
    }

    @Test func `a process without a node's number owns the database too`() throws {
        let url = try TemporaryDatabase.make()
        let store = try SQLStore(postgres: url, tokenKeys: nil)
        defer { store.close() }
        let seen = try PostgresNodes(of: url).look(as: Self.node(1))
        #expect(seen.isServed && seen.owner == nil)
    }

    private static func node(_ number: Int64) -> NodeSighting {
        NodeSighting(
            number: number, address: "http://10.0.0.\(number):8090", version: "1", secret: "secret \(number)",
            age: .zero, silence: .zero, isOwner: false)
    }

    private static func key(_ id: String) -> APIKeyRecord {
        APIKeyRecord(id: id, app: Sample.bundleID, scope: .read, secretHash: [1], createdAt: Sample.now)
    }

    @Test func `a server that does not answer fails all reads that wait, with as many connections as may be open`()
        async throws
    {
        let silent = try SilentServer()
        defer { silent.stop() }
        var limits = PostgresLimits()
        limits.opening = .milliseconds(300)
        let readers = PostgresReaders(PostgresServer(url: silent.url, limits: limits, onStatement: {}))
        let (results, told) = AsyncStream.makeStream(of: Bool.self)
        for _ in 0..<100 { readers.submit { told.yield((try? $0.get()) == nil) } }
        let failures = await results.prefix(100).reduce(into: 0) { $0 += $1 ? 1 : 0 }
        #expect(failures == 100)
        #expect(silent.connections <= 2 * limits.readers, "of 100 reads, few have waited for the server")
    }

    @Test func `a command makes the tables if nobody serves the database, and begins no epoch`() async throws {
        let url = try TemporaryDatabase.makeEmpty()
        #expect(problem(url, access: .administration) == nil)
        #expect(try Self.number("SELECT epoch FROM islet.writer", url) == 0)
        // A server of an earlier version would have left earlier tables.
        let store = try SQLStore(postgres: url, tokenKeys: nil)
        defer { store.close() }
        try Self.run("DELETE FROM islet.schema_version", url)
        let words = "\(try #require(problem(url, access: .administration)))"
        #expect(words.contains("a server of an earlier version of islet serves it"))
    }

    @Test func `a schema of another program is left alone`() throws {
        let url = try TemporaryDatabase.makeEmpty()
        try Self.run("CREATE SCHEMA islet", url)
        let words = "\(try #require(problem(url)))"
        #expect(words.contains("belongs to another program"))
        #expect(try Self.number("SELECT count(*) FROM pg_class c WHERE relnamespace = 'islet'::regnamespace", url) == 0)
    }

    @Test func `tables of a newer version are left alone`() throws {
        let url = try TemporaryDatabase.make()
        let epoch = try Self.number("SELECT epoch FROM islet.writer", url)
        try Self.run("INSERT INTO islet.schema_version (version, usable_from) VALUES (99, 99)", url)
        let words = "\(try #require(problem(url)))"
        #expect(words.contains("newer version of islet"))
        #expect(try Self.number("SELECT epoch FROM islet.writer", url) == epoch, "it was not taken over")
        // The next version may say that this one can still serve its tables.
        try Self.run("UPDATE islet.schema_version SET usable_from = \(PostgresSchema.version) WHERE version = 99", url)
        #expect(problem(url) == nil)
        #expect(try Self.number("SELECT max(version) FROM islet.schema_version", url) == 99)
    }

    @Test func `tables of the version before are migrated beside its server, which goes on`() async throws {
        let url = try TemporaryDatabase.makeEmpty()
        let session = try Self.session(url)
        try PostgresSchema.migrate(session, to: 1, mayChange: true)
        #expect(try PostgresMigration.run(url: url) == 1)
        #expect(try PostgresMigration.run(url: url) == PostgresSchema.version)
        #expect(problem(url) == nil)
        // Whoever has a table in use for long is not waited for.
        let other = try TemporaryDatabase.makeEmpty()
        let holder = try Self.session(other)
        try PostgresSchema.migrate(holder, to: 1, mayChange: true)
        try holder.send("BEGIN", PostgresParameters())
        try holder.send("LOCK TABLE writer IN ACCESS SHARE MODE", PostgresParameters())
        try holder.receive()
        let error = #expect(throws: StorageError.self) { try PostgresMigration.run(url: other) }
        #expect(error?.description.contains("such as one of pg_dump") == true, "\(error as Any)")
        #expect(try Self.number("SELECT max(version) FROM islet.schema_version", other) == 1)
    }

    @Test func `a database whose texts are not UTF-8 is refused`() throws {
        try TemporaryDatabase.server().run(
            "CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
        let words = "\(try #require(problem(TemporaryDatabase.server().url("latin"))))"
        #expect(words.contains("its encoding is LATIN1"))
    }

    @Test func `a look at a database changes nothing`() throws {
        let url = try TemporaryDatabase.makeEmpty()
        let keys = TokenKeySource.file("/nowhere/keys", isMade: false)
        let look = PostgresInspection(of: url, tokenKeys: keys) { Int64(Date().timeIntervalSince1970 * 1000) }
        #expect(look.problem == nil && !look.hasTables && !look.isServed && look.bytes > 0)
        #expect(abs(look.clockAhead) < 1000 && look.version.first?.isNumber == true)
        #expect(try Self.number("SELECT count(*) FROM pg_namespace WHERE nspname = 'islet'", url) == 0)
        let served = try TemporaryDatabase.make()
        let store = try SQLStore(postgres: served, tokenKeys: nil)
        defer { store.close() }
        let second = PostgresInspection(of: served, tokenKeys: keys) { 0 }
        #expect(second.hasTables && second.isServed && second.clockAhead > 1_000_000_000_000)
    }

    // MARK: - Support

    private static func session(_ url: String) throws -> PostgresSession {
        try PostgresServer(url: url).connect(for: .seconds(10))
    }

    private static func run(_ statement: String, _ url: String) throws {
        let session = try session(url)
        try session.send(statement, PostgresParameters())
        try session.receive(isEnd: true)
    }

    private static func number(_ query: String, _ url: String) throws -> Int64? {
        let session = try session(url)
        var found: Int64?
        try PostgresTransaction(session, PostgresTransaction.Texts()).query(query, []) { found = $0.number }
        try session.receive(isEnd: true)
        return found
    }
}
