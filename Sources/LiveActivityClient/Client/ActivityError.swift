/// A reason why the client did not do what the app asked for with a Live Activity.
public enum ActivityError: Error, CustomStringConvertible {
    /// The type was not passed to ``IsletClient/track(_:as:startsActivities:keepsOwnState:)``.
    case untrackedType(String)
    /// Nobody is signed in, so the Live Activity would belong to nobody.
    case nobodySignedIn
    /// The attributes or the state are not a JSON object, or their encoding failed with this error.
    case unencodable(any Error)
    /// This version of iOS cannot do it. The text says what it needs.
    case unavailable(String)
    /// The text is not the id of a broadcast channel.
    case invalidChannel(String)
    /// iOS refused to start the Live Activity with this error, mostly `ActivityAuthorizationError`.
    case refused(any Error)
    /// The task was canceled or the client has ended before the result was known.
    case cancelled

    /// One line that says what is wrong and what to do.
    public var description: String {
        switch self {
        case .untrackedType(let name): "\(name) is not tracked: call track(\(name).self) before run()"
        case .nobodySignedIn: "nobody is signed in: call signIn(user:) first"
        case .unencodable(let error): "the value cannot be encoded as a JSON object: \(error)"
        case .unavailable(let needs): "this version of iOS does not support it: \(needs)"
        case .invalidChannel(let text):
            "\(text) is not the id of a broadcast channel: give the base64 text that APNs chose for it"
        case .refused(let error): "iOS refused the Live Activity: \(error)"
        case .cancelled: "cancelled"
        }
    }
}
