internal import LiveActivityRegistration

/// Something that happened; for the app's log and for those who want to know. No token is shown beyond its first 8
/// characters.
public struct ClientEvent: Sendable, Hashable, CustomStringConvertible {
    /// What kinds there are; later versions may have more.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// In words, stable.
        public let description: String

        init(_ description: String) { self.description = description }

        /// iOS handed out a token that was not known before.
        public static let tokenObtained = Code("tokenObtained")
        /// A token is on its way to the server.
        public static let tokenSent = Code("tokenSent")
        /// The server has a token.
        public static let tokenConfirmed = Code("tokenConfirmed")
        /// The server knows a token to be dead: the app waits for another.
        public static let tokenDead = Code("tokenDead")
        /// The server knows the phone, its settings and its person.
        public static let deviceConfirmed = Code("deviceConfirmed")
        /// The server knows that nobody is signed in any more.
        public static let signedOut = Code("signedOut")
        /// A Live Activity appeared: a push started it, or an earlier process.
        public static let activitySeen = Code("activitySeen")
        /// The server has the Live Activity as it is.
        public static let activityConfirmed = Code("activityConfirmed")
        /// The app started a Live Activity.
        public static let activityStarted = Code("activityStarted")
        /// The app starts a Live Activity although the server did not answer in time.
        public static let activityStartedWithoutServer = Code("activityStartedWithoutServer")
        /// The server has started that Live Activity, or will, or has ended it: the app does not.
        public static let activityLeftToServer = Code("activityLeftToServer")
        /// A Live Activity was not started; `detail` says why.
        public static let activityNotStarted = Code("activityNotStarted")
        /// iOS starts no Live Activity while the app is off the screen: it is started when the app is back, within an
        /// hour.
        public static let activityPostponed = Code("activityPostponed")
        /// An answer of the server brought a newer state, which iOS is asked to show; the next report says whether it
        /// does.
        public static let stateApplied = Code("stateApplied")
        /// An answer of the server said that a Live Activity is over, and iOS is asked to end it.
        public static let endApplied = Code("endApplied")
        /// Of two Live Activities that show the same this one goes: iOS is asked to end it.
        public static let duplicateEnded = Code("duplicateEnded")
        /// The person swiped a Live Activity away.
        public static let activityDismissed = Code("activityDismissed")
        /// A Live Activity is not there any more, and nobody saw why.
        public static let activityGone = Code("activityGone")
        /// The app said that the person opened it from a Live Activity.
        public static let activityOpened = Code("activityOpened")
        /// The server did not take the credential; it is asked for anew.
        public static let credentialsRefused = Code("credentialsRefused")
        /// The server refused a call; `detail` has its code.
        public static let callRefused = Code("callRefused")
        /// The server did not answer, or is in trouble; the call is repeated.
        public static let serverUnreachable = Code("serverUnreachable")
    }

    /// What happened.
    public let code: Code
    /// The activity type; `nil`: none in particular.
    public let type: String?
    /// The backend's id of what it shows; `nil`: none, or not known.
    public let activity: String?
    /// ActivityKit's id of the Live Activity; `nil`: none.
    public let localID: String?
    /// More in a word, such as `update 80f2c0a4…`.
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
