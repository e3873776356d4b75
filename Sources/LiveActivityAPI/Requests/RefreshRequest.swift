/// The body of `POST /v1/users/{user}/refresh`; it may be left out.
public struct RefreshRequest: Sendable, Hashable, Codable {
    /// The activity type whose provider is asked; absent: every type that has one.
    public var type: String?

    /// Asks the provider of this type, or of all types.
    public init(type: String? = nil) {
        self.type = type
    }
}

/// The body of `POST /v1/refreshes`: many people at once, one after another at the configured pace.
public struct RefreshesRequest: Sendable, Hashable, Codable {
    /// The activity type whose provider is asked; absent: every type that has one.
    public var type: String?
    /// The people, at most 1,000; absent: everybody of the app who has a device, which `all` has to say.
    public var users: [String]?
    /// Everybody is meant.
    public var all: Bool?

    /// Asks about these people.
    public init(type: String? = nil, users: [String]? = nil, all: Bool? = nil) {
        self.type = type
        self.users = users
        self.all = all
    }
}
