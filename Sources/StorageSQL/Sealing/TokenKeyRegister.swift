import Foundation
import LiveActivityStorage

/// A key as the database knows it: its id, number, use and proof, and whether it is in use. Never the key itself.
///
/// The database, not the ring, determines the key of new rows. So a switch to another key is an ordinary commit. Later
/// writers use the new key, and a process that does not know it reads the ring again.
struct TokenKeyEntry: Sendable, Equatable {
    /// The number of the key in rows. It is never reused.
    let number: Int64
    let id: String
    let use: TokenKey.Use
    let proof: [UInt8]
    let isPrimary: Bool
}

enum TokenKeyRegister {
    /// Time at which a key came into use or was retired, for whoever reads the table. No decision depends on it.
    private static var now: Int64 { Int64(Date().timeIntervalSince1970 * 1000) }

    /// Returns the keys that rows may need.
    static func entries(_ sql: Statements) throws -> [TokenKeyEntry] {
        try entries(sql, where: "no > 0 AND retired_at IS NULL")
    }

    static func entry(_ number: Int64, _ use: TokenKey.Use, _ sql: Statements) throws -> TokenKeyEntry? {
        try entries(sql, where: "no = ? AND use = ?", [.int(number), .int(Int64(use.rawValue))]).first
    }

    /// Returns the ids of keys that no row needs any more.
    static func retiredIDs(_ sql: Statements) throws -> [String] {
        var ids: [String] = []
        try sql.query("SELECT id FROM token_key WHERE no > 0 AND retired_at IS NOT NULL ORDER BY no") {
            ids.append($0.text())
        }
        return ids
    }

    private static func entries(
        _ sql: Statements, where condition: String, _ arguments: [Statements.Argument] = []
    ) throws -> [TokenKeyEntry] {
        var found: [TokenKeyEntry] = []
        try sql.query(
            "SELECT no, id, use, proof, is_primary FROM token_key WHERE \(condition) ORDER BY no", arguments
        ) { row in
            found.append(
                TokenKeyEntry(
                    number: row.int(), id: row.text(), use: try decodeCase(row.int(), "token_key", "use"),
                    proof: row.blob(), isPrimary: row.bool()))
        }
        return found
    }

    /// Checks that the ring contains every key of the database, with the same secret.
    static func check(
        _ entries: [TokenKeyEntry], _ ring: TokenKeyRing, place: String
    ) throws(TokenKeyProblem) {
        let missing = entries.filter { ring[$0.id, $0.use] == nil }
        guard missing.isEmpty else { throw .missingKeys(missing.map(\.id), place: place) }
        let wrong = entries.filter { ring[$0.id, $0.use]?.proof != $0.proof }
        guard wrong.isEmpty else { throw .wrongKeys(wrong.map(\.id), place: place) }
    }

    /// Returns `true` if the first keys of the ring are in use.
    static func isAdopted(_ ring: TokenKeyRing, _ entries: [TokenKeyEntry]) -> Bool {
        TokenKey.Use.allCases.allSatisfy { use in
            entries.contains { $0.use == use && $0.isPrimary && $0.id == ring.first(use)?.id }
        }
    }

    /// Puts the first keys of the ring in use. Other keys keep their state, except that they are no longer in use.
    static func adopt(_ ring: TokenKeyRing, place: String, _ sql: Statements) throws {
        let known = try entries(sql, where: "no > 0")
        for use in TokenKey.Use.allCases {
            guard let first = ring.first(use) else { continue }
            if let old = known.first(where: { $0.id == first.id }), old.proof != first.proof || old.use != use {
                throw TokenKeyProblem.wrongKeys([first.id], place: place)
            }
            try sql.run(
                "UPDATE token_key SET is_primary = 0 WHERE use = ? AND id <> ?",
                [.int(Int64(use.rawValue)), .text(first.id)])
            try sql.run(
                """
                INSERT INTO token_key (id, use, proof, is_primary, added_at) VALUES (?, ?, ?, 1, ?)
                ON CONFLICT (id) DO UPDATE SET is_primary = 1, retired_at = NULL
                """,
                [.text(first.id), .int(Int64(use.rawValue)), .blob(first.proof), .int(Self.now)])
        }
    }

    /// Retires a key. Returns `false` if it came into use meanwhile.
    static func retire(_ entry: TokenKeyEntry, _ sql: Statements) throws -> Bool {
        try sql.execute(
            "UPDATE token_key SET retired_at = ? WHERE no = ? AND is_primary = 0",
            [.int(Self.now), .int(entry.number)]) > 0
    }
}
