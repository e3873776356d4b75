/// One push to one device, complete: made only by the factories below, so that token, topic, type and payload fit.
public struct PushRequest: Sendable {
    /// Where it goes.
    public enum Destination: Sendable, Hashable {
        /// The app on a device: alert and background pushes.
        case device(DeviceToken)
        /// The app on a device, to start a Live Activity of one attributes type.
        case pushToStart(PushToStartToken)
        /// One running Live Activity on one device.
        case update(UpdateToken)

        /// The last part of `/3/device/…`.
        public var hex: String {
            switch self {
            case .device(let token): token.hex
            case .pushToStart(let token): token.hex
            case .update(let token): token.hex
            }
        }
    }

    /// The token, with its kind.
    public let destination: Destination
    /// Which of Apple's services it goes to; the token is valid at one of them only.
    public let environment: APNSEnvironment
    /// The value of `apns-topic`; its push type is that of `apns-push-type`.
    public let topic: Topic
    /// The value of `apns-priority`; always low for a background push.
    public let priority: PushPriority
    /// The value of `apns-expiration`: until when APNs stores the push for a device that is away.
    public let expiration: PushExpiration
    /// The value of `apns-collapse-id`. Apple documents no meaning of it for Live Activities.
    public let collapseID: CollapseID?
    /// The value of `apns-id`, which the answer repeats. APNs does not deduplicate by it.
    public let id: PushID
    /// The body, at most `PushType.maximumPayloadBytes`.
    public let payload: [UInt8]

    /// The bytes of a start are sent once only: when their fate is unknown they must not be sent again, since APNs does
    /// not deduplicate and a second start is a second card.
    public var mayRepeat: Bool {
        if case .pushToStart = destination { false } else { true }
    }

    /// What does not depend on the kind of push.
    public struct Envelope: Sendable {
        /// The app's bundle id without any suffix: the push type adds its own.
        public var bundleID: BundleID
        /// The service that the token is of: sandbox for development builds.
        public var environment: APNSEnvironment
        /// How urgent it is; `background` sends at low priority whatever stands here.
        public var priority: PushPriority
        /// Until when APNs may deliver it. Never `once` for a start.
        public var expiration: PushExpiration
        /// Sent as `apns-collapse-id`, or left out.
        public var collapseID: CollapseID?
        /// Sent as `apns-id`: one of its own for each push, for support and for logs.
        public var id: PushID

        /// All that a factory such as `update` needs besides payload and token; only the collapse id is optional.
        public init(
            bundleID: BundleID, environment: APNSEnvironment, priority: PushPriority, expiration: PushExpiration,
            collapseID: CollapseID? = nil, id: PushID
        ) {
            self.bundleID = bundleID
            self.environment = environment
            self.priority = priority
            self.expiration = expiration
            self.collapseID = collapseID
            self.id = id
        }
    }

    /// Starts a Live Activity (iOS 17.2 and later).
    public static func start(_ payload: StartPayload, to token: PushToStartToken, _ envelope: Envelope) -> Self {
        Self(.pushToStart(token), .liveactivity, envelope, payload.bytes)
    }

    /// Updates a running Live Activity.
    public static func update(_ payload: UpdatePayload, to token: UpdateToken, _ envelope: Envelope) -> Self {
        Self(.update(token), .liveactivity, envelope, payload.bytes)
    }

    /// Ends a running Live Activity.
    public static func end(_ payload: EndPayload, to token: UpdateToken, _ envelope: Envelope) -> Self {
        Self(.update(token), .liveactivity, envelope, payload.bytes)
    }

    /// An ordinary notification.
    public static func alert(_ payload: AlertPayload, to token: DeviceToken, _ envelope: Envelope) -> Self {
        Self(.device(token), .alert, envelope, payload.bytes)
    }

    /// Wakes the app without showing anything; always at low priority, as Apple requires for the type.
    public static func background(_ payload: BackgroundPayload, to token: DeviceToken, _ envelope: Envelope) -> Self {
        var envelope = envelope
        envelope.priority = .low
        return Self(.device(token), .background, envelope, payload.bytes)
    }

    private init(_ destination: Destination, _ type: PushType, _ envelope: Envelope, _ payload: [UInt8]) {
        self.destination = destination
        environment = envelope.environment
        topic = Topic(envelope.bundleID, type)
        priority = envelope.priority
        expiration = envelope.expiration
        collapseID = envelope.collapseID
        id = envelope.id
        self.payload = payload
    }
}

extension PushRequest: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Type, topic, id and size; token and payload are not printed.
    public var description: String {
        "\(topic.pushType.rawValue) push \(id) to \(topic), priority \(priority.rawValue), \(payload.count) bytes"
    }

    /// Type, topic, id and size, as in `description`.
    public var debugDescription: String { description }
    /// `dump` and test failure messages print mirrors: the payload is not theirs either.
    public var customMirror: Mirror { Mirror(self, children: ["summary": description]) }
}
