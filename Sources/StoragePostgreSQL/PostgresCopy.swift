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
                let start = piece.bindMemory(to: CChar.self).baseAddress
                guard PQputCopyData(connection, start, CInt(piece.count)) == 1 else { throw broken(.lost(message)) }
                // libpq would keep whatever the server does not take yet.
                try flush(wait)
            }
        } catch {
            isBroken = true
            throw error
        }
        guard PQputCopyEnd(connection, nil) == 1 else { throw broken(.lost(message)) }
        try flush(wait)
        deadline = .now + wait
        try expect(PGRES_COMMAND_OK)
        guard try nextResult() == nil, PQenterPipelineMode(connection) == 1 else { throw broken(.lost(message)) }
    }

    /// Waits until the server has taken everything that was queued.
    private func flush(_ wait: Duration) throws {
        while true {
            let left = PQflush(connection)
            guard left >= 0 else { throw broken(.lost(message)) }
            if left == 0 { return }
            deadline = .now + wait
            do throws(PostgresError) { try waitForServer() } catch { throw broken(error) }
            guard PQconsumeInput(connection) == 1 else { throw broken(.lost(message)) }
        }
    }

    private func expect(_ status: ExecStatusType) throws {
        guard let result = try nextResult() else { throw broken(.lost(message)) }
        guard PQresultStatus(result.pointer) == status else {
            isBroken = true
            throw PostgresError.answered(PostgresAnswer(result))
        }
    }
}
