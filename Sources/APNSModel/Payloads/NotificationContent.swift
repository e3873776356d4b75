import JSONText

/// The content of an ordinary notification. Source: Apple, "Generating a remote notification".
///
/// Properties that are `nil` or `false` are left out of the payload. At least one must be set.
public struct NotificationContent: Sendable, Hashable {
    /// The first line.
    public var title: PushAlert.Text?
    /// The line between title and body.
    public var subtitle: PushAlert.Text?
    /// The main text.
    public var body: PushAlert.Text?
    /// The launch image or storyboard, from the app's bundle.
    public var launchImage: String?
    /// The number on the app's icon. 0 removes it. A negative number is an error.
    public var badge: Int?
    /// The sound, or `nil` for none.
    public var sound: NotificationSound?
    /// The thread. Notifications of one thread appear as one group.
    public var threadID: String?
    /// The app's `UNNotificationCategory`, which provides the actions.
    public var category: String?
    /// `true` to also wake the app, as a background push does.
    public var isContentAvailable = false
    /// `true` to let the app's notification service extension change the notification before it appears.
    public var isContentMutable = false
    /// The window that the app brings forward, as in `UNNotificationContent.targetContentIdentifier`.
    public var targetContentID: String?
    /// The interruption level. `nil` means `active`.
    public var interruptionLevel: InterruptionLevel?
    /// The rank in the notification summary, from 0 to 1. The highest rank is featured.
    public var relevance: Double?
    /// The value that the app's Focus filter (`SetFocusFilterIntent`) evaluates.
    public var filterCriteria: String?

    /// The degree to which a notification may interrupt (iOS 15 and later).
    public enum InterruptionLevel: String, Sendable, Hashable, CaseIterable {
        /// The notification joins the list without lighting the screen.
        case passive
        /// The notification appears immediately, lights the screen, and plays the sound.
        case active
        /// The notification also breaks through a Focus. The app needs the capability.
        case timeSensitive = "time-sensitive"
        /// The notification also ignores the mute switch. The app needs Apple's entitlement.
        case critical
    }

    /// Creates content with texts and a sound. Set the other properties afterwards.
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
    /// A file in the app's bundle or its `Library/Sounds`, at most 30 seconds long. `default` is the system's sound.
    case named(String)
    /// A sound that ignores the mute switch and a Focus, at a volume from 0 to 1. The app needs Apple's entitlement.
    case critical(name: String = "default", volume: Double = 1)

    /// The system's default sound.
    public static let standard = Self.named("default")
}

extension NotificationContent {
    /// Writes the members of `aps`.
    ///
    /// - Returns: The parts whose sizes an error reports.
    /// - Throws: `PayloadError.outOfRange`, or `.empty` if nothing was written.
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

    /// The form of an ordinary alert: flat members such as `title-loc-key` and `loc-key`.
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
