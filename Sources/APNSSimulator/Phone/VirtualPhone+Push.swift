internal import APNSModel
internal import JSONText

extension VirtualPhone {
    /// Receives a push on the phone. APNs has answered 200 for it, so everything from here on happens silently.
    mutating func receive(_ push: DevicePush, at now: UnixTime) -> [PhoneEffect] {
        let local = local(now)
        settle(to: local)
        switch push.type {
        case .liveactivity: applyToCard(push, at: local, charged: false)
        case .background: receiveBackground(push, at: local)
        case .alert: receiveAlert(push, at: local)
        case .complication, .controls, .fileprovider, .location, .mdm, .pushtotalk, .voip, .widgets: break
        }
        return takeEffects()
    }

    private mutating func receiveAlert(_ push: DevicePush, at now: UnixTime) {
        guard let aps = push.body["aps"]?.object, var alert = ShownAlert(notification: aps, at: now) else { return }
        guard profile.notificationAuthorization.showsAlerts else {
            return note(.notificationsDenied, "the person does not allow notifications", at: now, push: push.id)
        }
        alert.collapseID = push.collapseID
        for (key, value) in push.body where key != "aps" { alert.data[key] = value }
        // A notification replaces an earlier one with the same collapse id.
        if let id = push.collapseID { notifications.removeAll { $0.collapseID == id } }
        notifications.append(alert)
        if notifications.count > DeviceLimits.remembered { notifications.removeFirst() }
        effects.append(.changed)
    }

    private mutating func receiveBackground(_ push: DevicePush, at now: UnixTime) {
        backgroundPushes.removeAll { $0 <= now - .seconds(3600) }
        guard backgroundPushes.count < limits.backgroundPushesPerHour else {
            let words = "over the budget of \(limits.backgroundPushesPerHour) background pushes an hour"
            return note(.backgroundBudget, words, at: now, push: push.id)
        }
        // A launch reads the tokens and reports everything anyway.
        let isLaunch = !profile.appState.runs
        guard wake(at: now, for: push.id) else { return }
        backgroundPushes.append(now)
        if !isLaunch { reportEverything(at: now) }
    }

    /// Applies the rules of a Live Activity push. `charged` is `true` if the budget has been charged for the push
    /// already.
    mutating func applyToCard(_ push: DevicePush, at now: UnixTime, charged: Bool) {
        do throws(Drop) {
            let aps = push.body["aps"]?.object ?? [:]
            guard profile.activitiesEnabled else {
                throw Drop(.activitiesDisabled, "the person switched Live Activities off")
            }
            let timestamp = try timestamp(of: aps, at: now)
            switch (aps["event"]?.string, push.use) {
            case ("start", .pushToStart): try start(push, aps, timestamp, at: now)
            case ("update", .update(let localID)):
                let index = try runningCard(localID)
                try update(index, push, aps, timestamp, at: now, charged: charged)
            case ("end", .update(let localID)):
                let index = try runningCard(localID)
                try end(index, push, aps, timestamp, at: now, charged: charged)
            case ("start", _), ("update", _), ("end", _):
                throw Drop(.eventUnfit, "the event does not fit the kind of token")
            default: throw Drop(.eventMissing, "`event` is not start, update or end")
            }
        } catch {
            var localID: String?
            if case .update(let id) = push.use { localID = id }
            note(error.code, error.words, at: now, card: localID, push: push.id)
        }
    }

    private func timestamp(of aps: JSONObject, at now: UnixTime) throws(Drop) -> UnixTime {
        guard let time = aps.seconds("timestamp") else {
            throw Drop(.timestampMissing, "`timestamp` is not a number of seconds")
        }
        guard time <= now + limits.timestampAhead else {
            throw Drop(.timestampAhead, "`timestamp` is more than eight hours ahead of the phone's clock")
        }
        return time
    }

    private func runningCard(_ localID: String) throws(Drop) -> Int {
        guard let index = cards.firstIndex(where: { $0.localID == localID }) else {
            throw Drop(.activityOver, "the card is no longer there")
        }
        guard cards[index].state.isRunning else { throw Drop(.activityOver, "the card has ended") }
        return index
    }

    // MARK: Start

    private mutating func start(
        _ push: DevicePush, _ aps: JSONObject, _ timestamp: UnixTime, at now: UnixTime
    ) throws(Drop) {
        let misplaced = Self.activityKeys.filter { push.body[$0] != nil }
        guard misplaced.isEmpty else {
            throw Drop(.misplacedKeys, "keys beside `aps` instead of inside:  \(misplaced.joined(separator: ", "))")
        }
        guard let name = aps["attributes-type"]?.string, !name.isEmpty else {
            throw Drop(.attributesTypeMissing, "a start needs `attributes-type`")
        }
        guard let attributes = aps["attributes"]?.object else {
            throw Drop(.attributesMissing, "a start needs the object `attributes`")
        }
        let contentState = try contentState(of: aps)
        guard let alert = ShownAlert(activity: aps, at: now) else {
            throw Drop(.alertMissing, "a start needs `alert` with a title")
        }
        let type = try installedType(name)
        if let mistake = type.mistake(inAttributes: attributes) {
            throw Drop(.attributesUndecodable, "attributes: \(mistake)")
        }
        try decode(contentState, as: type)
        if aps["input-push-channel"] != nil, profile.iOS < .channels {
            throw Drop(.channelUnsupported, "`input-push-channel` needs iOS 18")
        }
        let staleDate = aps.seconds("stale-date")
        if let staleDate, staleDate <= now {
            throw Drop(.staleAtStart, "the stale date is past: the card is never presented")
        }
        try chargeStart(at: now)
        guard cards.count(where: \.state.isRunning) < limits.runningCards else {
            throw Drop(.tooManyActivities, "\(limits.runningCards) activities of the app are already running")
        }
        var card = Card(
            localID: dice.uuid().description.uppercased(), attributesType: name, attributes: attributes,
            contentState: contentState, state: .active, startedAt: now, updatedAt: now, timestamp: timestamp,
            staleDate: staleDate, relevance: aps["relevance-score"]?.double ?? 0, startedByPush: true, activity: nil)
        card.alert = alert
        card.alerts = 1
        card.channel = aps["input-push-channel"]?.string.flatMap { ChannelID($0) }
        present(card, withToken: aps["input-push-channel"] == nil, for: push.id, at: now)
    }

    private mutating func present(_ card: Card, withToken: Bool, for push: PushID, at now: UnixTime) {
        cards.append(card)
        if let channel = card.channel { effects.append(.subscribed(channel)) }
        effects.append(.changed)
        if withToken {
            if handsOutTokens {
                issueUpdateToken(cards.count - 1)
            } else {
                note(
                    .tokenWithheld, "the update token is withheld until the person taps Allow", at: now,
                    card: card.localID, push: push)
            }
        }
        cards[cards.count - 1].isUnnoticed = true
        if wake(at: now, for: push) { tellNews(at: now) }
    }

    private mutating func chargeStart(at now: UnixTime) throws(Drop) {
        starts.removeAll { $0 <= now - .seconds(3600) }
        guard starts.count < limits.startsPerHour else {
            throw Drop(.pushToStartBudget, "push-to-start budget exceeded: \(limits.startsPerHour) in an hour")
        }
        starts.append(now)
    }

    // MARK: Update and end

    private mutating func update(
        _ index: Int, _ push: DevicePush, _ aps: JSONObject, _ timestamp: UnixTime, at now: UnixTime, charged: Bool
    ) throws(Drop) {
        guard timestamp >= cards[index].timestamp else {
            throw Drop(.olderThanShown, "`timestamp` is older than what the card shows")
        }
        let contentState = try contentState(of: aps)
        try decode(contentState, as: installedType(cards[index].attributesType))
        guard try charge(push, at: now, alreadyCharged: charged) else { return }
        cards[index].contentState = contentState
        cards[index].timestamp = timestamp
        cards[index].updatedAt = now
        // The content is replaced as a whole, so an update without a stale date removes the date.
        cards[index].staleDate = aps.seconds("stale-date")
        cards[index].state = cards[index].staleDate.map { $0 <= now } == true ? .stale : .active
        show(aps, on: index, at: now)
        noticeChange(of: index)
        effects.append(.changed)
    }

    private mutating func end(
        _ index: Int, _ push: DevicePush, _ aps: JSONObject, _ timestamp: UnixTime, at now: UnixTime, charged: Bool
    ) throws(Drop) {
        if let last = aps["content-state"] {
            guard let object = last.object else { throw Drop(.contentStateMissing, "`content-state` is not an object") }
            try decode(object, as: installedType(cards[index].attributesType))
            guard try charge(push, at: now, alreadyCharged: charged) else { return }
            // An end with an old timestamp ends the card, but does not show its older state.
            if timestamp >= cards[index].timestamp {
                cards[index].contentState = object
                cards[index].updatedAt = now
            }
        } else {
            guard try charge(push, at: now, alreadyCharged: charged) else { return }
        }
        cards[index].timestamp = max(timestamp, cards[index].timestamp)
        show(aps, on: index, at: now)
        let latest = now + limits.shownAfterEndFor
        end(index, because: .push, at: now, dismissesAt: min(aps.seconds("dismissal-date") ?? latest, latest))
    }

    private mutating func show(_ aps: JSONObject, on index: Int, at now: UnixTime) {
        if let relevance = aps["relevance-score"]?.double { cards[index].relevance = relevance }
        if let alert = ShownAlert(activity: aps, at: now) {
            cards[index].alert = alert
            cards[index].alerts += 1
        }
    }

    /// Returns `true` if the push may be applied now. A push over the budget is dropped or delayed.
    private mutating func charge(
        _ push: DevicePush, at now: UnixTime, alreadyCharged: Bool
    ) throws(Drop) -> Bool {
        guard push.priority == 10, !alreadyCharged else { return true }
        highPriorityPushes.removeAll { $0 <= now - .seconds(3600) }
        let budget = highPriorityBudget
        if highPriorityPushes.count < budget {
            highPriorityPushes.append(now)
            return true
        }
        switch limits.throttling {
        case .delayed(let pause) where delayed.count < DeviceLimits.delayedPushes:
            delayed.append(DelayedPush(due: now + pause, push: push))
            throw Drop(.highPriorityBudget, "over the budget of \(budget) an hour: delayed")
        case .dropped, .delayed:
            throw Drop(.highPriorityBudget, "over the budget of \(budget) an hour: dropped")
        }
    }

    private var highPriorityBudget: Int {
        profile.frequentPushesEnabled ? limits.frequentHighPriorityPerHour : limits.highPriorityPerHour
    }

    /// Fills the hour's budget, as if that many high-priority pushes had just arrived.
    mutating func spendBudget(at now: UnixTime) {
        let left = max(0, highPriorityBudget - highPriorityPushes.count)
        highPriorityPushes += Array(repeating: now, count: left)
    }

    // MARK: Decoding

    private func contentState(of aps: JSONObject) throws(Drop) -> JSONObject {
        guard let object = aps["content-state"]?.object else {
            throw Drop(.contentStateMissing, "the object `content-state` is missing")
        }
        return object
    }

    private func installedType(_ name: String) throws(Drop) -> InstalledActivityType {
        guard let type = profile.activityTypes.first(where: { $0.name == name }) else {
            throw Drop(.unknownAttributesType, "the app has no ActivityAttributes type of that name")
        }
        return type
    }

    private func decode(_ contentState: JSONObject, as type: InstalledActivityType) throws(Drop) {
        if let mistake = type.mistake(inContentState: contentState) {
            throw Drop(.contentStateUndecodable, "content-state: \(mistake)")
        }
    }

    /// The keys that ActivityKit reads inside `aps`. It ignores them beside `aps`.
    private static let activityKeys = ["attributes-type", "attributes", "content-state", "event", "timestamp", "alert"]
}

/// The reason a phone drops a push.
struct Drop: Error {
    let code: DeviceLogEntry.Code
    let words: String

    init(_ code: DeviceLogEntry.Code, _ words: String) {
        self.code = code
        self.words = words
    }
}

extension JSONObject {
    /// Returns a date of the payload: seconds since 1970, without the fraction.
    fileprivate func seconds(_ key: String) -> UnixTime? {
        // Beyond this limit no date is sensible, and its milliseconds would overflow.
        self[key]?.double.map { UnixTime(seconds: Int64(Swift.min(Swift.max($0, -1e14), 1e14).rounded(.down))) }
    }
}

extension ShownAlert {
    /// Creates an alert from ActivityKit's form: `title` and `body` are text or `{"loc-key"}`, and the sound is inside
    /// `alert`.
    init?(activity aps: JSONObject, at now: UnixTime) {
        guard let alert = aps["alert"]?.object, let title = Self.text(alert["title"]) else { return nil }
        self.init(title: title, body: Self.text(alert["body"]), sound: alert["sound"]?.string, at: now)
    }

    /// Creates an alert from the form of ordinary notifications: text, or an object with flat keys, and the sound
    /// beside `alert`.
    init?(notification aps: JSONObject, at now: UnixTime) {
        let sound = aps["sound"]?.string
        if let text = aps["alert"]?.string {
            self.init(title: text, body: nil, sound: sound, at: now)
            return
        }
        guard let alert = aps["alert"]?.object else { return nil }
        guard let title = alert["title"]?.string ?? alert["title-loc-key"]?.string else { return nil }
        self.init(title: title, body: alert["body"]?.string ?? alert["loc-key"]?.string, sound: sound, at: now)
        subtitle = alert["subtitle"]?.string ?? alert["subtitle-loc-key"]?.string
        threadID = aps["thread-id"]?.string
    }

    private static func text(_ value: JSONValue?) -> String? {
        if let text = value?.string { return text.isEmpty ? nil : text }
        guard let key = value?.object?["loc-key"]?.string, !key.isEmpty else { return nil }
        let arguments = value?.object?["loc-args"]?.array?.compactMap(\.string) ?? []
        return localized(key, arguments)
    }

    /// Returns the text of an app whose strings translate each key into itself. The arguments replace `%@` one by one.
    private static func localized(_ key: String, _ arguments: [String]) -> String {
        var parts = key.split(separator: "%@", omittingEmptySubsequences: false)[...]
        var text = String(parts.popFirst() ?? "")
        for (number, part) in parts.enumerated() {
            text += (number < arguments.count ? arguments[number] : "%@") + part
        }
        return text
    }
}
