import LiveActivityCore
package import LiveActivityStorage

/// Puts new keys in use and reseals every token, beside a running server or without one.
///
/// The order of the steps makes the rotation safe:
///
/// - The new keys are in the ring, on disk.
/// - One commit puts them in use. Later writers use the new keys, and read the ring again if they do not know them.
/// - The rows of earlier keys are resealed a page at a time, by compare and set. Their number can only decrease.
///
/// If the process is killed at any point, the next run continues from there.
package struct TokenRotation: Sendable {
    /// The result of a rotation.
    package struct Summary: Sendable, Equatable {
        /// The ids of the keys in use.
        package var inUse: [String] = []
        /// `true` if no key was added, because an earlier run had not finished.
        package var isResumed = false
        /// Number of resealed rows, by table.
        package var resealed: [String: Int] = [:]
        /// Number of rows that do not open and were left unchanged, by table.
        package var damaged: [String: Int] = [:]
    }

    /// The result of retiring keys that are not in use.
    package struct Retirement: Sendable, Equatable {
        /// The ids of retired keys.
        package var retired: [String]
        /// The keys that remain, because rows need them.
        package var kept: [KeyUse]
    }

    /// The number of rows that contain values sealed or hashed with a key.
    package struct KeyUse: Sendable, Equatable {
        package var id: String
        package var isSealing: Bool
        package var isInUse: Bool
        package var rows: Int
    }

    /// The reason why a rotation is not possible. Nothing was changed.
    package enum Failure: Error, Sendable, Equatable, CustomStringConvertible {
        /// Another rotation is running.
        case isRunning
        /// The ring is in a variable, where a command cannot add a key.
        case cannotAdd(variable: String)
        /// The server uses the previous ring, so it could not open resealed tokens.
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

    /// Maximum number of rows that one transaction writes.
    static let page = 500

    private let store: SQLStore
    private let sealer: TokenSealer

    /// Creates a rotation.
    ///
    /// - Parameter store: A store that was opened with its ring, for `.administration` if a server may be running.
    /// - Throws: `StorageError.tokenKeys(.notLoaded)` if the store has no ring.
    package init(_ store: SQLStore) throws(StorageError) {
        guard let sealer = store.sealer else { throw .tokenKeys(.notLoaded) }
        self.store = store
        self.sealer = sealer
    }

    // MARK: - Rotating

    /// Continues an unfinished rotation. If there is none, puts new keys in use and reseals every token under them.
    ///
    /// - Parameter pause: Called after each transaction with its duration, so that a server's writes can go first.
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

    private func locked() throws -> any SQLLock {
        guard let lock = try store.database.lock(.rotation) else { throw Failure.isRunning }
        return lock
    }

    /// Puts the ring's first keys in use.
    ///
    /// - Returns: `false` if they were in use already.
    private func putInUse(_ ring: TokenKeyRing) async throws -> Bool {
        let entries = try await store.query { sql in try TokenKeyRegister.entries(sql) }
        guard !TokenKeyRegister.isAdopted(ring, entries) else { return false }
        var server: (any SQLLock)?
        if case .given(_, let name) = sealer.source {
            server = try store.database.lock(.serving)
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

    /// Returns the number of rows that need each key of the database.
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

    /// Removes the keys that no row needs from the database and the ring.
    ///
    /// A key that is not in use gets no more rows. So a key without rows never has rows again.
    package func retire() async throws -> Retirement {
        let lock = try locked()
        defer { lock.unlock() }
        let old = try await store.query { sql in try Self.uses(sql).filter { !$0.use.isInUse } }
        for (entry, use) in old where use.rows == 0 {
            _ = try await store.write { sql in try TokenKeyRegister.retire(entry, sql) }
        }
        // This includes keys that an earlier run retired without writing the ring.
        let retired = try await store.query { sql in try TokenKeyRegister.retiredIDs(sql) }
        let ring = try sealer.reload()
        let gone = retired.filter { id in TokenKey.Use.allCases.contains { ring[id, $0] != nil } }
        if !gone.isEmpty, case .file(let path, _) = sealer.source {
            try TokenKeyFile.replace(path, with: ring.without(Set(gone)))
        }
        return Retirement(retired: gone, kept: old.map(\.use).filter { $0.rows > 0 })
    }
}
