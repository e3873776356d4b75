import LiveActivityCore
package import LiveActivityStorage

/// Puts new keys in use and re-seals every token, beside a server that runs or without one.
///
/// The order of the steps is what makes it safe. The new keys are in the ring, on disk, before one commit puts them in
/// use; whoever writes after that commit writes under them, and reads the ring again if it does not know them. Then the
/// rows of earlier keys are re-sealed a page at a time, each compared and set, so that they only become fewer. A kill
/// anywhere leaves a state that the next run goes on from.
package struct TokenRotation: Sendable {
    /// What was done.
    package struct Summary: Sendable, Equatable {
        /// The keys in use.
        package var inUse: [String] = []
        /// Nothing was added: an earlier run had not come to its end.
        package var isResumed = false
        /// Rows that were re-sealed, by table.
        package var resealed: [String: Int] = [:]
        /// Rows that do not open, and were left as they are.
        package var damaged: [String: Int] = [:]
    }

    /// What became of the keys that are not in use.
    package struct Retirement: Sendable, Equatable {
        /// Those that went.
        package var retired: [String]
        /// Those that stay because rows need them.
        package var kept: [KeyUse]
    }

    /// Rows that hold what a key sealed or hashed.
    package struct KeyUse: Sendable, Equatable {
        package var id: String
        package var isSealing: Bool
        package var isInUse: Bool
        package var rows: Int
    }

    /// Why it cannot be done; nothing was changed.
    package enum Failure: Error, Sendable, Equatable, CustomStringConvertible {
        /// Another rotation runs.
        case isRunning
        /// The ring is in a variable, where no command can put a key.
        case cannotAdd(variable: String)
        /// The server has the ring of before: it could not open what is re-sealed.
        case serverHasAnother(variable: String)

        package var description: String {
            switch self {
            case .isRunning: "another rotation of this database is running: wait for its end"
            case .cannotAdd(let name):
                "the ring is in the variable \(name): put there what `islet keys new-ring --renewed` prints, restart "
                    + "the server, and run this command again with it"
            case .serverHasAnother(let name):
                "the first keys of the variable \(name) are not in use yet: restart the server with it first"
            }
        }
    }

    /// Rows that are written in one transaction.
    static let page = 500

    private let store: SQLiteStore
    private let sealer: TokenSealer

    /// - Parameter store: Opened with its ring, for `.administration` when a server may run.
    package init(_ store: SQLiteStore) throws(StorageError) {
        guard let sealer = store.sealer else { throw .tokenKeys(.notLoaded) }
        self.store = store
        self.sealer = sealer
    }

    // MARK: - Rotating

    /// Goes on with what an earlier run had begun; else puts new keys in use and re-seals everything under them.
    ///
    /// - Parameter pause: Called after each transaction with how long it took, so that a server's writes come first.
    package func rotate(pause: @Sendable (Duration) async throws -> Void) async throws -> Summary {
        let lock = try locked()
        defer { lock.unlock() }
        var summary = Summary()
        summary.isResumed = try await putInUse(try sealer.reload())
        try await resealAll(&summary, pause)
        if !summary.isResumed, summary.resealed.isEmpty {
            guard case .file(let path, _) = sealer.source else { throw Failure.cannotAdd(variable: variable) }
            try TokenKeyFile.replace(path, with: try sealer.ring.renewed())
            _ = try await putInUse(try sealer.reload())
            try await resealAll(&summary, pause)
        } else {
            summary.isResumed = true
        }
        summary.inUse = try await store.query { sql in
            try TokenKeyRegister.entries(sql).filter(\.isPrimary).map(\.id)
        }
        return summary
    }

    private var variable: String { if case .given(_, let name) = sealer.source { name } else { "" } }

    private func locked() throws -> ProcessLock {
        guard let lock = try ProcessLock(path: store.path + ".rotation") else { throw Failure.isRunning }
        return lock
    }

    /// - Returns: `false` when the ring's first keys were in use already.
    private func putInUse(_ ring: TokenKeyRing) async throws -> Bool {
        let entries = try await store.query { sql in try TokenKeyRegister.entries(sql) }
        guard !TokenKeyRegister.isAdopted(ring, entries) else { return false }
        var server: ProcessLock?
        if case .given(_, let name) = sealer.source {
            server = try ProcessLock(path: store.path)
            if server == nil { throw Failure.serverHasAnother(variable: name) }
        }
        defer { server?.unlock() }
        let place = sealer.source.place
        try await store.write { sql in try TokenKeyRegister.adopt(ring, place: place, sql) }
        return true
    }

    private func resealAll(
        _ summary: inout Summary, _ pause: @Sendable (Duration) async throws -> Void
    ) async throws {
        let resealer = TokenResealer(store)
        for table in TokenResealer.Table.allCases {
            var position = TokenResealer.Position()
            while true {
                let began = ContinuousClock.now
                let page = try await resealer.page(of: table, after: position)
                if page.resealed > 0 { summary.resealed[table.rawValue, default: 0] += page.resealed }
                if page.damaged > 0 { summary.damaged[table.rawValue, default: 0] += page.damaged }
                guard let next = page.next else { break }
                position = next
                try await pause(ContinuousClock.now - began)
            }
        }
    }

    // MARK: - Counting and retiring

    /// What each key of the database is still needed for.
    package func uses() async throws(StorageError) -> [KeyUse] {
        try await store.query { sql in try Self.uses(sql).map(\.use) }
    }

    private static func uses(_ sql: Statements) throws -> [(entry: TokenKeyEntry, use: KeyUse)] {
        var rows: [Int64: Int] = [:]
        for column in ["key FROM update_token", "key FROM device_token", "key FROM token_owner"] {
            try sql.query("SELECT count(*), \(column) GROUP BY 2") { row in
                let count = Int(row.int())
                rows[row.int(), default: 0] += count
            }
        }
        try sql.query("SELECT count(*), look_up FROM token_owner GROUP BY 2") { row in
            let count = Int(row.int())
            rows[row.int(), default: 0] += count
        }
        return try TokenKeyRegister.entries(sql).map { entry in
            let use = KeyUse(
                id: entry.id, isSealing: entry.use == .sealing, isInUse: entry.isPrimary,
                rows: rows[entry.number] ?? 0)
            return (entry, use)
        }
    }

    /// Takes the keys that no row needs any more out of the database and the ring.
    ///
    /// A key that is not in use gets no more rows, so that none is seen once is none for ever.
    package func retire() async throws -> Retirement {
        let lock = try locked()
        defer { lock.unlock() }
        let old = try await store.query { sql in try Self.uses(sql).filter { !$0.use.isInUse } }
        for (entry, use) in old where use.rows == 0 {
            _ = try await store.write { sql in try TokenKeyRegister.retire(entry, sql) }
        }
        // Those, too, that a run had retired and died before the ring was written.
        let retired = try await store.query { sql in try TokenKeyRegister.retiredIDs(sql) }
        let ring = try sealer.reload()
        let gone = retired.filter { id in TokenKey.Use.allCases.contains { ring[id, $0] != nil } }
        if !gone.isEmpty, case .file(let path, _) = sealer.source {
            try TokenKeyFile.replace(path, with: ring.without(Set(gone)))
        }
        return Retirement(retired: gone, kept: old.map(\.use).filter { $0.rows > 0 })
    }
}
