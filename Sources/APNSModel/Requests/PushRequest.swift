/// A complete push to one device. Only its factory methods create it, so token, topic, type and payload always fit.
public struct PushRequest: Sendable {
    /// The destination of a push.
    public enum Destination: Sendable, Hashable {
        /// An app on a device, for alert and background pushes.
        case device(DeviceToken)
        /// An app on a device, to start a Live Activity of one attributes type.
        case pushToStart(PushToStartToken)
        /// A running Live Activity on a device.
        case update(UpdateToken)
        /// An app on a device, to announce a call.
        case voip(VoIPToken)
        /// The app of a person who has joined a push-to-talk channel.
        case pushToTalk(PushToTalkToken)
        /// A watch's complication.
        case complication(ComplicationToken)
        /// A File Provider extension.
        case fileProvider(FileProviderToken)
        /// A location push service extension.
        case location(LocationToken)
        /// An app's widgets on a device.
        case widgets(WidgetToken)
        /// A control on a device.
        case control(ControlToken)

        /// The token as hexadecimal text, the last part of the path `/3/device/…`.
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

    /// The token and its kind.
    public let destination: Destination
    /// The APNs environment. A token is valid in one of them only.
    public let environment: APNSEnvironment
    /// The value of `apns-topic`. Its push type is the value of `apns-push-type`.
    public let topic: Topic
    /// The value of `apns-priority`. Some push types fix it: see the factory methods.
    public let priority: PushPriority
    /// The value of `apns-expiration`: time until which APNs stores the push for an offline device.
    public let expiration: PushExpiration
    /// The value of `apns-collapse-id`. Apple documents no meaning for Live Activities.
    public let collapseID: CollapseID?
    /// The value of `apns-id`, which the answer repeats. APNs does not deduplicate by it.
    public let id: PushID
    /// The body, at most `PushType.maximumPayloadBytes`.
    public let payload: [UInt8]

    /// `false` for a start, which must not be sent again after an unknown outcome.
    ///
    /// APNs does not deduplicate, so a second start creates a second Live Activity.
    public var mayRepeat: Bool {
        if case .pushToStart = destination { false } else { true }
    }

    /// The parts of a request that do not depend on the kind of push.
    public struct Envelope: Sendable {
        /// The bundle id of the app. The push type adds its suffix.
        public var bundleID: BundleID
        /// The APNs environment of the token: sandbox for development builds.
        public var environment: APNSEnvironment
        /// The priority. Factory methods of push types with a fixed priority ignore it.
        public var priority: PushPriority
        /// Time until which APNs may deliver the push. Never `once` for a start.
        public var expiration: PushExpiration
        /// The value of `apns-collapse-id`, or `nil` to leave it out.
        public var collapseID: CollapseID?
        /// The value of `apns-id`. Use a new id for each push, for support and logs.
        public var id: PushID

        /// Creates an envelope. `APNSClient.Route.envelope` sets most of these values.
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
    /// A description with type, topic, id and size, without token and payload.
    public var description: String {
        "\(topic.pushType.rawValue) push \(id) to \(topic), priority \(priority.rawValue), \(payload.count) bytes"
    }

    /// A description with type, topic, id and size, without token and payload.
    public var debugDescription: String { description }
    /// A mirror without token and payload, because `dump` and test failures print mirrors.
    public var customMirror: Mirror { Mirror(self, children: ["summary": description]) }
}
