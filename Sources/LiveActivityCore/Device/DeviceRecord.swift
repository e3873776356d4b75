package import APNSModel

/// One installation of the app on one phone.
package struct DeviceRecord: Sendable, Hashable {
    package var key: DeviceKey
    package var app: BundleID
    package var id: DeviceID
    package var user: UserNumber
    package var userID: UserID
    package var platform: String = "ios"
    package var timeZone: String?
    package var locale: String?
    package var osVersion: OSVersion?
    package var appVersion: String?
    package var build: String?
    package var model: String?
    /// The environment the phone named; `nil` when it never did.
    package var environment: APNSEnvironment?
    package var activitiesEnabled: Bool?
    package var frequentPushesEnabled: Bool?
    package var notificationAuthorization: String?
    /// The sequence of the last inventory that was taken; an older one changes nothing.
    package var inventorySequence: Int64 = 0
    /// The number of the newest report that was taken, of one card or of all; 0: its reports have none.
    package var reportSequence: Int64 = 0
    package var createdAt: UnixTime
    /// When the phone itself was last heard of.
    package var contactAt: UnixTime
    package var signedOutAt: UnixTime?
    /// What the phone itself may call with, in the order in which they were handed out.
    package var credentials: [PhoneCredentialRecord] = []
    /// What it has made of late, for the limits of a day.
    package var made = DayCounts()

    package init(
        key: DeviceKey, app: BundleID, id: DeviceID, user: UserNumber, userID: UserID, at now: UnixTime
    ) {
        self.key = key
        self.app = app
        self.id = id
        self.user = user
        self.userID = userID
        createdAt = now
        contactAt = now
    }
}

/// What is decided on of a device: what a claim reads of each of a great many.
package struct DeviceFacts: Sendable, Equatable {
    package var key: DeviceKey
    package var id: DeviceID
    package var userID: UserID
    package var timeZone: String?
    package var osVersion: OSVersion?
    package var build: String?
    package var environment: APNSEnvironment?
    package var activitiesEnabled: Bool?
    package var frequentPushesEnabled: Bool?
    package var notificationAuthorization: String?
    package var contactAt: UnixTime
    package var signedOutAt: UnixTime?
    /// The number of its newest report; 0: its reports have none.
    package var reportSequence: Int64 = 0

    package init(key: DeviceKey, id: DeviceID, userID: UserID, contactAt: UnixTime) {
        self.key = key
        self.id = id
        self.userID = userID
        self.contactAt = contactAt
    }
}

extension DeviceRecord {
    /// The phone has another owner.
    mutating func pass(to user: UserNumber, _ id: UserID) {
        self.user = user
        userID = id
        credentials = []
        // How far the one before had counted must not keep this one's inventories from being taken.
        inventorySequence = 0
        reportSequence = 0
    }

    package var facts: DeviceFacts {
        var facts = DeviceFacts(key: key, id: id, userID: userID, contactAt: contactAt)
        facts.timeZone = timeZone
        facts.osVersion = osVersion
        facts.build = build
        facts.environment = environment
        facts.activitiesEnabled = activitiesEnabled
        facts.frequentPushesEnabled = frequentPushesEnabled
        facts.notificationAuthorization = notificationAuthorization
        facts.signedOutAt = signedOutAt
        facts.reportSequence = reportSequence
        return facts
    }
}

/// A system version such as 17.2 or 17.2.1, compared by its numbers.
package struct OSVersion: Sendable, Hashable, Comparable, CustomStringConvertible {
    private var first: UInt16 = 0
    private var second: UInt16 = 0
    private var third: UInt16 = 0
    /// How many of them were written.
    private var count: UInt8 = 1

    /// `nil` unless the text is one to three numbers with dots between, as `UIDevice.systemVersion` gives them.
    package init?(_ text: String) {
        var digits = 0
        var number: UInt16 = 0
        for byte in text.utf8 {
            if byte == UInt8(ascii: ".") {
                guard digits > 0, count < 3 else { return nil }
                set(number)
                count += 1
                (digits, number) = (0, 0)
            } else {
                guard (0x30...0x39).contains(byte), digits < 4 else { return nil }
                number = number * 10 + UInt16(byte - 0x30)
                digits += 1
            }
        }
        guard digits > 0 else { return nil }
        set(number)
    }

    private mutating func set(_ number: UInt16) {
        switch count {
        case 1: first = number
        case 2: second = number
        default: third = number
        }
    }

    package init(_ major: Int, _ minor: Int) {
        first = UInt16(clamping: major)
        second = UInt16(clamping: minor)
        count = 2
    }

    /// The first system that takes push-to-start (ActivityKit, `pushToStartTokenUpdates`).
    package static let pushToStart = Self(17, 2)
    /// The first that reads `input-push-token`.
    package static let inputPush = Self(18, 0)

    package static func < (left: Self, right: Self) -> Bool {
        (left.first, left.second, left.third) < (right.first, right.second, right.third)
    }

    package static func == (left: Self, right: Self) -> Bool {
        (left.first, left.second, left.third) == (right.first, right.second, right.third)
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(first)
        hasher.combine(second)
        hasher.combine(third)
    }

    package var description: String {
        [first, second, third].prefix(Int(count)).map(String.init).joined(separator: ".")
    }
}

/// A device's push-to-start token for one activity type, or its device token (`type` empty).
package struct DeviceTokenRecord: Sendable, Hashable {
    package enum Kind: Int, Sendable { case device = 1, pushToStart = 2 }

    package var device: DeviceKey
    package var kind: Kind
    package var type: String
    /// Grows with each new value; an answer about another generation says nothing about this one.
    package var generation: Int64
    package var environment: APNSEnvironment
    /// The token's hexadecimal text: never printed.
    package var value: TokenValue
    package var firstSeenAt: UnixTime
    package var deadAt: UnixTime?
    /// Starts through this value in a row that later inventories did not list.
    package var missedStarts: Int = 0

    /// So many of them say that the phone has another token by now: the app is to read it anew.
    package static let suspectAfter = 2
    package var isSuspect: Bool { deadAt == nil && missedStarts >= Self.suspectAfter }

    package init(
        device: DeviceKey, kind: Kind, type: String, generation: Int64, environment: APNSEnvironment,
        value: TokenValue, firstSeenAt: UnixTime
    ) {
        self.device = device
        self.kind = kind
        self.type = type
        self.generation = generation
        self.environment = environment
        self.value = value
        self.firstSeenAt = firstSeenAt
    }
}

/// The update token of one card.
package struct UpdateTokenRecord: Sendable, Hashable {
    package var activity: ActivityNumber
    package var device: DeviceKey
    package var generation: Int64
    package var environment: APNSEnvironment
    package var value: TokenValue
    package var firstSeenAt: UnixTime
    package var deadAt: UnixTime?
    /// The token of the card that this one's took the place of, until that card was ended.
    package var predecessor: TokenValue?
    /// The row's card has no token: the record is there for its predecessor alone.
    package var isPlaceholder: Bool { deadAt != nil && predecessor == value }

    package init(
        activity: ActivityNumber, device: DeviceKey, generation: Int64, environment: APNSEnvironment,
        value: TokenValue, firstSeenAt: UnixTime
    ) {
        self.activity = activity
        self.device = device
        self.generation = generation
        self.environment = environment
        self.value = value
        self.firstSeenAt = firstSeenAt
    }
}

extension UpdateTokenRecord {
    /// For a card that is to be ended beside one that has no token, or beside none.
    static func placeholder(
        for value: TokenValue, of card: CardMachine, _ environment: APNSEnvironment, at now: UnixTime
    ) -> Self {
        var record = Self(
            activity: card.activity, device: card.device, generation: card.tokenGeneration,
            environment: environment, value: value, firstSeenAt: now)
        record.deadAt = now
        record.predecessor = value
        return record
    }
}

/// A token's text on its way between store and push; prints 8 characters at most.
package struct TokenValue: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    package let hex: String

    package init<Kind>(_ token: PushToken<Kind>) {
        hex = token.hex
    }

    /// For a text that was checked when it was stored.
    package init(stored hex: String) {
        self.hex = hex
    }

    package var description: String { "\(hex.prefix(8))…" }
    package var customMirror: Mirror { Mirror(self, children: ["masked": description]) }
}

/// Who a token value belongs to; in an app a value has one owner, and a dead value stays dead.
///
/// APNs gives every app tokens of its own. So what one app says of a value is nothing to another, whose server happens
/// to be the same one.
package struct TokenOwnerRecord: Sendable, Hashable {
    package enum Kind: Int, Sendable { case device = 1, pushToStart = 2, update = 3 }

    package var app: BundleID
    package var value: TokenValue
    package var kind: Kind
    package var device: DeviceKey
    /// The activity of an update token, else 0.
    package var activity: ActivityNumber
    package var firstSeenAt: UnixTime
    package var deadAt: UnixTime?
    /// From then on no card and no device has it any more: what is known of it is erased `keptFor` later. `nil`: one
    /// has it, or APNs has called it dead.
    package var releasedAt: UnixTime?
    /// A late report is known by its token for as long as by its card: see `TombstoneRecord`.
    package static let keptFor = TombstoneRecord.lifetime

    package init(
        app: BundleID, value: TokenValue, kind: Kind, device: DeviceKey, activity: ActivityNumber,
        firstSeenAt: UnixTime
    ) {
        self.app = app
        self.value = value
        self.kind = kind
        self.device = device
        self.activity = activity
        self.firstSeenAt = firstSeenAt
    }

    package var key: Snapshot.OwnerKey { .init(app, value) }
}
