/// The answer of `GET /v1/keys`: the API keys of the caller's app, without their secrets.
public struct KeyList: Sendable, Hashable, Codable {
    /// The keys, the oldest first.
    public var keys: [Row]

    /// One key.
    public struct Row: Sendable, Hashable, Codable {
        /// The public half of the key.
        public var id: String
        /// The scope of the key: `backend`, `device`, `read` or `admin`.
        public var scope: String
        /// The name that the key's creator gave it. `nil` if it has none.
        public var name: String?
        /// The standing of the key: `valid`, `expired` or `revoked`.
        public var standing: String
        /// The time when the key was created.
        public var createdAt: Instant
        /// The time from which the key is no longer accepted. `nil` if the key does not expire.
        public var expiresAt: Instant?
        /// The time of the last use, which may be up to two minutes too early. `nil` if the key was never used.
        public var usedAt: Instant?

        /// Creates a row.
        public init(
            id: String, scope: String, name: String? = nil, standing: String, createdAt: Instant,
            expiresAt: Instant? = nil, usedAt: Instant? = nil
        ) {
            self.id = id
            self.scope = scope
            self.name = name
            self.standing = standing
            self.createdAt = createdAt
            self.expiresAt = expiresAt
            self.usedAt = usedAt
        }
    }

    /// Creates a list of keys.
    public init(keys: [Row]) {
        self.keys = keys
    }
}
