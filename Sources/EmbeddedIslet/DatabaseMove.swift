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
            /// The tables that were copied; empty if the move had been completed before.
            package var tables: [Table] = []
            package var wasComplete = false
        }

        /// A table with its number of rows.
        package struct Table: Sendable, Equatable {
            package let name: String
            package let rows: Int

            init(_ table: PostgresImport.Table) {
                (name, rows) = (table.name, table.rows)
            }
        }

        let source: String
        let target: String
        let needsStandby: Bool
        let tokenKeys: TokenKeySource
        let again: Bool

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
        /// After an error both databases are as they were, except after `StorageError.commitUnknown`: then the file is
        /// marked, and another run finds out what became of this one.
        ///
        /// - Parameter report: Called after each table.
        package func run(
            at now: UnixTime, report: (Table) -> Void = { _ in }
        ) throws(StorageError) -> Summary {
            let file = try DatabaseExport(path: source)
            defer { file.close() }
            let database = try PostgresImport(postgres: target, needsStandby: needsStandby)
            defer { database.close() }
            do {
                let before = try file.mark()
                if let before, try database.mark() == before.at.milliseconds { return Summary(wasComplete: true) }
                // This database is locked and does not have the mark, so that move will not be completed any more.
                if let before, before.place != database.place || !again {
                    throw StorageError.failed(
                        """
                        \(source) was moved to \(before.place) at \(before.at), and \(database.place) does not \
                        have its rows. If that move failed, add --again. Never do so if a server has run on \
                        \(before.place) since: what is in the file is older
                        """)
                }
                return Summary(tables: try copy(file, database, now, report))
            } catch let error as StorageError {
                throw error
            } catch {
                throw .failed("\(error)")
            }
        }

        private func copy(
            _ file: DatabaseExport, _ database: PostgresImport, _ now: UnixTime,
            _ report: (Table) -> Void
        ) throws -> [Table] {
            do {
                return try file.read { rows in
                    if let problem = try SQLStore.problem(of: tokenKeys, on: rows) {
                        throw StorageError.tokenKeys(problem)
                    }
                    return try database.copy(from: rows, mark: now.milliseconds, report: { report(Table($0)) }) {
                        try file.set(MoveMark(to: database.place, at: now))
                    }.map(Table.init)
                }
            } catch let error as SQLError where error.kind != .rolledBack && error.kind != .conflict {
                throw try isMarked(file, now)
                    ? StorageError.commitUnknown("\(error). Run `islet move` again") : StorageError.failed("\(error)")
            } catch {
                if try isMarked(file, now) { try file.set(nil) }
                throw error
            }
        }

        private func isMarked(_ file: DatabaseExport, _ now: UnixTime) throws -> Bool { try file.mark()?.at == now }
    }
#endif
