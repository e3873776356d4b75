/// The receiver of the calls that the apps on phones make.
///
/// Each app runs the decisions of `LiveActivityClient`. `docs/api.md` describes its calls.
///
/// The calls of one phone arrive one after the other, those of several phones concurrently.
public protocol PhoneBackend: Sendable {
    /// Sends a call to the server. A call that fails is not repeated here, because the app does that.
    ///
    /// - Throws: An error if there is no answer.
    func call(_ phone: PhoneID, _ request: PhoneRequest) async throws -> PhoneResponse
}

/// An HTTP call of the app on a phone.
///
/// Printing it shows neither the credential nor the body, which may contain tokens.
public struct PhoneRequest: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    /// `PUT` or `DELETE`.
    public let method: String
    /// The path from the server's root, percent-encoded.
    public let path: String
    /// The body as JSON; `nil` for none.
    public let body: [UInt8]?
    /// The credential that the server gave this phone; `nil` if there is none yet, and the backend's own credential is
    /// to be used.
    public let credential: String?
    /// Value of the header `Islet-Device-Credential`; `nil` for no such header. It is the credential that the server
    /// gave this phone for the person before. It is set only if `credential` is `nil`.
    public let proof: String?
    /// The person whose own token the app would send; `nil` if nobody is signed in. It is set only if `credential` is
    /// `nil`.
    public let person: String?

    /// The method and the path.
    public var description: String { "\(method) \(path)" }
    /// An empty mirror, so that `dump` shows no token.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The server's answer to a call.
public struct PhoneResponse: Sendable, Hashable {
    /// The HTTP status.
    public var status: Int
    /// The body as JSON.
    public var body: [UInt8]
    /// Value of the header `Date`, in seconds since 1970.
    public var date: Int?

    /// Creates an answer.
    public init(status: Int, body: [UInt8] = [], date: Int? = nil) {
        self.status = status
        self.body = body
        self.date = date
    }
}
