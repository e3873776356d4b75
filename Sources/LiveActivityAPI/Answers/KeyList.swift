/// The answer of `GET /v1/keys`: the API keys of the caller's app, without what proves them.
public struct KeyList: Sendable, Hashable, Codable {
    /// The keys, the oldest first.
    public var keys: [Row]

    /// One key.
    public struct Row: Sendable, Hashable, Codable {
        /// Its public half.
        public var id: String
        /// What it may do: `backend`, `device`, `read` or `admin`.
        public var scope: String
        /// What its maker calls it.
        public var name: String?
        /// `valid`, `expired` or `revoked`.
        public var standing: String
        /// When it was made.
        public var createdAt: Instant
        /// From when on it is not taken any more; absent: it has no end.
        public var expiresAt: Instant?
        /// When it was last used, up to two minutes before; absent: never.
        public var usedAt: Instant?

        /// One key.
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

    /// All keys.
    public init(keys: [Row]) {
        self.keys = keys
    }
}
