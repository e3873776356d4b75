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
    /// APNs environment that the phone named; `nil` if it never named one.
    package var environment: APNSEnvironment?
    package var activitiesEnabled: Bool?
    package var frequentPushesEnabled: Bool?
    /// `true` if the app can show cards on broadcast channels; `nil` if it never said.
    package var channels: Bool?
    package var notificationAuthorization: String?
    /// Number of the last inventory that was accepted. One that is not greater changes nothing.
    package var inventorySequence: Int64 = 0
    /// Number of the newest report or inventory that was accepted; 0 if the app does not number its reports.
    package var reportSequence: Int64 = 0
    package var createdAt: UnixTime
    /// Time of the last call of the phone itself.
    package var contactAt: UnixTime
    package var signedOutAt: UnixTime?
    /// Credentials for the phone's own calls, in the order in which they were handed out.
    package var credentials: [PhoneCredentialRecord] = []
    /// Rows that the device has made recently, for the limits per day.
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

/// Facts about a device that a decision needs. A claim reads them for each of many devices.
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
    package var channels: Bool?
    package var notificationAuthorization: String?
    package var contactAt: UnixTime
    package var signedOutAt: UnixTime?
    /// Number of the device's newest report; 0 if the app does not number its reports.
    package var reportSequence: Int64 = 0

    package init(key: DeviceKey, id: DeviceID, userID: UserID, contactAt: UnixTime) {
        self.key = key
        self.id = id
        self.userID = userID
        self.contactAt = contactAt
    }
}

extension DeviceRecord {
    /// Gives the phone to another person.
    mutating func pass(to user: UserNumber, _ id: UserID) {
        self.user = user
        userID = id
        credentials = []
        // Numbers of the former person's app must not keep the next one's inventories from being accepted.
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
        facts.channels = channels
        facts.notificationAuthorization = notificationAuthorization
        facts.signedOutAt = signedOutAt
        facts.reportSequence = reportSequence
        return facts
    }
}

/// A system version such as 17.2 or 17.2.1. Versions are compared by their numbers.
package struct OSVersion: Sendable, Hashable, Comparable, CustomStringConvertible {
    private var first: UInt16 = 0
    private var second: UInt16 = 0
    private var third: UInt16 = 0
    /// Number of components that were written.
    private var count: UInt8 = 1

    /// Creates a version from text in the form of `UIDevice.systemVersion`.
    ///
    /// Returns `nil` unless the text is one to three numbers, of 4 digits at most, with dots between them.
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

    /// First system that supports push-to-start (ActivityKit, `pushToStartTokenUpdates`).
    package static let pushToStart = Self(17, 2)
    /// First system that reads `input-push-token`.
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

/// A device's push-to-start token for one activity type, or its device token (with an empty `type`).
package struct DeviceTokenRecord: Sendable, Hashable {
    package enum Kind: Int, Sendable { case device = 1, pushToStart = 2 }

    package var device: DeviceKey
    package var kind: Kind
    package var type: String
    /// Number of the value. It grows with each new value; an answer about one generation says nothing about the next.
    package var generation: Int64
    package var environment: APNSEnvironment
    /// Hexadecimal text of the token. It is never printed in full.
    package var value: TokenValue
    package var firstSeenAt: UnixTime
    package var deadAt: UnixTime?
    /// Number of starts in a row through this value that later inventories did not list.
    package var missedStarts: Int = 0

    /// Number of missed starts from which the phone probably has another token. The app is then asked to read it again.
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

/// Update token of one card.
package struct UpdateTokenRecord: Sendable, Hashable {
    package var activity: ActivityNumber
    package var device: DeviceKey
    package var generation: Int64
    package var environment: APNSEnvironment
    package var value: TokenValue
    package var firstSeenAt: UnixTime
    package var deadAt: UnixTime?
    /// Token of the card that this one replaced, until that card is ended.
    package var predecessor: TokenValue?
    /// `true` if the row's card has no token, and the record exists only for its predecessor.
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
    /// Returns a record for a card that must be ended while the row's own card has no token, or while there is none.
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

/// Text of a token on its way between store and push. It prints 8 characters at most.
package struct TokenValue: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    package let hex: String

    package init<Kind>(_ token: PushToken<Kind>) {
        hex = token.hex
    }

    /// Creates a value from text that was checked when it was stored.
    package init(stored hex: String) {
        self.hex = hex
    }

    package var description: String { "\(hex.prefix(8))…" }
    package var customMirror: Mirror { Mirror(self, children: ["masked": description]) }
}

/// Owner of a token value. Within an app, a value has one owner, and a dead value stays dead.
///
/// APNs gives each app its own tokens. So one app's word about a value means nothing for another app on the same
/// server.
package struct TokenOwnerRecord: Sendable, Hashable {
    package enum Kind: Int, Sendable { case device = 1, pushToStart = 2, update = 3 }

    package var app: BundleID
    package var value: TokenValue
    package var kind: Kind
    package var device: DeviceKey
    /// Activity of an update token; 0 for other tokens.
    package var activity: ActivityNumber
    package var firstSeenAt: UnixTime
    package var deadAt: UnixTime?
    /// Time from which no card and no device has the value. The record is erased `keptFor` later. `nil` if one has it,
    /// or if APNs has called it dead.
    package var releasedAt: UnixTime?
    /// Time for which a released value is remembered. A late report is recognized by its token for as long as by its
    /// card: see `TombstoneRecord`.
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
