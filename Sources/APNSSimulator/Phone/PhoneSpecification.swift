public import APNSModel

/// The name a phone goes by in the simulator, and the device id it reports itself under.
public struct PhoneID: Sendable, Hashable, CustomStringConvertible {
    /// The id as text.
    public let text: String

    /// `nil` unless the text has 1 to 128 characters out of letters, digits, `-`, `_`, `.` and `:`.
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

    /// An id the simulator makes itself.
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

    /// A version by its two numbers.
    public init(_ major: Int, _ minor: Int = 0) {
        self.major = major
        self.minor = minor
    }

    /// `nil` unless the text is one to three numbers with dots; the third is dropped.
    public init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        let numbers = parts.compactMap { UInt16($0) }
        guard (1...3).contains(parts.count), numbers.count == parts.count else { return nil }
        self.init(Int(numbers[0]), numbers.count > 1 ? Int(numbers[1]) : 0)
    }

    /// By the first number, then by the second.
    public static func < (left: Self, right: Self) -> Bool {
        (left.major, left.minor) < (right.major, right.minor)
    }

    /// Both numbers: `17.2`.
    public var description: String { "\(major).\(minor)" }

    /// Live Activities exist.
    static let activities = IOSVersion(16, 1)
    /// Push-to-start tokens exist.
    static let pushToStart = IOSVersion(17, 2)
    /// `input-push-channel` works.
    static let channels = IOSVersion(18, 0)
}

/// What runs of the app.
public enum AppState: String, Sendable, Hashable, CaseIterable, Codable {
    /// On the screen: it sees everything at once.
    case foreground
    /// In memory but asleep: it notices what happened when something wakes it.
    case background
    /// Ended by the system: a start, a background push or a new update token launches it in the background.
    case killed
    /// Swiped out of the app switcher by the person: no push launches it until the person does.
    case forceQuit

    /// Whether there is a process.
    var runs: Bool { self == .foreground || self == .background }
}

/// What the person said about the app's ordinary notifications: Apple's `UNAuthorizationStatus`, in its words.
///
/// Live Activities have a switch of their own, and background pushes need no permission.
public enum NotificationAuthorization: String, Sendable, Hashable, CaseIterable, Codable {
    /// The person was not asked: nothing is shown.
    case notDetermined
    /// The person said no: nothing is shown.
    case denied
    /// The person said yes.
    case authorized
    /// On trial: shown without a sound.
    case provisional

    var showsAlerts: Bool { self == .authorized || self == .provisional }
}

/// A phone with one app on it, as it is made; everything that changes later is done by a `PhoneAction`.
public struct PhoneSpecification: Sendable {
    /// The phone's id; `phone-1`, `phone-2` … when `nil`.
    public var id: PhoneID?
    /// Who is signed in to the app.
    public var user: String
    /// The app's bundle id.
    public var bundleID: BundleID
    /// Which of Apple's services its tokens belong to.
    public var environment: APNSEnvironment = .sandbox
    /// Below 16.1 there are no Live Activities, below 17.2 no push-to-start token.
    public var iOS = IOSVersion(18, 2)
    /// The app's version, as it reports it.
    public var appVersion = "1.0"
    /// The app's build, as it reports it.
    public var build = "1"
    /// The hardware, as it is reported.
    public var model = "iPhone17,1"
    /// The IANA name of the time zone, as it is reported.
    public var timeZone = "UTC"
    /// The locale, as it is reported.
    public var locale = "en_US"
    /// The person's switch for Live Activities of this app.
    public var activitiesEnabled = true
    /// The person's switch for frequent updates: a larger hourly budget.
    public var frequentPushesEnabled = false
    /// What the person said about ordinary notifications.
    public var notificationAuthorization = NotificationAuthorization.authorized
    /// What runs of the app once it has been launched for the first time.
    public var appState = AppState.background
    /// Whether the phone is locked; what is shown is the same.
    public var isLocked = true
    /// Whether the phone reaches APNs and the app its backend.
    public var isOnline = true
    /// Whether iOS keeps the update token of a push-started activity back until the person taps Allow.
    public var asksToAllow = false
    /// Whether a sleeping app notices at once that a card ended, was swiped away or went stale; iOS promises nothing.
    public var noticesInBackground = false
    /// Whether the app starts cards itself that the backend would have on this phone, while it is on the screen.
    public var startsWantedCards = true
    /// How far this phone's clock is ahead of everybody's; negative when it is behind.
    public var clockSkew = Duration.zero
    /// The activity types the app knows; a start of another is dropped.
    public internal(set) var activityTypes: [InstalledActivityType] = []

    /// A phone of this person with this app and the standard settings.
    public init(user: String, bundleID: BundleID) {
        self.user = user
        self.bundleID = bundleID
    }

    /// Installs an app that has this attributes type: starts and updates are decoded by it, as strictly as iOS does.
    ///
    /// - Parameter name: The `attributes-type` it answers to; the Swift name without module when `nil`.
    public mutating func installs<Attributes: SimulatedActivityAttributes>(
        _ type: Attributes.Type, named name: String? = nil
    ) {
        installs(InstalledActivityType(type, named: name))
    }

    /// Installs an app that has a type of this name, of which nothing is known but that both halves are objects.
    public mutating func installs(named name: String) {
        installs(InstalledActivityType(named: name))
    }

    /// Installs an app that has this type, in place of one of the same name.
    public mutating func installs(_ type: InstalledActivityType) {
        activityTypes.removeAll { $0.name == type.name }
        activityTypes.append(type)
    }
}
