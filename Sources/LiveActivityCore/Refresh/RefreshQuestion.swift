package import APNSModel
package import JSONText

/// Question to a provider about one person: one question for each time zone of the person's devices.
package struct RefreshQuestion: Sendable, Equatable {
    package var app: BundleID
    package var type: String
    package var user: UserID
    package var zone: String
    /// Date in that zone, such as `2026-11-21`.
    package var day: String
    package var now: UnixTime
    package var devices: [DeviceID]
    /// Memo of the last answer for this person, type and zone.
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

/// Answer of a provider: what to show on the devices of the question.
package struct RefreshAnswer: Sendable, Equatable {
    /// Maximum size of a memo in bytes.
    package static let maximumMemoBytes = 4096

    package var state: JSONObject
    package var attributes: JSONObject?
    package var memo: JSONValue?
    package var relevance: Double?
    package var staleAt: UnixTime?
    package var alert: SetDesiredState.AlertWish?
    /// Priority. The default is low and silent, unless the provider asks for more.
    package var priority = ActivityRecord.PriorityWish.low
    /// Time at which the provider wants to be asked again, if that is before local midnight.
    package var askAgainAt: UnixTime?

    package init(state: JSONObject) { self.state = state }
}

/// Reason why a provider gave no usable answer.
package struct RefreshFailure: Error, Sendable, Equatable {
    /// Code of the failure, from a fixed list, for metrics.
    package enum Code: String, Sendable, CaseIterable {
        case timeout, unreachable, unavailable, refused, invalid = "invalid-answer", threw, rejected
    }

    package var code: Code
    /// Description in Islet's words, without anything that the other side sent.
    package var detail: String

    package init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }

    /// `true` if the provider fails regardless of the person.
    package var isOfAll: Bool {
        switch code {
        case .timeout, .unreachable, .unavailable: true
        case .refused, .invalid, .threw, .rejected: false
        }
    }
}

/// Claimed computation for one person.
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
    /// Number of the latest request that the run answers.
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
