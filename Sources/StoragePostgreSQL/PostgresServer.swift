import Dispatch
import Foundation
import StorageSQL

/// The database's address, and the settings of each session.
struct PostgresServer: Sendable {
    let url: String
    /// Name of the sessions in the server's views.
    var name = "islet"
    /// `true` if a commit is answered only when a synchronous standby has it.
    var needsStandby = false
    /// Called when this process can write no more.
    var onLoss: @Sendable (DatabaseLoss) -> Void = { _ in }
    /// The transactions and the timeline that this process has seen.
    var memory: PostgresMemory
    let limits: PostgresLimits
    let onStatement: @Sendable () -> Void

    init(
        url: String, limits: PostgresLimits = PostgresLimits(), onStatement: @escaping @Sendable () -> Void = {},
        memory: PostgresMemory = PostgresMemory()
    ) {
        self.url = url
        self.limits = limits
        self.onStatement = onStatement
        self.memory = memory
    }

    /// Hosts, port and database, for messages. Never a password.
    var place: String {
        guard let scheme = url.range(of: "://") else { return "the PostgreSQL database" }
        let parts = url[scheme.upperBound...].split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        // A password that is not percent-encoded may contain anything.
        let bare = parts[0].lastIndex(of: "@").map { parts[0][parts[0].index(after: $0)...] } ?? parts[0]
        let path = bare.firstIndex(of: "/") ?? bare.endIndex
        var hosts = bare[..<path]
        // The folder of a socket can only be a parameter.
        if hosts.isEmpty { hosts = parameters.first { $0.name == "host" }?.value ?? "" }
        return "postgres://\(hosts)\(bare[path...])"
    }

    /// The parameters after the question mark, still percent-encoded.
    private var parameters: [(name: Substring, value: Substring)] {
        guard let query = url.split(separator: "?", maxSplits: 1).dropFirst().first else { return [] }
        return query.split(separator: "&").map { parameter in
            let parts = parameter.split(separator: "=", maxSplits: 1)
            return (parts[0], parts.count > 1 ? parts[1] : "")
        }
    }

    /// The passwords of the URL as they are written there. libpq quotes what it does not understand.
    private var secrets: [Substring] {
        var found = parameters.filter { $0.name == "password" }.map(\.value)
        if let scheme = url.range(of: "://"), let end = url.lastIndex(of: "@"), scheme.upperBound < end,
            let colon = url[scheme.upperBound..<end].firstIndex(of: ":")
        {
            found.append(url[url.index(after: colon)..<end])
        }
        return found.filter { !$0.isEmpty }
    }

    /// Connects to the server that takes writes.
    ///
    /// - Parameters:
    ///   - time: Time in which the server must answer.
    ///   - comparing: `true` to ask all hosts of the URL, and to use the one with the newest timeline. A primary that
    ///     comes back after a failover takes writes as its successor does. A process that has not connected before
    ///     compares them always.
    func connect(for time: Duration, comparing: Bool = false) throws -> PostgresSession {
        do {
            let deadline = ContinuousClock.now + time
            let hosts = try PostgresHost.all(of: url)
            return hosts.count > 1
                ? try firstUsable(hosts, by: deadline, comparing: comparing) : try openSession(nil, by: deadline)
        } catch PostgresError.refused(let words) {
            throw PostgresError.refused(secrets.reduce(words) { $0.replacing($1, with: "…") })
        }
    }

    /// Returns `false` if a later timeline was seen since a session began.
    func isCurrent(_ session: PostgresSession) -> Bool { session.lineage.map(memory.accepts) ?? true }

    /// Time for one of several hosts to answer at first, and at most. A machine that is lost does not answer at all.
    private static let patience = (first: Duration.seconds(1), longest: Duration.seconds(3))

    /// The answer of one host.
    private enum Answer {
        case session(PostgresSession)
        case refused(String)
        case late(String)
    }

    /// Uses one of several hosts: the last one that was used, or with `comparing` the one with the newest timeline.
    /// libpq would spend all the time on the first that does not answer.
    private func firstUsable(
        _ hosts: [PostgresHost], by deadline: ContinuousClock.Instant, comparing: Bool
    ) throws -> PostgresSession {
        var patience = Self.patience.first
        let last = memory.host
        if !comparing, let last, hosts.indices.contains(last),
            case .session(let session) = answer(hosts[last], by: min(deadline, .now + patience))
        {
            return session
        }
        while true {
            let answers = answers(hosts, for: min(deadline - .now, patience))
            let isAnyLate = answers.contains { if case .late = $0 { true } else { false } }
            // A process without memory waits once more for a host that is slow: its timeline may be newer.
            let isPatient = last == nil && patience == Self.patience.first && isAnyLate
            if let (host, session) = newest(answers), !isPatient {
                memory.host = host
                return session
            }
            // If all have answered, they would say the same again.
            guard isAnyLate, .now < deadline else {
                let reasons = zip(hosts, answers).compactMap { host, answer in
                    switch answer {
                    case .session: nil as String?
                    case .refused(let words), .late(let words): "\(host): \(words)"
                    }
                }
                throw PostgresError.refused(reasons.joined(separator: "; "))
            }
            patience = min(patience * 2, Self.patience.longest)
        }
    }

    /// Returns the session whose server has the newest timeline, with the number of its host.
    private func newest(_ answers: [Answer]) -> (Int, PostgresSession)? {
        var found: (Int, PostgresSession)?
        for (host, answer) in answers.enumerated() {
            // A server with an older timeline than one that has answered is no longer current.
            if case .session(let session) = answer, isCurrent(session) { found = found ?? (host, session) }
        }
        return found
    }

    /// Asks all hosts at once, each on a thread of its own.
    private func answers(_ hosts: [PostgresHost], for time: Duration) -> [Answer] {
        let answers = Answers(count: hosts.count)
        for (number, host) in hosts.enumerated() {
            Thread.detachNewThread { answers.put(answer(host, by: .now + time), at: number) }
        }
        return answers.wait()
    }

    /// The answers of hosts, from several threads.
    private final class Answers: @unchecked Sendable {
        private let lock = NSLock()
        private let isDone = DispatchSemaphore(value: 0)
        // Guarded by `lock`: a session passes from its thread to the one that waits.
        private var all: [Answer]

        init(count: Int) {
            all = (0..<count).map { _ in .late("was not asked") }
        }

        func put(_ answer: Answer, at number: Int) {
            lock.withLock { all[number] = answer }
            isDone.signal()
        }

        func wait() -> [Answer] {
            for _ in all.indices { isDone.wait() }
            return lock.withLock { all }
        }
    }

    private func answer(_ host: PostgresHost, by deadline: ContinuousClock.Instant) -> Answer {
        do {
            return .session(try openSession(host, by: deadline))
        } catch PostgresError.late {
            return .late(PostgresError.late.words)
        } catch {
            return .refused(SQLError.of(any: error).description)
        }
    }

    private func openSession(
        _ host: PostgresHost?, by deadline: ContinuousClock.Instant
    ) throws -> PostgresSession {
        let keywords = [
            ("dbname", url), ("application_name", name), ("client_encoding", "UTF8"),
            ("target_session_attrs", "read-write"),
            // The kernel ends a connection whose peer has vanished.
            ("keepalives_idle", "5"), ("keepalives_interval", "2"), ("keepalives_count", "3"),
            ("tcp_user_timeout", "\(Int(limits.unacknowledged / .milliseconds(1)))"),
        ]
        let session = try PostgresSession(keywords + (host?.keywords ?? []), by: deadline, onStatement: onStatement)
        for setting in Self.settings + (needsStandby ? [Self.waiting] : []) {
            try session.send(setting, PostgresParameters())
        }
        do {
            try session.receive(isEnd: true)
        } catch PostgresError.answered(let answer) where Self.foreignStatement.contains(answer.code) {
            throw Self.sharesSessions
        }
        session.lineage = try PostgresLineage.of(session)
        if let lineage = session.lineage, !memory.accepts(lineage) { throw Self.wasReplaced }
        return session
    }

    /// SQLSTATEs of a prepared statement that another connection has made, or that this one has made and that is not
    /// there.
    static let foreignStatement = ["42P05", "26000"]
    static let sharesSessions = PostgresError.refused(
        "its connections share sessions: through PgBouncer use `pool_mode = session`, or connect to the server itself")

    private static let wasReplaced = PostgresError.refused(
        "this server was replaced by a standby, and still takes writes: stop it, or make it a standby")

    /// Makes a commit wait until the standby has flushed it, whatever the server's default is.
    private static let waiting = """
        SELECT set_config('synchronous_commit', 'on', false)
        WHERE current_setting('synchronous_commit') <> 'remote_apply'
        """

    private static let settings = [
        "SET search_path = \(PostgresSchema.name), pg_catalog",
        // The engine's statements are written for loops over indexes. Tables that were never analyzed look small, and
        // the planner would read them whole.
        "SET enable_seqscan = off", "SET enable_hashjoin = off", "SET enable_mergejoin = off",
        "SET enable_bitmapscan = off", "SET enable_material = off", "SET jit = off",
        "SET plan_cache_mode = force_generic_plan",
        // An owner that was stopped in a transaction must not keep its successor waiting.
        "SET idle_in_transaction_session_timeout = '2s'",
        // What this side no longer waits for ends on the server too.
        "SET statement_timeout = '60s'",
        // A commit that was answered must survive a crash of the server, whatever its default is.
        """
        SELECT set_config('synchronous_commit', 'on', false)
        WHERE current_setting('synchronous_commit') IN ('off', 'local')
        """,
    ]
}
