#if PostgreSQL
    package import APNSModel
    package import LiveActivityStorage
    import StoragePostgreSQL
    package import StorageSQL
    import StorageSQLite

    /// A move of all rows from a SQLite file to an empty PostgreSQL database, while no server runs on either.
    ///
    /// The file is marked before the database commits, so there is no time at which servers could start on both.
    package struct DatabaseMove: Sendable {
        /// The result of a move.
        package struct Summary: Sendable, Equatable {
            /// Number of rows by table; empty if the move had been completed before.
            package var rows: [String: Int] = [:]
            package var wasComplete = false
        }

        let source: String
        let target: String
        let needsStandby: Bool
        let tokenKeys: TokenKeySource
        let again: Bool
        /// Called between the mark and the commit, for tests.
        var beforeCommit: @Sendable () -> Void = {}

        /// Creates a move that is not started yet.
        ///
        /// - Parameters:
        ///   - source: The path of the file.
        ///   - target: A URL of libpq.
        ///   - needsStandby: `true` if a standby must have the rows.
        ///   - tokenKeys: The keys that the server will use. They must open the tokens of the file.
        ///   - again: `true` if an earlier move that has marked the file is known to have failed.
        package init(
            from source: String, to target: String, needsStandby: Bool, tokenKeys: TokenKeySource, again: Bool = false
        ) {
            self.source = source
            self.target = target
            self.needsStandby = needsStandby
            self.tokenKeys = tokenKeys
            self.again = again
        }

        /// Copies and compares all rows, marks the file, and commits. The method blocks.
        ///
        /// After an error no row has moved, except after `StorageError.commitUnknown`: then the file is marked, and
        /// another run finds out what became of this one.
        ///
        /// - Parameter report: Called after each table, with its name and number of rows.
        package func run(
            at now: UnixTime, report: (String, Int) -> Void = { _, _ in }
        ) throws(StorageError) -> Summary {
            let file = try DatabaseExport(path: source)
            defer { file.close() }
            let database = try PostgresImport(postgres: target, needsStandby: needsStandby)
            defer { database.close() }
            do {
                let before = try file.mark()
                if let before, try database.mark() == before.at.milliseconds {
                    try? file.set(before.completed)
                    return Summary(wasComplete: true)
                }
                if let before { try check(before, database.place) }
                let rows = try copy(file, database, before, now, report)
                // Without this, the next run finds out.
                try? file.set(MoveMark(to: database.place, at: now, isComplete: true))
                return Summary(rows: rows)
            } catch let error as StorageError {
                throw error
            } catch {
                throw .failed("\(error)")
            }
        }

        /// Checks that an earlier move is known to have failed. The database is locked and does not have that move's
        /// rows, so it will not get them any more.
        private func check(_ before: MoveMark, _ place: String) throws(StorageError) {
            guard before.place == place else {
                throw .failed(
                    """
                    \(source): \(before), not to \(place). To begin anew from this file, restore a copy of it with \
                    `islet restore`
                    """)
            }
            guard again else {
                throw .failed(
                    """
                    \(source): a move to \(place) began at \(before.at), and that database does not have its rows. If \
                    that move failed, add --again. Never do so if a server has run on that database since: what is in \
                    the file is older
                    """)
            }
        }

        private func copy(
            _ file: DatabaseExport, _ database: PostgresImport, _ before: MoveMark?, _ now: UnixTime,
            _ report: (String, Int) -> Void
        ) throws -> [String: Int] {
            let mark = MoveMark(to: database.place, at: now)
            do {
                return try file.read { rows in
                    if let problem = try SQLStore.problem(of: tokenKeys, on: rows) {
                        throw StorageError.tokenKeys(problem)
                    }
                    return try database.copy(from: rows, mark: now.milliseconds, report: report) {
                        try file.set(mark, isUnchanged: true)
                        beforeCommit()
                    }
                }
            } catch {
                // Without the mark, it had not come to the commit.
                guard takeBack(mark, before, after: error, file) else {
                    throw StorageError.commitUnknown("\(database.place): \(error). Run `islet move` again")
                }
                throw error
            }
        }

        /// Takes the mark back if the move has certainly failed.
        ///
        /// - Returns: `false` if the file may be marked.
        private func takeBack(
            _ mark: MoveMark, _ before: MoveMark?, after error: any Error, _ file: DatabaseExport
        ) -> Bool {
            do {
                guard try file.mark() == mark else { return true }
                guard let error = error as? SQLError, error.kind == .rolledBack || error.kind == .conflict else {
                    return false
                }
                try file.set(before)
                return true
            } catch {
                return false
            }
        }
    }
#endif
