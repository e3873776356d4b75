package import APNSModel
package import JSONText

/// What a provider is asked: once for each time zone that a person has devices in.
package struct RefreshQuestion: Sendable, Equatable {
    package var app: BundleID
    package var type: String
    package var user: UserID
    package var zone: String
    /// In that zone: `2026-11-21`.
    package var day: String
    package var now: UnixTime
    package var devices: [DeviceID]
    /// What the last answer for this person, type and zone left.
    package var memo: JSONValue?

    package init(
        app: BundleID, type: String, user: UserID, zone: String, day: String, now: UnixTime, devices: [DeviceID],
        memo: JSONValue?
    ) {
        self.app = app
        self.type = type
        self.user = user
        self.zone = zone
        self.day = day
        self.now = now
        self.devices = devices
        self.memo = memo
    }
}

/// What a provider wants to be shown on the devices it was asked about.
package struct RefreshAnswer: Sendable, Equatable {
    /// The most bytes of a memo.
    package static let maximumMemoBytes = 4096

    package var state: JSONObject
    package var attributes: JSONObject?
    package var memo: JSONValue?
    package var relevance: Double?
    package var staleAt: UnixTime?
    package var alert: SetDesiredState.AlertWish?
    /// Silent and of low priority, unless the provider asks for more.
    package var priority = ActivityRecord.PriorityWish.low
    /// When it wants to be asked again, if that is before the local midnight.
    package var askAgainAt: UnixTime?

    package init(state: JSONObject) { self.state = state }
}

/// Why a provider gave no answer.
package struct RefreshFailure: Error, Sendable, Equatable {
    /// A word of a closed list, for metrics.
    package enum Code: String, Sendable, CaseIterable {
        case timeout, unreachable, unavailable, refused, invalid = "invalid-answer", threw, rejected
    }

    package var code: Code
    /// In words of ours: nothing of what the other side sent.
    package var detail: String

    package init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }

    /// The provider is unwell, whoever it is asked about.
    package var isOfAll: Bool {
        switch code {
        case .timeout, .unreachable, .unavailable: true
        case .refused, .invalid, .threw, .rejected: false
        }
    }
}

/// A person to compute, as it was claimed.
package struct RefreshRun: Sendable, Equatable {
    package struct Zone: Sendable, Equatable {
        package var name: String
        package var devices: [DeviceID]
        package var memo: [UInt8]?

        package init(name: String, devices: [DeviceID], memo: [UInt8]?) {
            self.name = name
            self.devices = devices
            self.memo = memo
        }
    }

    package var app: BundleID
    package var type: String
    package var user: UserID
    /// The asks that it answers.
    package var asked: Int64
    package var fence: Int64
    package var pace: RefreshRecord.Pace
    package var zones: [Zone]

    package func question(of zone: Zone, day: String, now: UnixTime) -> RefreshQuestion {
        RefreshQuestion(
            app: app, type: type, user: user, zone: zone.name, day: day, now: now, devices: zone.devices,
            memo: zone.memo.flatMap { try? JSONValue(parsing: $0) })
    }
}
