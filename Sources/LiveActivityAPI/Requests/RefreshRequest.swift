/// The body of `POST /v1/users/{user}/refresh`. The call may also omit the body.
public struct RefreshRequest: Sendable, Hashable, Codable {
    /// The activity type whose provider is asked. Default: every type that has a provider.
    public var type: String?

    /// Creates a request for this type, or for all types.
    public init(type: String? = nil) {
        self.type = type
    }
}

/// The body of `POST /v1/refreshes`: a refresh of many people, one after another at the configured pace.
///
/// Either ``users`` or ``all`` is set.
public struct RefreshesRequest: Sendable, Hashable, Codable {
    /// The activity type whose provider is asked. Default: every type that has a provider.
    public var type: String?
    /// The people, at most 1,000. `nil`: every person of the app who has a device, if ``all`` is `true`.
    public var users: [String]?
    /// `true` to refresh every person of the app who has a device.
    public var all: Bool?

    /// Creates a request for these people.
    public init(type: String? = nil, users: [String]? = nil, all: Bool? = nil) {
        self.type = type
        self.users = users
        self.all = all
    }
}
