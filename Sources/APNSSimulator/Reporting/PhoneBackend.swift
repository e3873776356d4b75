public import APNSModel
public import JSONText

/// What the app on a phone says to its backend. Every call answers with what the backend wants shown on that phone.
///
/// Calls for one phone come one after the other, in the order in which things happened; for several phones at once.
/// A call that throws is repeated with growing pauses, `ReportLimits.attempts` times at most.
public protocol PhoneBackend: Sendable {
    /// The phone says who it is; on every launch, and whenever something of it changes.
    func register(_ phone: PhoneID, _ report: DeviceReport) async throws -> [DesiredCard]
    /// The push-to-start token of a type; one value may serve several types.
    func pushToStartToken(
        _ phone: PhoneID, type: String, token: PushToStartToken
    ) async throws -> [DesiredCard]
    /// One card changed.
    func instance(_ phone: PhoneID, _ report: InstanceReport) async throws -> [DesiredCard]
    /// Every card the phone holds; a larger sequence is newer.
    func inventory(
        _ phone: PhoneID, sequence: Int, instances: [InstanceReport]
    ) async throws -> [DesiredCard]
    /// The person signed out.
    func signOut(_ phone: PhoneID) async throws
    /// A call as `LiveActivityClient` makes it, of a phone that runs it (``PhoneSpecification/runsClient``). It is not
    /// repeated here: the client sees to that.
    ///
    /// - Throws: When there is no answer.
    func call(_ phone: PhoneID, _ request: PhoneRequest) async throws -> PhoneResponse
}

extension PhoneBackend {
    /// Nobody is there.
    public func call(_ phone: PhoneID, _ request: PhoneRequest) async throws -> PhoneResponse {
        throw SimulatorError(.notRunning, "this backend takes no calls of the client")
    }
}

/// An HTTP call of the client on a phone. Printing it does not show the body, which may hold tokens.
public struct PhoneRequest: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    /// `PUT` or `DELETE`.
    public let method: String
    /// From the server's root, percent-encoded.
    public let path: String
    /// JSON; `nil` for none.
    public let body: [UInt8]?

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

/// Who a phone is.
public struct DeviceReport: Sendable, Hashable {
    /// Who is signed in.
    public let user: String
    /// Always `ios`.
    public let platform: String
    /// The IANA name.
    public let timeZone: String
    /// Such as `en_US`.
    public let locale: String
    /// Such as `18.2`.
    public let osVersion: String
    /// The app's version.
    public let appVersion: String
    /// The app's build.
    public let build: String
    /// Such as `iPhone17,1`.
    public let model: String
    /// Which of Apple's services the tokens belong to.
    public let environment: APNSEnvironment
    /// Whether the person allows Live Activities.
    public let activitiesEnabled: Bool
    /// Whether the person allows frequent updates.
    public let frequentPushesEnabled: Bool
    /// What the person said about ordinary notifications.
    public let notificationAuthorization: NotificationAuthorization
    /// For ordinary notifications.
    public let deviceToken: DeviceToken
}

/// One card, as the app on the phone knows it.
public struct InstanceReport: Sendable, Hashable {
    /// What the app knows of the card.
    public enum State: String, Sendable, Hashable, CaseIterable, Codable {
        /// The app is about to start it.
        case requesting
        case pending, active, stale, ended
        /// The person swiped it away, and the app saw it.
        case dismissed
        /// It is not there any more, and the app did not see why.
        case gone
    }

    /// ActivityKit's id of the card.
    public let localID: String
    /// The Swift name of its attributes type.
    public let type: String
    /// The server's name for it, when the app knows it.
    public let activity: String?
    /// The half that never changes.
    public let attributes: JSONObject
    /// What the app knows of it.
    public let state: State
    /// The update token, once there is one.
    public let token: UpdateToken?
    /// On the phone's own clock.
    public let startedAt: UnixTime
    /// The newest timestamp the card has applied.
    public let lastTimestamp: UnixTime
    /// What it shows.
    public let contentState: JSONObject
    /// The server's revision that the last local update was based on.
    public let basedOn: Int?
}

/// What the backend wants one card to show. The simulator's phones do not act on it.
public struct DesiredCard: Sendable, Hashable {
    /// The server's name for it.
    public var activity: String
    /// ActivityKit's id, if the backend knows the card.
    public var localID: String?
    /// What it should show; `nil` when that is known.
    public var contentState: JSONObject?
    /// Whether it should end.
    public var isEnded: Bool

    /// A wish about one card.
    public init(activity: String, localID: String? = nil, contentState: JSONObject? = nil, isEnded: Bool = false) {
        self.activity = activity
        self.localID = localID
        self.contentState = contentState
        self.isEnded = isEnded
    }
}

/// One thing an app tells its backend.
enum PhoneReport: Sendable, Hashable {
    case register(DeviceReport)
    case pushToStartToken(type: String, token: PushToStartToken)
    case instance(InstanceReport)
    case inventory(sequence: Int, instances: [InstanceReport])
    case signOut
}

/// How patient an app is with its backend.
public struct ReportLimits: Sendable, Hashable {
    /// How often one report is tried; then it is dropped, with a line in the device log.
    public var attempts = 10
    /// The pause after the first failure; it doubles.
    public var firstPause = Duration.milliseconds(500)
    /// The longest pause.
    public var longestPause = Duration.seconds(60)
    /// How many reports wait on one phone; the oldest is dropped beyond.
    public var waiting = 256
    /// How many phones report at the same time.
    public var concurrent = 32

    /// The standard values.
    public init() {}
}
