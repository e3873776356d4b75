import CLibPQ
import Foundation

extension PostgresSession {
    /// Loads rows into a table (https://www.postgresql.org/docs/15/sql-copy.html). Nothing may be waiting for a result.
    ///
    /// After an error the transaction has failed, and the session may be of no further use.
    ///
    /// - Parameters:
    ///   - command: The command, `COPY … FROM STDIN`.
    ///   - wait: Maximum time in which the server must take each piece, and end the command.
    ///   - pieces: Calls its argument with each piece of the data.
    func copy(
        _ command: String, wait: Duration, _ pieces: ((UnsafeRawBufferPointer) throws -> Void) throws -> Void
    ) throws {
        onStatement()
        deadline = .now + wait
        // COPY does not run in pipeline mode.
        guard PQexitPipelineMode(connection) == 1, PQsendQuery(connection, command) == 1 else {
            throw broken(.lost(message))
        }
        try expect(PGRES_COPY_IN)
        do {
            try pieces { piece in
                deadline = .now + wait
                try put(piece)
            }
        } catch {
            isBroken = true
            throw error
        }
        deadline = .now + wait
        while true {
            let isQueued = PQputCopyEnd(connection, nil)
            guard isQueued >= 0 else { throw broken(.lost(message)) }
            if isQueued == 1 { break }
            try waitUntilSent()
        }
        try expect(PGRES_COMMAND_OK)
        guard try nextResult() == nil, PQenterPipelineMode(connection) == 1 else { throw broken(.lost(message)) }
    }

    private func put(_ piece: UnsafeRawBufferPointer) throws {
        let start = piece.bindMemory(to: CChar.self).baseAddress
        while true {
            let isQueued = PQputCopyData(connection, start, CInt(piece.count))
            guard isQueued >= 0 else { throw broken(.lost(message)) }
            if isQueued == 1 { return }
            try waitUntilSent()
        }
    }

    /// Waits until libpq may have room for more.
    private func waitUntilSent() throws {
        do throws(PostgresError) { try waitForServer() } catch { throw broken(error) }
        guard PQconsumeInput(connection) == 1, PQflush(connection) >= 0 else { throw broken(.lost(message)) }
    }

    private func expect(_ status: ExecStatusType) throws {
        guard let result = try nextResult() else { throw broken(.lost(message)) }
        guard PQresultStatus(result.pointer) == status else {
            isBroken = true
            throw PostgresError.answered(PostgresAnswer(result))
        }
    }
}
