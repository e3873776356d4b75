import APNSModel
import Crypto
import Foundation
import GRDB
import LiveActivityCore
import LiveActivityStorage

/// Where a sealed token stands: moved to another place it does not open.
struct TokenPlace {
    enum Kind: UInt8 {
        case device = 1
        case pushToStart = 2
        case update = 3
        case predecessor = 4
        /// Of `token_owner`; its `name` is the hash that the row is found by.
        case owner = 5
    }

    var kind: Kind
    var device: DeviceKey
    /// 0 where the token is of no one activity.
    var activity: ActivityNumber = 0
    var generation: Int64 = 0
}

/// Seals and opens tokens within one transaction, or one read: used by its thread alone.
///
/// A sealed token is a random nonce of 96 bits, the token's bytes encrypted, and a tag of 128 bits (AES-256-GCM). With
/// random nonces a key is good for 2³² seals (NIST SP 800-38D, 8.3).
final class TokenSealing {
    /// Of the look-up hash: 128 bits.
    private static let hashBytes = 16
    private static let version: UInt8 = 1

    private let db: Database
    private let sealer: TokenSealer?
    private var keys: TokenSealer.Keys
    /// The keys in use as of this transaction.
    private var register: [TokenKeyEntry]?
    /// The associated data of the place that is worked on.
    private var context: [UInt8] = []
    private var last: (number: Int64, key: SymmetricKey)?
    /// Tokens that were passed over because they did not open.
    private(set) var damaged = 0

    init(_ db: Database, _ sealer: TokenSealer?) {
        self.db = db
        self.sealer = sealer
        keys = sealer?.keys ?? TokenSealer.Keys()
    }

    private var sql: Statements { Statements(db: db, sealing: self) }

    // MARK: - Opening

    /// The token; `nil` when it is not what was sealed for this place.
    ///
    /// - Throws: When the ring lacks its key: that says nothing about the row, which opens when the ring is mended.
    func open(
        _ sealed: UnsafeRawBufferPointer, under number: Int64, at place: TokenPlace, app: UnsafeRawBufferPointer,
        name: UnsafeRawBufferPointer
    ) throws -> TokenValue? {
        guard let key = try key(number) else { return nil }
        setContext(place, app: app, name: name)
        guard let box = try? AES.GCM.SealedBox(combined: sealed),
            let token = try? AES.GCM.open(box, using: key, authenticating: context)
        else { return nil }
        return TokenValue(bytes: token)
    }

    private func key(_ number: Int64) throws -> SymmetricKey? {
        if let last, last.number == number { return last.key }
        if keys.sealing[number] == nil {
            guard let sealer else { throw TokenKeyProblem.notLoaded }
            keys = try sealer.learn(try TokenKeyRegister.entry(number, .sealing, sql).map { [$0] } ?? [])
        }
        guard let key = keys.sealing[number] else { return nil }
        last = (number, key)
        return key
    }

    func noteDamage() { damaged += 1 }

    // MARK: - Sealing

    /// A token for a place, under the key that is in use.
    func seal(
        _ token: TokenValue, at place: TokenPlace, app: String, name: String
    ) throws -> [UInt8] {
        let number = try primary(.sealing)
        guard let key = try key(number) else { throw TokenKeyProblem.notLoaded }
        guard let bytes = token.bytes else { throw DamagedRow(table: "the change", column: "token") }
        Array(app.utf8).withUnsafeBytes { app in
            Array(name.utf8).withUnsafeBytes { name in setContext(place, app: app, name: name) }
        }
        guard let sealed = try AES.GCM.seal(bytes, using: key, authenticating: context).combined else {
            throw TokenKeyProblem.notLoaded
        }
        return Array(sealed)
    }

    /// The number of the key that is in use, as of this transaction.
    func primary(_ use: TokenKey.Use) throws -> Int64 {
        guard let entry = try known().first(where: { $0.use == use && $0.isPrimary }) else {
            throw TokenKeyProblem.notLoaded
        }
        return entry.number
    }

    // MARK: - Looking up

    /// What an owner's row is found by, under the key that is in use.
    func hash(of owner: Snapshot.OwnerKey) throws -> String {
        try hash(of: owner, under: try primary(.lookUp))
    }

    /// The tokens by the hashes that their owners' rows are found by, under every key that rows may have been written
    /// with: while one key takes another's place, no owner is missed.
    func hashes(of owners: some Sequence<Snapshot.OwnerKey>) throws -> [String: Snapshot.OwnerKey] {
        let numbers = try known().filter { $0.use == .lookUp }.map(\.number)
        var hashes: [String: Snapshot.OwnerKey] = [:]
        for owner in owners {
            for number in numbers { hashes[try hash(of: owner, under: number)] = owner }
        }
        return hashes
    }

    /// Those of keys that are not in use any more: a row that is written has none of them left.
    func earlierHashes(of owners: some Sequence<Snapshot.OwnerKey>) throws -> [String] {
        let numbers = try known().filter { $0.use == .lookUp && !$0.isPrimary }.map(\.number)
        return try owners.flatMap { owner in try numbers.map { try hash(of: owner, under: $0) } }
    }

    private func hash(of owner: Snapshot.OwnerKey, under number: Int64) throws -> String {
        guard let key = keys.lookUp[number], let bytes = owner.id.bytes else { throw TokenKeyProblem.notLoaded }
        // No bundle id has a NUL, so that no two owners have one text.
        var text = Array(owner.app.text.utf8)
        text.append(0)
        let code = HMAC<SHA256>.authenticationCode(for: text + bytes, using: key)
        return code.withUnsafeBytes {
            Hexadecimal.text(of: UnsafeRawBufferPointer(rebasing: $0.prefix(Self.hashBytes)))
        }
    }

    /// Read once in a transaction: what it writes is under the keys that are in use as it commits.
    private func known() throws -> [TokenKeyEntry] {
        if let register { return register }
        guard let sealer else { throw TokenKeyProblem.notLoaded }
        let entries = try TokenKeyRegister.entries(sql)
        keys = try sealer.learn(entries)
        register = entries
        return entries
    }

    // MARK: - Associated data

    private func setContext(_ place: TokenPlace, app: UnsafeRawBufferPointer, name: UnsafeRawBufferPointer) {
        context.removeAll(keepingCapacity: true)
        context.append(Self.version)
        context.append(place.kind.rawValue)
        append(place.device)
        append(place.activity)
        append(place.generation)
        // With its length, so that no two places have one text.
        append(Int64(app.count))
        context.append(contentsOf: app)
        context.append(contentsOf: name)
    }

    private func append(_ number: Int64) {
        withUnsafeBytes(of: number.bigEndian) { context.append(contentsOf: $0) }
    }
}

extension TokenValue {
    fileprivate init(bytes: Data) {
        self.init(stored: bytes.withUnsafeBytes { Hexadecimal.text(of: $0) })
    }

    /// `nil` when it is not hexadecimal text, as every token is that came through the door.
    fileprivate var bytes: [UInt8]? { Hexadecimal.bytes(of: hex) }
}

/// Lower-case hexadecimal text and back.
enum Hexadecimal {
    static func text(of bytes: UnsafeRawBufferPointer) -> String {
        String(unsafeUninitializedCapacity: bytes.count * 2) { text in
            var index = 0
            for byte in bytes {
                text[index] = digit(byte >> 4)
                text[index + 1] = digit(byte & 15)
                index += 2
            }
            return index
        }
    }

    static func bytes(of text: String) -> [UInt8]? {
        var text = text
        return text.withUTF8 { characters in
            guard characters.count.isMultiple(of: 2) else { return nil }
            var bytes: [UInt8] = []
            bytes.reserveCapacity(characters.count / 2)
            for index in stride(from: 0, to: characters.count, by: 2) {
                guard let high = value(characters[index]), let low = value(characters[index + 1]) else { return nil }
                bytes.append(high << 4 | low)
            }
            return bytes
        }
    }

    private static func digit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x57 + value }

    private static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case 0x30...0x39: digit - 0x30
        case 0x61...0x66: digit - 0x57
        default: nil
        }
    }
}
