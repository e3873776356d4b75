public import APNSModel
public import Crypto

/// A key whose provider tokens the simulator accepts: the public half of a team's `.p8` file.
///
/// Apple, "Establishing a token-based connection to APNs".
public struct ProviderKey: Sendable {
    /// The 10-character key id (`kid`).
    public let keyID: String
    /// The 10-character team id (`iss`).
    public let teamID: String
    /// The key that verifies signatures.
    public let publicKey: P256.Signing.PublicKey
    /// Environments in which the key is valid. Apple binds new keys to one environment.
    public let environments: Set<APNSEnvironment>
    /// Bundle ids to which a topic-specific key may push; `nil` for a team key, which may push to all.
    public let topics: Set<BundleID>?
    /// Id of a topic-specific key that may share a connection with this one.
    public let relatedKeyID: String?

    /// Creates a key from its parts.
    public init(
        keyID: String, teamID: String, publicKey: P256.Signing.PublicKey,
        environments: Set<APNSEnvironment> = Set(APNSEnvironment.allCases), topics: Set<BundleID>? = nil,
        relatedKeyID: String? = nil
    ) {
        self.keyID = keyID
        self.teamID = teamID
        self.publicKey = publicKey
        self.environments = environments
        self.topics = topics
        self.relatedKeyID = relatedKeyID
    }

    /// Creates a key from the text of a `.p8` file (PEM, PKCS#8) or of a public key's PEM.
    ///
    /// - Throws: `SimulatorError` with the code `badKey` if the text is neither.
    public init(
        keyID: String, teamID: String, pem: String,
        environments: Set<APNSEnvironment> = Set(APNSEnvironment.allCases), topics: Set<BundleID>? = nil,
        relatedKeyID: String? = nil
    ) throws(SimulatorError) {
        let key: P256.Signing.PublicKey
        if let secret = try? P256.Signing.PrivateKey(pemRepresentation: pem) {
            key = secret.publicKey
        } else if let open = try? P256.Signing.PublicKey(pemRepresentation: pem) {
            key = open
        } else {
            throw SimulatorError(.badKey, "the text is not a P-256 key in PEM form")
        }
        self.init(
            keyID: keyID, teamID: teamID, publicKey: key, environments: environments, topics: topics,
            relatedKeyID: relatedKeyID)
    }

    /// Creates a new key for a demo or a test. Returns the simulator's half and the text of the sender's `.p8` file.
    ///
    /// - Parameters:
    ///   - keyID: Key id of 10 characters; `nil` for a random one.
    ///   - teamID: Team id of 10 characters; `nil` for a random one.
    public static func fresh(
        keyID: String? = nil, teamID: String? = nil,
        environments: Set<APNSEnvironment> = Set(APNSEnvironment.allCases), topics: Set<BundleID>? = nil,
        relatedKeyID: String? = nil
    ) -> (key: ProviderKey, p8: String) {
        let secret = P256.Signing.PrivateKey()
        let key = ProviderKey(
            keyID: keyID ?? randomID(), teamID: teamID ?? randomID(), publicKey: secret.publicKey,
            environments: environments, topics: topics, relatedKeyID: relatedKeyID)
        return (key, secret.pemRepresentation + "\n")
    }

    private static func randomID() -> String {
        String((0..<10).map { _ in "ABCDEFGHJKLMNPQRSTUVWXYZ23456789".randomElement() ?? "A" })
    }
}
