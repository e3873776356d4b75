package import APNSModel

/// One installation of the app on one phone.
package struct DeviceRecord: Sendable, Equatable {
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
    package var createdAt: UnixTime
    /// When the phone itself was last heard of.
    package var contactAt: UnixTime
    package var signedOutAt: UnixTime?

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

/// A system version such as 17.2 or 17.2.1, compared by its numbers.
package struct OSVersion: Sendable, Hashable, Comparable, CustomStringConvertible {
    package let numbers: [Int]

    /// `nil` unless the text is one to three numbers with dots between, as `UIDevice.systemVersion` gives them.
    package init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard (1...3).contains(parts.count) else { return nil }
        var numbers: [Int] = []
        for part in parts {
            guard part.utf8.count <= 4, part.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(part)
            else { return nil }
            numbers.append(number)
        }
        self.numbers = numbers
    }

    package init(_ major: Int, _ minor: Int) {
        numbers = [major, minor]
    }

    /// The first system that takes push-to-start (ActivityKit, `pushToStartTokenUpdates`).
    package static let pushToStart = Self(17, 2)
    /// The first that reads `input-push-token`.
    package static let inputPush = Self(18, 0)

    package static func < (left: Self, right: Self) -> Bool {
        for index in 0..<3 {
            let (a, b) = (left.number(index), right.number(index))
            if a != b { return a < b }
        }
        return false
    }

    package static func == (left: Self, right: Self) -> Bool { !(left < right) && !(right < left) }

    package func hash(into hasher: inout Hasher) {
        for index in 0..<3 { hasher.combine(number(index)) }
    }

    package var description: String { numbers.map(String.init).joined(separator: ".") }

    private func number(_ index: Int) -> Int { index < numbers.count ? numbers[index] : 0 }
}

/// A device's push-to-start token for one activity type, or its device token (`type` empty).
package struct DeviceTokenRecord: Sendable, Equatable {
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
    /// Starts through this value that later inventories did not list; from two on it is suspect.
    package var missedStarts: Int = 0

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
package struct UpdateTokenRecord: Sendable, Equatable {
    package var activity: ActivityNumber
    package var device: DeviceKey
    package var generation: Int64
    package var environment: APNSEnvironment
    package var value: TokenValue
    package var firstSeenAt: UnixTime
    package var deadAt: UnixTime?

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

/// Who a token value belongs to; a value has one owner, and a dead value stays dead.
package struct TokenOwnerRecord: Sendable, Equatable {
    package enum Kind: Int, Sendable { case device = 1, pushToStart = 2, update = 3 }

    package var value: TokenValue
    package var kind: Kind
    package var device: DeviceKey
    /// The activity of an update token, else 0.
    package var activity: ActivityNumber
    package var firstSeenAt: UnixTime
    package var deadAt: UnixTime?

    package init(
        value: TokenValue, kind: Kind, device: DeviceKey, activity: ActivityNumber, firstSeenAt: UnixTime
    ) {
        self.value = value
        self.kind = kind
        self.device = device
        self.activity = activity
        self.firstSeenAt = firstSeenAt
    }
}
