import APNSClient

/// Makes the client's key from a simulator's key. It has a file of its own because both modules call their type
/// `ProviderKey`.
enum Signing {
    static func key(keyID: String, teamID: String, p8: String) throws -> ProviderKey {
        try ProviderKey(keyID: keyID, teamID: teamID, p8: p8)
    }
}
