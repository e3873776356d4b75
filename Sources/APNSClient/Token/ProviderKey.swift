public import APNSModel
import Crypto

/// A developer team's signing key for APNs: a `.p8` file from Apple's developer portal, with its two ids.
///
/// Live Activities require token authentication. A certificate cannot replace the key, and is refused with that
/// explanation. The key's descriptions, its mirror included, show only the ids.
public struct ProviderKey: Sendable, Hashable {
    /// The 10 characters that the portal shows beside the key. They are also in the name of its file.
    public let keyID: String
    /// The 10 characters of the team id ("Membership details" in the portal).
    public let teamID: String
    let privateKey: P256.Signing.PrivateKey

    /// Creates a key.
    ///
    /// - Parameters:
    ///   - keyID: The 10 characters of the key id.
    ///   - teamID: The 10 characters of the team id.
    ///   - p8: The text of the file `AuthKey_<key id>.p8`.
    /// - Throws: `ProviderKeyError`, whose description says what to do.
    public init(keyID: String, teamID: String, p8: String) throws(ProviderKeyError) {
        guard Self.isIdentifier(keyID) else { throw ProviderKeyError(.malformedKeyID(keyID.utf8.count)) }
        guard Self.isIdentifier(teamID) else { throw ProviderKeyError(.malformedTeamID(teamID.utf8.count)) }
        self.keyID = keyID
        self.teamID = teamID
        privateKey = try Self.parse(p8)
    }

    /// Signs a provider token. Source: Apple, "Establishing a token-based connection to APNs".
    ///
    /// `APNSClient` signs tokens by itself. This method is for tools that print a token.
    ///
    /// - Parameter issuedAt: The claim `iat`, sent as whole seconds. APNs refuses a token that is older than an hour.
    ///   It also refuses a connection that changes its token within 20 minutes.
    /// - Throws: `ProviderKeyError` (`signingFailed`).
    public func makeToken(issuedAt: UnixTime) throws(ProviderKeyError) -> ProviderToken {
        try ProviderToken(signedWith: self, issuedAt: issuedAt)
    }

    /// Returns `true` if both are the same key with the same ids.
    public static func == (left: Self, right: Self) -> Bool {
        left.keyID == right.keyID && left.teamID == right.teamID
            && left.privateKey.publicKey.rawRepresentation == right.privateKey.publicKey.rawRepresentation
    }

    /// Hashes the ids.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(keyID)
        hasher.combine(teamID)
    }

    private static func isIdentifier(_ text: String) -> Bool {
        text.utf8.count == 10
            && text.utf8.allSatisfy { byte in
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                    || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte & ~0x20)
            }
    }

    private static func parse(_ p8: String) throws(ProviderKeyError) -> P256.Signing.PrivateKey {
        if p8.contains("BEGIN CERTIFICATE") { throw ProviderKeyError(.certificate) }
        if p8.contains("BEGIN ENCRYPTED PRIVATE KEY") { throw ProviderKeyError(.encrypted) }
        if p8.contains("BEGIN PUBLIC KEY") { throw ProviderKeyError(.publicKey) }
        guard p8.contains("-----BEGIN ") else { throw ProviderKeyError(.notPEM) }
        // Editors and shells add blanks and carriage returns around the block. Neither changes the key.
        let lines = p8.split(whereSeparator: \.isNewline).map { line in
            line.drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed()
        }
        let text = lines.map { String($0) }.filter { !$0.isEmpty }.joined(separator: "\n")
        do {
            return try P256.Signing.PrivateKey(pemRepresentation: text)
        } catch {
            throw ProviderKeyError(.notP256)
        }
    }
}

extension ProviderKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The ids of the key and the team.
    public var description: String { "key \(keyID) of team \(teamID)" }
    /// The ids of the key and the team.
    public var debugDescription: String { description }
    /// A mirror without the private key, because `dump` and test failures print mirrors.
    public var customMirror: Mirror { Mirror(self, children: ["keyID": keyID, "teamID": teamID]) }
}
