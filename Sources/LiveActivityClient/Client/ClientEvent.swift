internal import LiveActivityRegistration

/// An event of the client, for the app's log and for observers. It contains at most the first 8 characters of a token.
public struct ClientEvent: Sendable, Hashable, CustomStringConvertible {
    /// A kind of event. Later versions may add kinds.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The stable name of the kind.
        public let description: String

        init(_ description: String) { self.description = description }

        /// iOS handed out a token that the client did not know before.
        public static let tokenObtained = Code("tokenObtained")
        /// The client sends a token to the server.
        public static let tokenSent = Code("tokenSent")
        /// The server has confirmed a token.
        public static let tokenConfirmed = Code("tokenConfirmed")
        /// The server knows that a token is dead. The client waits for another one.
        public static let tokenDead = Code("tokenDead")
        /// The server has confirmed the phone, its settings and its person.
        public static let deviceConfirmed = Code("deviceConfirmed")
        /// The server has confirmed that nobody is signed in any more.
        public static let signedOut = Code("signedOut")
        /// A Live Activity appeared that a push or an earlier process has started.
        public static let activitySeen = Code("activitySeen")
        /// The server has confirmed the Live Activity as it is.
        public static let activityConfirmed = Code("activityConfirmed")
        /// The app started a Live Activity.
        public static let activityStarted = Code("activityStarted")
        /// The app starts a Live Activity although the server did not answer in time.
        public static let activityStartedWithoutServer = Code("activityStartedWithoutServer")
        /// The server has started this Live Activity, will start it, or has ended it, so the app does not start it.
        public static let activityLeftToServer = Code("activityLeftToServer")
        /// A Live Activity was not started; `detail` says why.
        public static let activityNotStarted = Code("activityNotStarted")
        /// iOS starts no Live Activity while the app is off the screen. The client starts it when the app is back
        /// within an hour.
        public static let activityPostponed = Code("activityPostponed")
        /// An answer of the server had a newer state, and the client asks iOS to show it. The next report says whether
        /// it does.
        public static let stateApplied = Code("stateApplied")
        /// An answer of the server said that a Live Activity is over, and the client asks iOS to end it.
        public static let endApplied = Code("endApplied")
        /// The client asks iOS to end this Live Activity, because another one shows the same activity.
        public static let duplicateEnded = Code("duplicateEnded")
        /// The person swiped a Live Activity away.
        public static let activityDismissed = Code("activityDismissed")
        /// A Live Activity is no longer there, and the client did not see why.
        public static let activityGone = Code("activityGone")
        /// The app reported that the person opened it from a Live Activity.
        public static let activityOpened = Code("activityOpened")
        /// The server refused the credential. The client asks for a new one.
        public static let credentialsRefused = Code("credentialsRefused")
        /// The server refused a call; `detail` has its code.
        public static let callRefused = Code("callRefused")
        /// The server did not answer or has a problem. The client repeats the call.
        public static let serverUnreachable = Code("serverUnreachable")
    }

    /// The kind of event.
    public let code: Code
    /// The activity type, or `nil` if the event is about no type.
    public let type: String?
    /// The backend's id of the activity, or `nil` if there is none or it is not known.
    public let activity: String?
    /// ActivityKit's id of the Live Activity, or `nil` if there is none.
    public let localID: String?
    /// A short detail, such as `update 80f2c0a4…`.
    public let detail: String?

    init(_ note: PhoneNote) {
        code = Code(note.code.rawValue)
        type = note.type
        activity = note.activity
        localID = note.localID
        detail = note.detail
    }

    /// One line for a log.
    public var description: String {
        let parts = [("type", type), ("activity", activity), ("localID", localID), ("", detail)]
        return parts.reduce(code.description) { line, part in
            guard let value = part.1 else { return line }
            return line + (part.0.isEmpty ? " \(value)" : " \(part.0)=\(value)")
        }
    }
}
