public import APNSModel
import Crypto

/// The signing key of a developer team for APNs: a `.p8` file of Apple's developer portal with its two ids.
///
/// Live Activities are token authentication only: a certificate cannot take the key's place, and giving one is refused
/// with that explanation. Printing a key, in any way, shows its ids at most.
public struct ProviderKey: Sendable, Hashable {
    /// The 10 characters that the portal shows beside the key, and that are in the name of its file.
    public let keyID: String
    /// The 10 characters of the team ("Membership details" in the portal).
    public let teamID: String
    let privateKey: P256.Signing.PrivateKey

    /// - Parameter p8: The text of the file `AuthKey_<key id>.p8`.
    /// - Throws: `ProviderKeyError`, whose description says what to do.
    public init(keyID: String, teamID: String, p8: String) throws(ProviderKeyError) {
        guard Self.isIdentifier(keyID) else { throw ProviderKeyError(.malformedKeyID(keyID.utf8.count)) }
        guard Self.isIdentifier(teamID) else { throw ProviderKeyError(.malformedTeamID(teamID.utf8.count)) }
        self.keyID = keyID
        self.teamID = teamID
        privateKey = try Self.parse(p8)
    }

    /// Signs a provider token as Apple's "Establishing a token-based connection to APNs" describes it.
    ///
    /// `APNSClient` does this by itself; this is for tools that print a token.
    ///
    /// - Parameter issuedAt: Sent as whole seconds. APNs refuses a token that is older than an hour, and a connection
    ///   that changes its token within 20 minutes.
    public func makeToken(issuedAt: UnixTime) throws(ProviderKeyError) -> ProviderToken {
        try ProviderToken(signedWith: self, issuedAt: issuedAt)
    }

    /// Whether both are the same key under the same ids.
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
        // Editors and shells add blanks and carriage returns around the block; neither changes the key.
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
    /// Both ids.
    public var description: String { "key \(keyID) of team \(teamID)" }
    /// Both ids.
    public var debugDescription: String { description }
    /// `dump` and test failure messages print mirrors: they must not print the key either.
    public var customMirror: Mirror { Mirror(self, children: ["keyID": keyID, "teamID": teamID]) }
}
