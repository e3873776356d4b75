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
        /// The app on a device, to announce a call.
        case voip(VoIPToken)
        /// The app of somebody who has joined a push-to-talk channel.
        case pushToTalk(PushToTalkToken)
        /// The complication of a watch.
        case complication(ComplicationToken)
        /// A File Provider extension.
        case fileProvider(FileProviderToken)
        /// A location push service extension.
        case location(LocationToken)
        /// The app's widgets on a device.
        case widgets(WidgetToken)
        /// One control on a device.
        case control(ControlToken)

        /// The last part of `/3/device/…`.
        public var hex: String {
            switch self {
            case .device(let token): token.hex
            case .pushToStart(let token): token.hex
            case .update(let token): token.hex
            case .voip(let token): token.hex
            case .pushToTalk(let token): token.hex
            case .complication(let token): token.hex
            case .fileProvider(let token): token.hex
            case .location(let token): token.hex
            case .widgets(let token): token.hex
            case .control(let token): token.hex
            }
        }
    }

    /// The token, with its kind.
    public let destination: Destination
    /// Which of Apple's services it goes to; the token is valid at one of them only.
    public let environment: APNSEnvironment
    /// The value of `apns-topic`; its push type is that of `apns-push-type`.
    public let topic: Topic
    /// The value of `apns-priority`, which not every push type leaves open: see the factories.
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
        /// How urgent it is; the factories of push types with a priority of their own pass it by.
        public var priority: PushPriority
        /// Until when APNs may deliver it. Never `once` for a start.
        public var expiration: PushExpiration
        /// Sent as `apns-collapse-id`, or left out.
        public var collapseID: CollapseID?
        /// Sent as `apns-id`: one of its own for each push, for support and for logs.
        public var id: PushID

        /// All that a factory such as `update` needs besides payload and token; only the collapse id is optional.
        /// `APNSClient.Route.envelope` fills most of it in.
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

    init(_ destination: Destination, _ type: PushType, _ envelope: Envelope, _ payload: [UInt8]) {
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
