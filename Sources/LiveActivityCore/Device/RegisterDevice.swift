package import APNSModel

/// Registers or updates a device and creates rows for its person's activities. Fields that are `nil` stay unchanged.
package struct RegisterDevice: Command {
    /// Fields of a device; `nil` keeps a field.
    package struct Body: Sendable, Equatable {
        package var user: UserID
        package var platform: String?
        package var timeZone: String?
        package var locale: String?
        package var osVersion: OSVersion?
        package var appVersion: String?
        package var build: String?
        package var model: String?
        package var environment: APNSEnvironment?
        package var activitiesEnabled: Bool?
        package var frequentPushesEnabled: Bool?
        package var channels: Bool?
        package var notificationAuthorization: String?
        package var deviceToken: DeviceToken?

        package init(user: UserID) { self.user = user }
    }

    package let app: AppSettings
    package let id: DeviceID
    package let body: Body
    package let now: UnixTime
    /// Key for a device that is not known yet: 63 random bits.
    package let freshKey: DeviceKey
    package var reporter = Reporter.backend
    /// Maximum number of devices that a person may register without the backend, counting those heard of within
    /// `counted`. Each change for the person costs work for each of them.
    static let maximumDevices = 50
    static let counted = Duration.seconds(30 * 86_400)
    /// Hash of a credential of the phone that a person shows with their own token. It proves that they hold the phone.
    package var possession: [UInt8]?

    package init(app: AppSettings, id: DeviceID, body: Body, now: UnixTime, freshKey: DeviceKey) {
        self.app = app
        self.id = id
        self.body = body
        self.now = now
        self.freshKey = freshKey & .max
    }

    package var rank: CommandRank { .write }
    package var keys: [SnapshotKey] {
        let tokens = body.deviceToken.map { [TokenValue($0)] } ?? []
        return [
            .device(app.bundleID, id), .activitiesOf(app.bundleID, body.user, joinable),
            .owners(app.bundleID, tokens), .holders(app.bundleID, tokens),
        ] + providedKeys
    }

    private var joinable: JoinableActivities {
        JoinableActivities(
            device: id, endedSince: now - TombstoneRecord.lifetime,
            reusableTypes: app.types.values.filter(\.policy.isReusable).map(\.name).sorted())
    }

    /// A card reported in the same group may belong to the new owner.
    private var providedKeys: [SnapshotKey] {
        let types = app.providedTypes
        return types.isEmpty ? [] : [.provided(app.bundleID, id, owners: [body.user], types: types)]
    }

    package func decide(_ draft: inout Draft) throws(Refusal) -> DeviceKey {
        let (old, user) = try admitted(&draft)
        if let old, old.user != user, draft.snapshot.devicesWithMore.contains(old.key) {
            throw .deviceChangesHands(id)
        }
        var device =
            old
            ?? DeviceRecord(key: freshKey, app: app.bundleID, id: id, user: user, userID: body.user, at: now)
        if device.user != user {
            // The phone has another owner, who must not see the former one's activities.
            DeviceOwnership.cut(device, now: now, &draft)
            device.pass(to: user, body.user)
        }
        device.signedOutAt = nil
        device.contactAt = now
        takeOver(&device)
        draft.put(device)
        if let environment = body.environment { DeviceTokens.move(device, to: environment, &draft) }
        if let token = body.deviceToken {
            let environment = device.environment ?? app.defaultEnvironment
            try DeviceTokens.register(
                TokenValue(token), .device, type: "", environment: environment, device: device, now: now, &draft)
        }
        for number in draft.memberships(of: user) {
            guard let activity = draft.snapshot.activities[number], mayStillShow(activity) else { continue }
            Audience(activity: activity, now: now).joinLate(device, &draft)
        }
        // A changed setting or a system update may make a start possible.
        for key in draft.phones(on: device.key) {
            let type = draft.snapshot.activities[key.activity].flatMap { app.types[$0.type] }
            Lanes.review(key, type, now: now, &draft)
        }
        if changesWhatIsDue(old, device) { Refreshes.askAfterNews(of: device, app: app, now: now, &draft) }
        return device.key
    }

    /// Returns the device and the person, if that person may have it.
    ///
    /// - Throws: `Refusal.deviceTaken`, `Refusal.unknownDevice` or `Refusal.tooManyDevices`.
    func admitted(_ draft: inout Draft) throws(Refusal) -> (device: DeviceRecord?, user: UserNumber) {
        let old = try standing(draft)
        let user = draft.user(app.bundleID, body.user)
        if old?.user != user { try checkRoom(for: user, &draft) }
        return (old, user)
    }

    /// Returns the known device; `nil` if it is new.
    private func standing(_ draft: Draft) throws(Refusal) -> DeviceRecord? {
        if case .phone = reporter { return try reporter.device(app.bundleID, id, now: now, in: draft) }
        guard let device = draft.device(app.bundleID, id) else { return nil }
        guard reporter.user ?? body.user == body.user,
            reporter.mayTakeOver(device, for: body.user, possession: possession)
        else { throw .deviceTaken(id) }
        return device
    }

    /// Checks the limit of devices. Only the person's most recent devices are loaded, which is enough: see
    /// `RecentDevices`.
    private func checkRoom(for user: UserNumber, _ draft: inout Draft) throws(Refusal) {
        guard reporter != .backend else { return }
        let own = draft.devices(of: user).count { now < $0.contactAt + Self.counted }
        guard own < Self.maximumDevices else { throw .tooManyDevices(limit: Self.maximumDevices) }
    }

    /// Returns `true` if a provider may now compute something else.
    private func changesWhatIsDue(_ old: DeviceRecord?, _ new: DeviceRecord) -> Bool {
        guard let old else { return true }
        return old.user != new.user || old.timeZone != new.timeZone || old.signedOutAt != nil
            || (old.activitiesEnabled == false && new.activitiesEnabled == true)
    }

    /// Returns `true` if the activity is active, or may be reopened.
    private func mayStillShow(_ activity: ActivityRecord) -> Bool {
        switch activity.phase {
        case .active: true
        case .announced: false
        case .ended:
            app.types[activity.type]?.policy.isReusable == true
                || activity.endedAt.map { $0 + TombstoneRecord.lifetime > now } ?? false
        }
    }

    private func takeOver(_ device: inout DeviceRecord) {
        device.platform = body.platform ?? device.platform
        device.timeZone = body.timeZone ?? device.timeZone
        device.locale = body.locale ?? device.locale
        device.osVersion = body.osVersion ?? device.osVersion
        device.appVersion = body.appVersion ?? device.appVersion
        device.build = body.build ?? device.build
        device.model = body.model ?? device.model
        device.environment = body.environment ?? device.environment
        device.activitiesEnabled = body.activitiesEnabled ?? device.activitiesEnabled
        device.frequentPushesEnabled = body.frequentPushesEnabled ?? device.frequentPushesEnabled
        device.channels = body.channels ?? device.channels
        device.notificationAuthorization = body.notificationAuthorization ?? device.notificationAuthorization
    }
}

extension AppSettings {
    /// Environment for tokens of a phone that never named one.
    package var defaultEnvironment: APNSEnvironment {
        environments.contains(.production) || environments.isEmpty ? .production : .sandbox
    }
}

/// Registers a device's push-to-start token for a type. Where a start was already sent, the token makes no other start
/// due.
package struct RegisterPushToStartToken: Command {
    package let app: AppSettings
    package let id: DeviceID
    package let type: String
    package let token: PushToStartToken
    package let now: UnixTime
    package var reporter = Reporter.backend

    package init(app: AppSettings, id: DeviceID, type: String, token: PushToStartToken, now: UnixTime) {
        self.app = app
        self.id = id
        self.type = type
        self.token = token
        self.now = now
    }

    package var rank: CommandRank { .write }
    package var keys: [SnapshotKey] {
        let tokens = [TokenValue(token)]
        return [.device(app.bundleID, id), .owners(app.bundleID, tokens), .holders(app.bundleID, tokens)]
    }

    package func decide(_ draft: inout Draft) throws(Refusal) -> DeviceKey {
        var device = try reporter.device(app.bundleID, id, now: now, in: draft)
        device.contactAt = now
        draft.put(device)
        try DeviceTokens.register(
            TokenValue(token), .pushToStart, type: type,
            environment: device.environment ?? app.defaultEnvironment, device: device, now: now, &draft)
        for key in draft.phones(on: device.key) {
            guard draft.snapshot.activities[key.activity]?.type == type else { continue }
            // Only a phone without a card waits for the token. The fate of an open start does not change.
            Lanes.review(key, app.types[type], now: now, &draft)
        }
        return device.key
    }
}

/// Signs a person out of a device. From then on, update tokens serve only to end the cards there.
package struct SignOutDevice: Command {
    package let app: BundleID
    package let id: DeviceID
    package let now: UnixTime
    package var reporter = Reporter.backend

    package init(app: BundleID, id: DeviceID, now: UnixTime) {
        self.app = app
        self.id = id
        self.now = now
    }

    package var rank: CommandRank { .write }
    package var keys: [SnapshotKey] { [.device(app, id)] }

    package func decide(_ draft: inout Draft) throws(Refusal) -> DeviceKey {
        var device = try reporter.device(app, id, now: now, in: draft)
        DeviceOwnership.cut(device, now: now, &draft)
        device.signedOutAt = now
        device.credentials = []
        device.contactAt = now
        draft.put(device)
        return device.key
    }
}

/// Rules for a device that leaves its person.
package enum DeviceOwnership {
    /// Signs out a device whose start or device token another person has reported under another device id.
    ///
    /// Such a token belongs to one phone, so the phone has changed hands. The former person's cards end at once.
    static func close(_ key: DeviceKey, for new: DeviceRecord, now: UnixTime, _ draft: inout Draft) {
        guard var old = draft.snapshot.devices[key], old.user != new.user, old.signedOutAt == nil else { return }
        cut(old, now: now, &draft)
        old.signedOutAt = now
        old.credentials = []
        draft.put(old)
    }

    /// Ends all cards on a device and gives up its start and device tokens.
    static func cut(_ device: DeviceRecord, now: UnixTime, _ draft: inout Draft) {
        for key in draft.phones(on: device.key) {
            guard let activity = draft.snapshot.activities[key.activity] else { continue }
            Audience(activity: activity, now: now).leave(device, &draft)
            // Reports about other people's activities mean nothing to the phone's next owner.
            guard var card = draft.snapshot.cards[key], card.awaitsUntil != nil else { continue }
            card.waitForAudience(until: UnixTime(milliseconds: 0))
            draft.removeUpdateToken(key, at: now)
            draft.put(card)
        }
        for key in draft.tokens(of: device.key) {
            guard let token = draft.snapshot.deviceTokens[key], token.deadAt == nil else { continue }
            var closed = token
            closed.deadAt = now
            draft.put(closed)
        }
    }
}

/// Rules for a device's tokens.
package enum DeviceTokens {
    /// Moves all tokens of a device to the environment that the phone has named.
    static func move(_ device: DeviceRecord, to environment: APNSEnvironment, _ draft: inout Draft) {
        for key in draft.tokens(of: device.key) {
            guard let token = draft.snapshot.deviceTokens[key], token.environment != environment else { continue }
            var moved = token
            moved.environment = environment
            draft.put(moved)
        }
        for key in draft.phones(on: device.key) {
            guard let token = draft.snapshot.updateTokens[key], token.environment != environment else { continue }
            var moved = token
            moved.environment = environment
            draft.put(moved)
        }
    }

    /// Registers a token value of a device.
    ///
    /// A new value begins a new generation. A repeated value keeps its generation.
    ///
    /// - Throws: `Refusal.deadToken` for a value that is dead, `Refusal.tooManyTokens` beyond the day's limit.
    static func register(
        _ value: TokenValue, _ kind: DeviceTokenRecord.Kind, type: String, environment: APNSEnvironment,
        device: DeviceRecord, now: UnixTime, _ draft: inout Draft
    ) throws(Refusal) {
        let ownerKind: TokenOwnerRecord.Kind = kind == .device ? .device : .pushToStart
        let known = draft.snapshot.owners[.init(device.app, value)]
        if let known, known.deadAt != nil { throw .deadToken }
        let old = draft.snapshot.deviceTokens[.init(device.key, kind, type)]
        // If the phone never named its environment, APNs's answers may have shown it. A repeated token does not undo
        // that.
        let told = device.environment == nil && old?.value == value && old?.deadAt == nil ? old?.environment : nil
        let environment = told ?? environment
        if var same = old, same.value == value, same.deadAt == nil, same.environment == environment {
            // The app has read the token again and iOS names the same one, so one more missed start makes it suspect
            // again. A start that leads to a card, or another value, clears the count.
            same.missedStarts = min(same.missedStarts, DeviceTokenRecord.suspectAfter - 1)
            return draft.put(same)
        }
        if let known, known.device != device.key {
            DeviceOwnership.close(known.device, for: device, now: now, &draft)
            // Another installation had the value. A push to it must be sent once, so that record is closed.
            for key in draft.tokens(of: known.device) {
                guard let token = draft.snapshot.deviceTokens[key], token.value == value else { continue }
                var closed = token
                closed.deadAt = now
                draft.put(closed)
            }
        }
        if known == nil { try draft.countNewToken(of: device.key, at: now) }
        var owner =
            known
            ?? TokenOwnerRecord(
                app: device.app, value: value, kind: ownerKind, device: device.key, activity: 0, firstSeenAt: now)
        owner.kind = ownerKind
        owner.device = device.key
        owner.releasedAt = nil
        draft.put(owner)
        draft.put(
            DeviceTokenRecord(
                device: device.key, kind: kind, type: type, generation: (old?.generation ?? 0) + 1,
                environment: environment, value: value, firstSeenAt: owner.firstSeenAt))
        if let old { draft.release(old, in: device.app, at: now) }
    }
}
