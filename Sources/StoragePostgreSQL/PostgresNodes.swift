package import LiveActivityStorage
import StorageSQL

/// A process of several on one database, as the database knows it.
package struct NodeSighting: Sendable, Hashable {
    /// Number that the process has chosen for its life.
    package var number: Int64
    /// URL at which the other nodes reach it.
    package var address: String
    /// Version of the program.
    package var version: String
    /// Text that shows a node that a call comes from another node.
    package var secret: String
    /// Time since it started, by the database's clock.
    package var age: Duration
    /// Time since it was last heard of, by the database's clock.
    package var silence: Duration
    /// `true` if it holds the lock of the process that serves the database.
    package var isOwner: Bool
    /// Number of calls that callers have made to it since it started.
    package var calls: Int

    package init(
        number: Int64, address: String, version: String, secret: String, age: Duration, silence: Duration,
        isOwner: Bool, calls: Int = 0
    ) {
        self.calls = calls
        self.number = number
        self.address = address
        self.version = version
        self.secret = secret
        self.age = age
        self.silence = silence
        self.isOwner = isOwner
    }
}

/// This process among several on a database.
package struct PostgresNode: Sendable {
    /// Number that the process has chosen for its life.
    package var number: Int64
    package var memory: PostgresMemory

    package init(number: Int64, memory: PostgresMemory = PostgresMemory()) {
        self.number = number
        self.memory = memory
    }
}

/// The nodes of a database.
package struct NodesSeen: Sendable, Hashable {
    /// The nodes that were heard of in the last ten minutes, by number.
    package var nodes: [NodeSighting]
    /// `true` if a process serves the database, whether it is one of `nodes` or not.
    package var isServed: Bool

    package init(nodes: [NodeSighting], isServed: Bool) {
        self.nodes = nodes
        self.isServed = isServed
    }

    package var owner: NodeSighting? { nodes.first(where: \.isOwner) }
}

/// The register of the nodes of a database. One thread at a time uses it, and each call waits for the server.
package final class PostgresNodes {
    private let server: PostgresServer
    private var session: PostgresSession?
    /// Version of the tables, 0 if there are none.
    private var tables = 0
    private var hasTables: Bool { tables > 0 }
    /// The first version of the tables that counts calls.
    private static let countingCalls = 2

    static let table = """
        CREATE TABLE node (
            no bigint PRIMARY KEY, address text NOT NULL, version text NOT NULL, secret text NOT NULL,
            started_at bigint NOT NULL, seen_at bigint NOT NULL
        ) WITH (fillfactor = 10)
        """
    static let calls = "ALTER TABLE node ADD calls bigint NOT NULL DEFAULT 0"

    /// Time after which a node that is not heard of is forgotten, in milliseconds.
    private static let memory: Int64 = 600_000
    private static let now = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
    /// Name of the sessions of a node is this, followed by its number.
    private static let prefix = "islet-"
    /// Holder of the lock of the process that serves the database.
    private static let holder = """
        SELECT a.application_name FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
        WHERE l.locktype = 'advisory' AND l.granted AND (l.classid::bigint << 32 | l.objid::bigint) = ?
            AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
        """

    /// - Parameter memory: Takes note of the last transaction at each look.
    package init(
        of url: String, limits: PostgresLimits = PostgresLimits(), memory: PostgresMemory = PostgresMemory()
    ) {
        server = PostgresServer(url: url, limits: limits, onStatement: {}, memory: memory)
    }

    /// Returns the name of the sessions of a node.
    static func sessionName(of node: Int64) -> String { "\(prefix)\(node)" }

    /// Writes that this node is alive, and returns all.
    ///
    /// - Parameter me: This node; `nil` only looks.
    /// - Throws: `StorageError.cannotOpen` if the server cannot be reached, or holds what this version cannot use.
    package func look(as me: NodeSighting?) throws(StorageError) -> NodesSeen {
        try on { session throws in
            let transaction = PostgresTransaction(session, PostgresTransaction.Texts())
            // Nodes of neighbouring versions see each other.
            if tables < Self.countingCalls {
                tables = try PostgresSchema.foundVersion(transaction)
                try session.receive(isEnd: true)
            }
            var holder: String?
            try transaction.query(Self.holder, [.int(PostgresLock.serving)]) { holder = $0.text(0) }
            guard hasTables else {
                try session.receive(isEnd: true)
                return NodesSeen(nodes: [], isServed: holder != nil)
            }
            if let me { try write(me, transaction) }
            var nodes: [NodeSighting] = []
            try transaction.query(
                """
                SELECT no, \(Self.now) - started_at, \(Self.now) - seen_at, address, version, secret,
                    \(tables >= Self.countingCalls ? "calls" : "0::bigint")
                FROM node WHERE seen_at > \(Self.now) - ? ORDER BY no
                """, [.int(Self.memory)]
            ) { row in
                let number = row.number
                nodes.append(
                    NodeSighting(
                        number: number, address: row.text(3), version: row.text(4), secret: row.text(5),
                        age: .milliseconds(max(row.number(1), 0)), silence: .milliseconds(max(row.number(2), 0)),
                        isOwner: holder == Self.sessionName(of: number), calls: Int(row.number(6))))
            }
            var last: PostgresMemory.Commit?
            try transaction.query("SELECT epoch, last_group FROM writer WHERE app = '*'", []) { row in
                last = PostgresMemory.Commit(epoch: row.number(0), group: row.number(1))
            }
            try session.receive(isEnd: true)
            if let last { server.memory.saw(last, on: session.lineage, isOwn: false) }
            return NodesSeen(nodes: nodes, isServed: holder != nil)
        }
    }

    private func write(_ me: NodeSighting, _ transaction: PostgresTransaction) throws {
        try transaction.run(
            """
            INSERT INTO node (no, address, version, secret, started_at, seen_at)
            VALUES (?, ?, ?, ?, \(Self.now), \(Self.now))
            ON CONFLICT (no) DO UPDATE SET seen_at = EXCLUDED.seen_at
            """, [.int(me.number), .text(me.address), .text(me.version), .text(me.secret)])
        if tables >= Self.countingCalls {
            try transaction.run("UPDATE node SET calls = ? WHERE no = ?", [.int(Int64(me.calls)), .int(me.number)])
        }
        try transaction.run("DELETE FROM node WHERE seen_at < \(Self.now) - ?", [.int(Self.memory)])
    }

    /// Ends the sessions of a node that is silent, and with them its lock.
    package func expel(_ node: Int64) throws(StorageError) {
        try on { session throws in
            let transaction = PostgresTransaction(session, PostgresTransaction.Texts())
            try transaction.query(
                """
                SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
                WHERE application_name = ? AND datname = current_database() AND usename = current_user
                """, [.text(Self.sessionName(of: node))]
            ) { _ in }
            try session.receive(isEnd: true)
        }
    }

    /// Deletes a node that has ended.
    package func forget(_ node: Int64) throws(StorageError) {
        guard hasTables else { return }
        try on { session throws in
            try PostgresTransaction(session, PostgresTransaction.Texts())
                .run("DELETE FROM node WHERE no = ?", [.int(node)])
            try session.receive(isEnd: true)
        }
    }

    /// Runs calls on the session, and drops it if they fail.
    private func on<Value>(_ body: (PostgresSession) throws -> Value) throws(StorageError) -> Value {
        do {
            let session = try usableSession()
            session.deadline = .now + server.limits.opening
            return try body(session)
        } catch {
            session = nil
            tables = 0
            throw .cannotOpen("\(server.place): \((error as? PostgresError)?.words ?? String(describing: error))")
        }
    }

    /// Time between two comparisons of all hosts. An owner that goes on with a primary that was replaced learns of it.
    private static let comparison = Duration.seconds(10)
    private var comparedAt = ContinuousClock.now

    private func usableSession() throws -> PostgresSession {
        if session?.lineage != nil, comparedAt + Self.comparison < .now, try PostgresHost.all(of: server.url).count > 1
        {
            comparedAt = .now
            // The memory takes note of a newer timeline, with which the session below is no longer current.
            _ = try? server.connect(for: .seconds(2), comparing: true)
        }
        if let session, session.isUsable, server.isCurrent(session) { return session }
        let new = try server.connect(for: server.limits.opening)
        try PostgresSchema.check(new)
        // Who is alive need not survive a crash, and must not wait for a standby.
        try new.send("SET synchronous_commit = off", PostgresParameters())
        try new.receive(isEnd: true)
        session = new
        return new
    }
}
