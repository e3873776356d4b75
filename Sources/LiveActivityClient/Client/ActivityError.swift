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
    /// The text is not the id of an activity.
    case invalidActivity(String)
    /// The server has no activity with this id that the person may join.
    case unknownActivity(String)
    /// The activity with this id has ended.
    case activityEnded(String)
    /// The activity is of another type than the attributes. The text is its type on the server.
    case typeDiffers(String)
    /// The server lets the app start no Live Activity of the activity with this id on this phone now.
    ///
    /// The server knows of one here or is starting one, the activity says `start: never`, or its `devices` do not
    /// include this phone.
    case notOffered(String)
    /// This version of the app cannot decode the server's attributes or state. Decoding failed with this error.
    case undecodable(any Error)
    /// The server did not answer within 30 seconds, has a problem, or does not know yet that the previous person left.
    /// Or the app had no credential.
    case serverUnreachable
    /// The server accepts no more calls for now.
    case rateLimited
    /// The server refused the credential, also the one that the app gave when asked again.
    case credentialsRefused
    /// The server refused the call with this code, or with this status if its answer has no code.
    case callRefused(String)
    /// The task was canceled, the client has ended, or the person changed before the result was known.
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
        case .invalidActivity(let text):
            "\(text) is not the id of an activity: give 1 to 256 bytes without control characters"
        case .unknownActivity(let id):
            "\(id) is no activity that the person may join: check the id, and the audience or `join` of its type"
        case .activityEnded(let id): "\(id) has ended: there is nothing to follow any more"
        case .typeDiffers(let name): "the activity is of the type \(name): join it as the attributes of that type"
        case .notOffered(let id):
            "the server lets the app start nothing of \(id) here now: see its `start`, its `devices` and its phones"
        case .undecodable(let error): "this version of the app cannot decode what the server wants shown: \(error)"
        case .serverUnreachable: "no answer from the server: try again later"
        case .rateLimited: "the server accepts no more calls for now: try again later"
        case .credentialsRefused: "the server refused the credential: see what the closure of IsletClient returns"
        case .callRefused(let code): "the server refused the call: \(code)"
        case .cancelled: "cancelled"
        }
    }
}
