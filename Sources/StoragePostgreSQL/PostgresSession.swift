import CLibPQ
import Foundation

/// A connection to PostgreSQL on which statements are sent without waiting for the results of those before (libpq's
/// pipeline mode, https://www.postgresql.org/docs/15/libpq-pipeline-mode.html). One thread at a time uses it.
///
/// Every wait ends at `deadline`. After an error other than the server's answer to a statement, the connection is of no
/// further use: nobody knows what the server has done.
final class PostgresSession {
    /// A result that is to come, and its use.
    private enum Expected {
        case prepared(PreparedKey)
        case result((PostgresResult) throws -> Void)
        case sync
    }

    struct PreparedKey: Hashable {
        let text: String
        let types: [UInt32]
    }

    /// Maximum number of prepared statements. Further texts are parsed each time.
    private static let maximumPrepared = 1000

    let connection: OpaquePointer
    private var expected: [Expected] = []
    /// Number of results at the front of `expected` that were taken.
    private var taken = 0
    private var prepared: [PreparedKey: String] = [:]
    private var lastName = 0
    /// The first error since the last sync. The server skips all statements until then.
    private var failure: PostgresError?
    private let notices = Notices()
    /// Time at which a wait for the server ends with an error.
    var deadline = ContinuousClock.now
    /// Counts a statement that is sent.
    let onStatement: @Sendable () -> Void
    /// The line of changes that the server's rows belong to; `nil` if it does not say.
    var lineage: PostgresLineage?
    /// `true` once the connection is of no further use.
    var isBroken = false

    /// Connects, and enters pipeline mode.
    ///
    /// - Parameters:
    ///   - keywords: Connection parameters as libpq takes them
    ///     (https://www.postgresql.org/docs/15/libpq-connect.html#LIBPQ-PARAMKEYWORDS). `dbname` may be a URL.
    ///   - deadline: Time at which connecting fails.
    init(
        _ keywords: [(String, String)], by deadline: ContinuousClock.Instant,
        onStatement: @escaping @Sendable () -> Void = {}
    ) throws(PostgresError) {
        self.onStatement = onStatement
        self.deadline = deadline
        let names = keywords.map { strdup($0.0) } + [nil]
        let values = keywords.map { strdup($0.1) } + [nil]
        defer { for text in names + values { free(text) } }
        let started = names.map { UnsafePointer($0) }.withUnsafeBufferPointer { names in
            values.map { UnsafePointer($0) }.withUnsafeBufferPointer { values in
                PQconnectStartParams(names.baseAddress, values.baseAddress, 1)
            }
        }
        guard let started else { throw .lost("there is no memory for a connection") }
        connection = started
        // If this throws, `deinit` ends the connection.
        try connect()
    }

    deinit { PQfinish(connection) }

    private func connect() throws(PostgresError) {
        var next = PGRES_POLLING_WRITING
        while PQstatus(connection) != CONNECTION_BAD {
            switch next {
            case PGRES_POLLING_OK:
                PQsetnonblocking(connection, 1)
                PQenterPipelineMode(connection)
                PQsetNoticeReceiver(
                    connection,
                    { context, result in
                        guard let context, let result else { return }
                        Unmanaged<Notices>.fromOpaque(context).takeUnretainedValue().take(result)
                    }, Unmanaged.passUnretained(notices).toOpaque())
                return
            case PGRES_POLLING_READING: try wait(for: Int16(POLLIN))
            case PGRES_POLLING_WRITING: try wait(for: Int16(POLLOUT))
            default: throw .refused(message)
            }
            next = PQconnectPoll(connection)
        }
        throw .refused(message)
    }

    /// The server's version, as 150018 for 15.18.
    var serverVersion: Int { Int(PQserverVersion(connection)) }

    /// `true` unless the server has closed the connection, as far as this side knows without asking.
    var isUsable: Bool {
        guard !isBroken, PQstatus(connection) == CONNECTION_OK else { return false }
        var descriptor = pollfd(fd: PQsocket(connection), events: Int16(POLLIN), revents: 0)
        guard poll(&descriptor, 1, 0) > 0 else { return true }
        return PQconsumeInput(connection) == 1 && PQstatus(connection) == CONNECTION_OK
            && descriptor.revents & Int16(POLLHUP | POLLERR) == 0
    }

    /// The warnings that came since this was last asked. On a commit they mean that a standby may not have it.
    func takeWarnings() -> [String] { notices.takeAll() }

    // MARK: - Sending

    /// Sends a statement. Its result is taken when `receive` reaches it.
    func send(
        _ text: String, _ parameters: PostgresParameters, _ take: @escaping (PostgresResult) throws -> Void = { _ in }
    ) throws(PostgresError) {
        onStatement()
        let key = PreparedKey(text: text, types: parameters.types)
        if prepared[key] == nil, prepared.count < Self.maximumPrepared {
            lastName += 1
            let name = "i\(lastName)"
            let isSent = parameters.types.withUnsafeBufferPointer { types in
                PQsendPrepare(connection, name, text, CInt(types.count), types.baseAddress)
            }
            guard isSent == 1 else { throw broken(.lost(message)) }
            prepared[key] = name
            expected.append(.prepared(key))
        }
        let isSent = parameters.withPointers { values, lengths, formats in
            let count = CInt(values.count)
            if let name = prepared[key] {
                return PQsendQueryPrepared(
                    connection, name, count, values.baseAddress, lengths.baseAddress, formats.baseAddress, 1)
            }
            return parameters.types.withUnsafeBufferPointer { types in
                PQsendQueryParams(
                    connection, text, count, types.baseAddress, values.baseAddress, lengths.baseAddress,
                    formats.baseAddress, 1)
            }
        }
        guard isSent == 1 else { throw broken(.lost(message)) }
        expected.append(.result(take))
    }

    // MARK: - Receiving

    /// Waits for the results of all statements sent so far.
    ///
    /// - Parameter isEnd: `true` at the end of a transaction. Statements after an error are then no longer skipped.
    func receive(isEnd: Bool = false) throws {
        // What takes the results must not outlive this call, also if the connection ends.
        defer {
            expected.removeAll(keepingCapacity: true)
            taken = 0
        }
        if isEnd {
            guard PQpipelineSync(connection) == 1 else { throw broken(.lost(message)) }
            expected.append(.sync)
        } else {
            guard PQsendFlushRequest(connection) == 1 else { throw broken(.lost(message)) }
        }
        var thrown: (any Error)?
        while taken < expected.count {
            let next = expected[taken]
            taken += 1
            do {
                try receive(next)
            } catch let error as PostgresError where isBroken {
                throw error
            } catch {
                thrown = thrown ?? error
            }
        }
        let failed = failure
        if isEnd { failure = nil }
        if let thrown { throw thrown }
        if let failed { throw failed }
    }

    private func receive(_ expected: Expected) throws {
        var problem: (any Error)?
        while let result = try nextResult() {
            let status = PQresultStatus(result.pointer)
            switch status {
            case PGRES_PIPELINE_SYNC: return
            case PGRES_COMMAND_OK, PGRES_TUPLES_OK:
                guard case .result(let take) = expected, problem == nil else { continue }
                do {
                    try take(result)
                } catch {
                    problem = error
                }
            case PGRES_PIPELINE_ABORTED:
                if case .prepared(let key) = expected { prepared[key] = nil }
            default:
                if case .prepared(let key) = expected { prepared[key] = nil }
                let error = PostgresError.answered(PostgresAnswer(result))
                if failure == nil { failure = error }
                if PQstatus(connection) != CONNECTION_OK { throw broken(.lost(message)) }
            }
        }
        if let problem { throw problem }
    }

    /// Returns the next result of a statement, or `nil` after its last one.
    func nextResult() throws(PostgresError) -> PostgresResult? {
        var mayHaveUnsent = true
        while true {
            if mayHaveUnsent {
                let left = PQflush(connection)
                guard left >= 0 else { throw broken(.lost(message)) }
                mayHaveUnsent = left == 1
            }
            guard PQisBusy(connection) == 1 else { break }
            do throws(PostgresError) {
                try wait(for: Int16(mayHaveUnsent ? POLLIN | POLLOUT : POLLIN))
            } catch {
                throw broken(error)
            }
            guard PQconsumeInput(connection) == 1 else { throw broken(.lost(message)) }
        }
        return PQgetResult(connection).map(PostgresResult.init)
    }

    /// Waits until the server sends something or takes more.
    func waitForServer() throws(PostgresError) { try wait(for: Int16(POLLIN | POLLOUT)) }

    private func wait(for events: Int16) throws(PostgresError) {
        while true {
            let left = deadline - .now
            guard left > .zero else { throw .late }
            var descriptor = pollfd(fd: PQsocket(connection), events: events, revents: 0)
            let milliseconds = min(left / .milliseconds(1) + 1, 60_000)
            let ready = poll(&descriptor, 1, CInt(milliseconds))
            if ready > 0 { return }
            guard ready == 0 || errno == EINTR else { throw .lost(String(cString: strerror(errno))) }
        }
    }

    func broken(_ error: PostgresError) -> PostgresError {
        isBroken = true
        return error
    }

    /// libpq's last message, in one line. It names hosts and roles, and never a parameter of a statement.
    var message: String {
        String(cString: PQerrorMessage(connection)).split(whereSeparator: \.isNewline)
            .map { $0.trimmingCharacters(in: .whitespaces) }.joined(separator: "; ")
    }
}

/// Why a statement or a connection failed.
enum PostgresError: Error, Sendable {
    /// There is no connection, for the server's or the network's reasons.
    case refused(String)
    /// The connection ended.
    case lost(String)
    /// The server has not answered in time.
    case late
    /// The server refused a statement.
    case answered(PostgresAnswer)

    var words: String {
        switch self {
        case .refused(let words), .lost(let words): words
        case .late: "the server does not answer"
        case .answered(let answer): answer.description
        }
    }
}

/// The server's answer to a statement that failed, without its detail, which may contain values of rows.
struct PostgresAnswer: Sendable, CustomStringConvertible {
    /// SQLSTATE (https://www.postgresql.org/docs/15/errcodes-appendix.html).
    let code: String
    let message: String

    init(_ result: PostgresResult) {
        func field(_ code: UInt8) -> String? {
            PQresultErrorField(result.pointer, CInt(code)).map { String(cString: $0) }
        }
        code = field(UInt8(ascii: "C")) ?? ""
        message = field(UInt8(ascii: "M")) ?? "no message"
    }

    var description: String { "PostgreSQL error \(code): \(message)" }
}

/// A result with all its rows.
final class PostgresResult {
    let pointer: OpaquePointer

    init(_ pointer: OpaquePointer) {
        self.pointer = pointer
    }

    deinit { PQclear(pointer) }

    var rows: Int { Int(PQntuples(pointer)) }
    /// Number of rows that the statement changed.
    var changed: Int { Int(String(cString: PQcmdTuples(pointer))) ?? 0 }

    /// Returns a number of eight bytes in the first row; `nil` if there is none.
    func int(column: Int32) -> Int64? {
        guard rows > 0, PQgetlength(pointer, 0, column) == 8 else { return nil }
        return Int64(bigEndian: UnsafeRawPointer(PQgetvalue(pointer, 0, column)).loadUnaligned(as: Int64.self))
    }

    /// The command that the server ran, such as `COMMIT`.
    var command: String { String(cString: PQcmdStatus(pointer)) }
}

/// The warnings of one connection. libpq calls `take` while the connection's thread waits for a result.
private final class Notices {
    private var warnings: [String] = []

    func take(_ result: OpaquePointer) {
        // The severity that is never localised.
        guard let severity = PQresultErrorField(result, CInt(UInt8(ascii: "V"))),
            String(cString: severity) == "WARNING"
        else { return }
        let message = PQresultErrorField(result, CInt(UInt8(ascii: "M")))
        warnings.append(message.map { String(cString: $0) } ?? "no message")
    }

    func takeAll() -> [String] {
        defer { warnings = [] }
        return warnings
    }
}
