import APNSModel
import Crypto
import Foundation
import LiveActivityCore
import LiveActivityStorage

/// The place of a sealed token. A token that is moved to another place does not open.
struct TokenPlace {
    enum Kind: UInt8 {
        case device = 1
        case pushToStart = 2
        case update = 3
        case predecessor = 4
        /// A row of `token_owner`, whose `name` is the row's hash.
        case owner = 5
    }

    var kind: Kind
    var device: DeviceKey
    /// 0 for a token that does not belong to one activity.
    var activity: ActivityNumber = 0
    var generation: Int64 = 0
}

/// Seals and opens tokens within one transaction or read. Only the thread of that transaction uses it.
///
/// A sealed token is a random nonce of 96 bits, the encrypted bytes of the token, and a tag of 128 bits (AES-256-GCM).
/// With random nonces, one key is good for 2³² seals (NIST SP 800-38D, section 8.3).
final class TokenSealing {
    /// Length of the look-up hash in bytes (128 bits).
    private static let hashBytes = 16
    private static let version: UInt8 = 1

    private let transaction: any SQLTransaction
    private let sealer: TokenSealer?
    private var keys: TokenSealer.Keys
    /// The keys of the database as of this transaction.
    private var register: [TokenKeyEntry]?
    /// The associated data of the current place.
    private var context: [UInt8] = []
    private var last: (number: Int64, key: SymmetricKey)?
    /// Number of tokens that were skipped because they did not open.
    private(set) var damaged = 0

    init(_ transaction: any SQLTransaction, _ sealer: TokenSealer?) {
        self.transaction = transaction
        self.sealer = sealer
        keys = sealer?.keys ?? TokenSealer.Keys()
    }

    private var sql: Statements { Statements(transaction: transaction, sealing: self) }

    // MARK: - Opening

    /// Opens a token. Returns `nil` if the bytes are not what was sealed for this place.
    ///
    /// - Throws: `TokenKeyProblem` if the ring lacks the key. This says nothing about the row, which opens again once
    ///   the ring is repaired.
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

    /// Seals a token for a place, under the key in use.
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

    /// Returns the number of the key in use, as of this transaction.
    func primary(_ use: TokenKey.Use) throws -> Int64 {
        guard let entry = try known().first(where: { $0.use == use && $0.isPrimary }) else {
            throw TokenKeyProblem.notLoaded
        }
        return entry.number
    }

    // MARK: - Looking up

    /// Returns the look-up hash of an owner's row, under the key in use.
    func hash(of owner: Snapshot.OwnerKey) throws -> String {
        try hash(of: owner, under: try primary(.lookUp))
    }

    /// Returns the owners by their look-up hashes, under every key that rows may have.
    ///
    /// During a change of keys, no owner is missed.
    func hashes(of owners: some Sequence<Snapshot.OwnerKey>) throws -> [String: Snapshot.OwnerKey] {
        let numbers = try known().filter { $0.use == .lookUp }.map(\.number)
        var hashes: [String: Snapshot.OwnerKey] = [:]
        for owner in owners {
            for number in numbers { hashes[try hash(of: owner, under: number)] = owner }
        }
        return hashes
    }

    /// Returns the hashes under keys that are not in use. Writing an owner deletes its rows with such hashes.
    func earlierHashes(of owners: some Sequence<Snapshot.OwnerKey>) throws -> [String] {
        let numbers = try known().filter { $0.use == .lookUp && !$0.isPrimary }.map(\.number)
        return try owners.flatMap { owner in try numbers.map { try hash(of: owner, under: $0) } }
    }

    private func hash(of owner: Snapshot.OwnerKey, under number: Int64) throws -> String {
        guard let key = keys.lookUp[number], let bytes = owner.id.bytes else { throw TokenKeyProblem.notLoaded }
        // A bundle id contains no NUL, so the separator keeps the texts of two owners distinct.
        var text = Array(owner.app.text.utf8)
        text.append(0)
        let code = HMAC<SHA256>.authenticationCode(for: text + bytes, using: key)
        return code.withUnsafeBytes {
            Hexadecimal.text(of: UnsafeRawBufferPointer(rebasing: $0.prefix(Self.hashBytes)))
        }
    }

    /// Returns the keys of the database. They are read once per transaction, so its writes use the keys in use at its
    /// commit.
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
        // The length keeps the data of two places distinct.
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

    /// The bytes of the token, or `nil` if it is not lowercase hexadecimal text. Every token that the API accepted is.
    fileprivate var bytes: [UInt8]? { Hexadecimal.bytes(of: hex) }
}

/// Converts lowercase hexadecimal text to bytes and back.
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
