/// Where the apps on the phones send their calls: each runs the decisions of `LiveActivityClient`, and these are its
/// calls, as `docs/api.md` describes them.
///
/// The calls of one phone come one after the other; those of several phones at once.
public protocol PhoneBackend: Sendable {
    /// Carries a call to the server. It is not repeated here: the app sees to that.
    ///
    /// - Throws: When there is no answer.
    func call(_ phone: PhoneID, _ request: PhoneRequest) async throws -> PhoneResponse
}

/// An HTTP call of the app on a phone. Printing it shows neither the credential nor the body, which may hold tokens.
public struct PhoneRequest: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    /// `PUT` or `DELETE`.
    public let method: String
    /// From the server's root, percent-encoded.
    public let path: String
    /// JSON; `nil` for none.
    public let body: [UInt8]?
    /// What the server gave this phone to speak with; `nil`: nothing yet, and the backend's own is meant.
    public let credential: String?
    /// What the header `Islet-Device-Credential` says, where `credential` is `nil`: what the server gave this phone for
    /// the person before. `nil`: there is no such header.
    public let proof: String?
    /// Where `credential` is `nil`: the person whose own token the app would send. `nil`: nobody is signed in.
    public let person: String?

    /// The method and the path.
    public var description: String { "\(method) \(path)" }
    /// No parts, so that `dump` shows no token.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// What the server answered.
public struct PhoneResponse: Sendable, Hashable {
    /// The HTTP status.
    public var status: Int
    /// JSON.
    public var body: [UInt8]
    /// The header `Date`, in seconds since 1970.
    public var date: Int?

    /// An answer.
    public init(status: Int, body: [UInt8] = [], date: Int? = nil) {
        self.status = status
        self.body = body
        self.date = date
    }
}
