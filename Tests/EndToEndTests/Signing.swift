import APNSClient

/// The client's key of a simulator's key; a file of its own, since both modules call theirs `ProviderKey`.
enum Signing {
    static func key(keyID: String, teamID: String, p8: String) throws -> ProviderKey {
        try ProviderKey(keyID: keyID, teamID: teamID, p8: p8)
    }
}
