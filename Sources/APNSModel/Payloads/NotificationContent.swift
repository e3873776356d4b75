import JSONText

/// Everything an ordinary notification may say: the table of Apple's "Generating a remote notification".
///
/// Each part that is `nil` or `false` is left out of the payload. One of them must be there.
public struct NotificationContent: Sendable, Hashable {
    /// The first line.
    public var title: PushAlert.Text?
    /// What stands between title and body.
    public var subtitle: PushAlert.Text?
    /// The words themselves.
    public var body: PushAlert.Text?
    /// A launch image or storyboard of the app's bundle.
    public var launchImage: String?
    /// The number on the app's icon; 0 takes it away, and a negative one is refused.
    public var badge: Int?
    /// What is heard; nothing when `nil`.
    public var sound: NotificationSound?
    /// Notifications of one thread are shown as one group.
    public var threadID: String?
    /// The app's `UNNotificationCategory`, whose actions it gets.
    public var category: String?
    /// Whether the app is also woken, as by a background push.
    public var isContentAvailable = false
    /// Whether the app's notification service extension may change it before it is shown.
    public var isContentMutable = false
    /// The window that the app brings forward, as `UNNotificationContent.targetContentIdentifier`.
    public var targetContentID: String?
    /// How much it may interrupt; `active` when `nil`.
    public var interruptionLevel: InterruptionLevel?
    /// Its place in the notification summary, 0 to 1; the highest gets featured.
    public var relevance: Double?
    /// What the app's Focus filter (`SetFocusFilterIntent`) compares it with.
    public var filterCriteria: String?

    /// How much a notification may interrupt (iOS 15 and later).
    public enum InterruptionLevel: String, Sendable, Hashable, CaseIterable {
        /// Into the list, without lighting the screen.
        case passive
        /// At once; lights the screen and plays the sound.
        case active
        /// Also through a Focus; the app needs the capability.
        case timeSensitive = "time-sensitive"
        /// Also through the mute switch; the app needs Apple's entitlement.
        case critical
    }

    /// The words, and nothing else; the rest is set afterwards.
    public init(
        title: PushAlert.Text? = nil, subtitle: PushAlert.Text? = nil, body: PushAlert.Text? = nil,
        sound: NotificationSound? = nil
    ) {
        self.title = title
        self.subtitle = subtitle
        self.body = body
        self.sound = sound
    }
}

/// The sound of an ordinary notification.
public enum NotificationSound: Sendable, Hashable {
    /// A file of the app's bundle or of its `Library/Sounds`, at most 30 seconds long; `default` is the system's.
    case named(String)
    /// Played through the mute switch and a Focus, at a volume from 0 to 1. The app needs Apple's entitlement.
    case critical(name: String = "default", volume: Double = 1)

    /// The system's own sound.
    public static let standard = Self.named("default")
}

extension NotificationContent {
    /// Writes the members of `aps`.
    func write(into text: inout PayloadText) throws(PayloadError) -> [PayloadError.Part] {
        var parts: [PayloadError.Part] = []
        let words = alertMembers
        if !words.isEmpty {
            let bytes = JSONValue.object(words).bytes
            text.member("alert", encoded: bytes)
            parts.append(.init(name: "alert", bytes: bytes.count))
        }
        try writeNumbers(into: &text)
        if let threadID { text.member("thread-id", threadID) }
        if let category { text.member("category", category) }
        if isContentAvailable { text.member("content-available", 1) }
        if isContentMutable { text.member("mutable-content", 1) }
        if let targetContentID { text.member("target-content-id", targetContentID) }
        if let interruptionLevel { text.member("interruption-level", interruptionLevel.rawValue) }
        if let filterCriteria { text.member("filter-criteria", filterCriteria) }
        guard !text.isEmpty else { throw .empty }
        return parts
    }

    private func writeNumbers(into text: inout PayloadText) throws(PayloadError) {
        if let badge {
            guard badge >= 0 else { throw .outOfRange(field: "badge", allowed: "0 or more") }
            text.member("badge", Int64(badge))
        }
        switch sound {
        case nil: break
        case .named(let name): text.member("sound", name)
        case .critical(let name, let volume):
            guard (0...1).contains(volume), let number = JSONNumber(volume) else {
                throw .outOfRange(field: "volume", allowed: "0 to 1")
            }
            let value: JSONValue = .object(["critical": 1, "name": .string(name), "volume": .number(number)])
            text.member("sound", encoded: value.bytes)
        }
        if let relevance {
            guard (0...1).contains(relevance) else { throw .outOfRange(field: "relevance", allowed: "0 to 1") }
            text.member("relevance-score", try RelevanceScore(relevance))
        }
    }

    /// The form of ordinary notifications: flat `title-loc-key`, `loc-key` beside each other.
    private var alertMembers: JSONObject {
        var members: JSONObject = [:]
        func add(_ text: PushAlert.Text?, _ plain: String, _ prefix: String) {
            switch text {
            case nil: break
            case .text(let text)?: members[plain] = .string(text)
            case .localized(let key, let arguments)?:
                members["\(prefix)loc-key"] = .string(key)
                if !arguments.isEmpty { members["\(prefix)loc-args"] = .array(arguments.map(JSONValue.string)) }
            }
        }
        add(title, "title", "title-")
        add(subtitle, "subtitle", "subtitle-")
        add(body, "body", "")
        if let launchImage { members["launch-image"] = .string(launchImage) }
        return members
    }
}
