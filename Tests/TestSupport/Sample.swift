package import APNSModel
package import JSONText
package import LiveActivityCore

/// Valid values for tests, distinguished by a number or a word.
package enum Sample {
    /// 2026-11-21T14:32:00Z.
    package static let now = UnixTime(seconds: 1_795_271_520)
    package static let bundleID = bundle("com.acme.pizza")
    package static let channel = ChannelID("dHN0LXNyY2gtY2hubA==")
    package static let alert = PushAlert(title: .text("Order"), body: .text("It is on its way"), sound: "default")

    package static func bundle(_ text: String) -> BundleID {
        guard let id = BundleID(text) else { preconditionFailure("not a bundle id: \(text)") }
        return id
    }

    package static func pointer(_ text: String) -> JSONPointer {
        do throws(JSONPointerError) { return try JSONPointer(text) } catch {
            preconditionFailure("not a pointer: \(text)")
        }
    }

    /// Returns a type that can be started and whose cards name their activity by the tag `islet`.
    package static func type(
        _ name: String = "order", activityIDAttribute: String? = nil, _ change: (inout TypePolicy) -> Void = { _ in }
    ) -> ActivityType {
        var policy = TypePolicy()
        policy.startAlert = AlertTemplate(alert)
        change(&policy)
        return ActivityType(
            name: name, attributesType: "\(name)Attributes", activityIDAttribute: activityIDAttribute.map(pointer),
            policy: policy)
    }

    package static func app(
        _ types: ActivityType..., environments: Set<APNSEnvironment> = [.sandbox, .production]
    ) -> AppSettings {
        AppSettings(bundleID: bundleID, types: types.isEmpty ? [type()] : types, environments: environments)
    }

    package static func activityID(_ text: String) -> ActivityID { ActivityID(stored: text) }
    package static func user(_ text: String) -> UserID { UserID(stored: text) }
    package static func device(_ text: String) -> DeviceID { DeviceID(stored: text) }
    package static func local(_ text: String) -> LocalID { LocalID(stored: text) }

    /// Returns 64 hexadecimal digits made from a word. Different words give different tokens.
    package static func token<Kind>(_ word: String, as kind: Kind.Type = Kind.self) -> PushToken<Kind> {
        var dice = SeededDice(seed: Digest.fnv1a(word.utf8))
        let bytes = (0..<32).map { _ in UInt8(truncatingIfNeeded: dice.next()) }
        do throws(PushTokenError) { return try PushToken(bytes: bytes) } catch {
            preconditionFailure("no token: \(error)")
        }
    }

    /// Returns a content state. Different numbers give different contents.
    package static func state(_ step: Int, status: String = "baking") -> JSONObject {
        ["status": .string(status), "step": .number(JSONNumber(step))]
    }

    /// Adds a running activity, named by its number, with an empty state of its revision.
    ///
    /// - Parameter name: The prefix of its id.
    @discardableResult
    package static func addActivity(
        of app: BundleID = bundleID, named name: String = "a", revision: Revision = 1, to draft: inout Draft,
        _ change: (inout ActivityRecord) -> Void = { _ in }
    ) -> ActivityNumber {
        let number = draft.takeActivityNumber()
        var activity = ActivityRecord(
            number: number, app: app, id: activityID("\(name)\(number)"), type: "order", at: now)
        activity.phase = .active
        activity.revision = revision
        change(&activity)
        draft.put(activity)
        draft.put(
            ContentRecord(
                activity: number, revision: revision, state: .empty, digest: 0, attributes: .empty,
                attributesDigest: 0))
        return number
    }

    /// Returns a phone that supports push-to-start, was last heard of long ago, and is not the one that acts now.
    package static func deviceRecord(_ key: DeviceKey = 7, user: UserNumber = 1) -> DeviceRecord {
        var device = DeviceRecord(
            key: key, app: bundleID, id: Self.device("device-\(key)"), user: user, userID: Self.user("user-\(user)"),
            at: now - .seconds(86_400))
        device.osVersion = OSVersion(18, 0)
        device.activitiesEnabled = true
        device.environment = .production
        return device
    }

    package static func startToken(_ device: DeviceKey = 7, type: String = "order") -> DeviceTokenRecord {
        DeviceTokenRecord(
            device: device, kind: .pushToStart, type: type, generation: 1, environment: .production,
            value: TokenValue(token("start-\(device)", as: PushToStartTokenKind.self)),
            firstSeenAt: now - .seconds(86_400))
    }

    package static func updateToken(_ activity: ActivityNumber = 1, _ device: DeviceKey = 7) -> UpdateTokenRecord {
        UpdateTokenRecord(
            activity: activity, device: device, generation: 1, environment: .production,
            value: TokenValue(token("update-\(activity)-\(device)", as: UpdateTokenKind.self)),
            firstSeenAt: now - .seconds(3600))
    }
}
