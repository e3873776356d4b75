/// Why the client did not do what it was asked for with a Live Activity.
public enum ActivityError: Error, CustomStringConvertible {
    /// The type was not named with ``IsletClient/track(_:as:startsActivities:keepsOwnState:)``.
    case untrackedType(String)
    /// Nobody is signed in whose activity it would be.
    case nobodySignedIn
    /// The attributes or the state are not a JSON object, or their encoding failed, with this error.
    case unencodable(any Error)
    /// This version of iOS cannot do it; what it needs, in words.
    case unavailable(String)
    /// This is not the id of a broadcast channel.
    case invalidChannel(String)
    /// iOS refused to start it, with this error: `ActivityAuthorizationError`, mostly.
    case refused(any Error)
    /// The task was cancelled, or the client has ended, before it was known what came of it.
    case cancelled

    /// What is wrong, and what to do, in one line.
    public var description: String {
        switch self {
        case .untrackedType(let name): "\(name) is not tracked: call track(\(name).self) before run()"
        case .nobodySignedIn: "nobody is signed in: call signIn(user:) first"
        case .unencodable(let error): "cannot be written as a JSON object: \(error)"
        case .unavailable(let needs): "this version of iOS cannot do it: \(needs)"
        case .invalidChannel(let text):
            "\(text) is not the id of a broadcast channel: give the base64 text that APNs chose for it"
        case .refused(let error): "iOS refused the Live Activity: \(error)"
        case .cancelled: "cancelled"
        }
    }
}
