public import APNSModel

/// The id of a phone in the simulator, which is also the device id that it reports.
public struct PhoneID: Sendable, Hashable, CustomStringConvertible {
    /// The id as text.
    public let text: String

    /// Creates an id from text; `nil` unless the text has 1 to 128 letters, digits, `-`, `_`, `.` or `:`.
    public init?(_ text: String) {
        guard (1...128).contains(text.utf8.count) else { return nil }
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."),
                UInt8(ascii: ":"):
                continue
            default: return nil
            }
        }
        self.text = text
    }

    /// Creates an id that the simulator chooses.
    init(number: Int) {
        text = "phone-\(number)"
    }

    /// The id as text.
    public var description: String { text }
}

/// A version of iOS: `17.2`.
public struct IOSVersion: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The first number.
    public let major: Int
    /// The second number.
    public let minor: Int

    /// Creates a version from its two numbers.
    public init(_ major: Int, _ minor: Int = 0) {
        self.major = major
        self.minor = minor
    }

    /// Creates a version from text; `nil` unless the text is one to three numbers with dots. The third number is
    /// dropped.
    public init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        let numbers = parts.compactMap { UInt16($0) }
        guard (1...3).contains(parts.count), numbers.count == parts.count else { return nil }
        self.init(Int(numbers[0]), numbers.count > 1 ? Int(numbers[1]) : 0)
    }

    /// Compares the first numbers, then the second.
    public static func < (left: Self, right: Self) -> Bool {
        (left.major, left.minor) < (right.major, right.minor)
    }

    /// Both numbers: `17.2`.
    public var description: String { "\(major).\(minor)" }

    /// First version with Live Activities.
    static let activities = IOSVersion(16, 1)
    /// First version with push-to-start tokens.
    static let pushToStart = IOSVersion(17, 2)
    /// First version that takes `input-push-channel`.
    static let channels = IOSVersion(18, 0)
}

/// The state of an app's process.
public enum AppState: String, Sendable, Hashable, CaseIterable, Codable {
    /// The app is on the screen and notices everything at once.
    case foreground
    /// The app is in memory but asleep. It notices changes when something wakes it.
    case background
    /// The system has ended the app. A start, a background push or a new update token launches it in the background.
    case killed
    /// The person has swiped the app out of the app switcher. No push launches it until the person opens it.
    case forceQuit

    /// `true` if the app has a process.
    var runs: Bool { self == .foreground || self == .background }
}

/// The person's permission for the app's ordinary notifications, with the names of Apple's `UNAuthorizationStatus`.
///
/// Live Activities have their own switch, and background pushes need no permission.
public enum NotificationAuthorization: String, Sendable, Hashable, CaseIterable, Codable {
    /// The person was not asked. Nothing is shown.
    case notDetermined
    /// The person refused. Nothing is shown.
    case denied
    /// The person agreed.
    case authorized
    /// Notifications are on trial, and shown without a sound.
    case provisional

    var showsAlerts: Bool { self == .authorized || self == .provisional }
}

/// The settings with which a phone is made, with one app on it. A `PhoneAction` makes every later change.
public struct PhoneSpecification: Sendable {
    /// The phone's id; `nil` chooses `phone-1`, `phone-2` and so on.
    public var id: PhoneID?
    /// The person who is signed in to the app.
    public var user: String
    /// The app's bundle id.
    public var bundleID: BundleID
    /// The APNs environment of the phone's tokens.
    public var environment: APNSEnvironment = .sandbox
    /// The version of iOS. Below 16.1 there are no Live Activities, below 17.2 no push-to-start token.
    public var iOS = IOSVersion(18, 2)
    /// The app's version that the app reports.
    public var appVersion = "1.0"
    /// The app's build that the app reports.
    public var build = "1"
    /// The hardware model that the app reports.
    public var model = "iPhone17,1"
    /// The IANA name of the time zone that the app reports.
    public var timeZone = "UTC"
    /// The locale that the app reports.
    public var locale = "en_US"
    /// The person's switch for Live Activities of this app.
    public var activitiesEnabled = true
    /// The person's switch for frequent updates, which raises the hourly budget.
    public var frequentPushesEnabled = false
    /// The person's permission for ordinary notifications.
    public var notificationAuthorization = NotificationAuthorization.authorized
    /// The state of the app's process after its first launch.
    public var appState = AppState.background
    /// `true` if the phone is locked. The same is shown either way.
    public var isLocked = true
    /// `true` if the phone reaches APNs and the app reaches its backend.
    public var isOnline = true
    /// `true` if iOS withholds the update token of a push-started activity until the person taps Allow.
    public var asksToAllow = false
    /// `true` if a sleeping app notices at once that a card ended, was swiped away or went stale. iOS does not promise
    /// that.
    public var noticesInBackground = false
    /// `true` if the app, while it is on the screen, starts cards that the backend wants on this phone.
    public var startsWantedCards = true
    /// Difference by which the phone's clock is ahead of the simulator's; negative if it is behind.
    public var clockSkew = Duration.zero
    /// The activity types that the app has. A start of another type is dropped.
    public internal(set) var activityTypes: [InstalledActivityType] = []

    /// Creates the standard settings for this person and app.
    public init(user: String, bundleID: BundleID) {
        self.user = user
        self.bundleID = bundleID
    }

    /// Installs an app with this attributes type, which decodes starts and updates as strictly as iOS does.
    ///
    /// - Parameter name: The app's `attributes-type`; `nil` uses the Swift name without module.
    public mutating func installs<Attributes: SimulatedActivityAttributes>(
        _ type: Attributes.Type, named name: String? = nil
    ) {
        installs(InstalledActivityType(type, named: name))
    }

    /// Installs an app with a type of this name. Any attributes and content state that are objects decode.
    public mutating func installs(named name: String) {
        installs(InstalledActivityType(named: name))
    }

    /// Installs an app with this type, in place of one with the same name.
    public mutating func installs(_ type: InstalledActivityType) {
        activityTypes.removeAll { $0.name == type.name }
        activityTypes.append(type)
    }
}
