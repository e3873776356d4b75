import APNSModel
import JSONText
import LiveActivityAPI
import LiveActivityCore
import LiveActivityStorage

extension ActivityAnswer {
    /// - Parameter total: Number of all phones of the activity. Those that are not counted are reported as `more`.
    init(_ reply: SetDesiredState.Reply, _ tally: Outlook.Tally, total: Int) {
        // An activity that nobody sees is not an error. The answer says that there was nothing to do.
        let reasons = total == 0 ? [ReasonCount(reason: "nothing-to-update", count: 0)] : tally.reasons
        self.init(
            revision: Int(reply.revision), changed: reply.changed, phase: reply.phase.rawValue, phones: tally.phones,
            reasons: reasons, more: total > tally.counted ? total - tally.counted : nil)
        summary = tally.summary(total: total)
        estimated = tally.isEstimate ? true : nil
        superseded = reply.isSuperseded ? true : nil
    }
}

/// The page of phones that an answer lists.
struct PhonePage {
    static let standard = 100
    static let maximum = 1000

    let after: DeviceKey?
    let limit: Int

    init(_ query: Query) throws(Problem) {
        limit = try query.limit(default: Self.standard, maximum: Self.maximum)
        if let text = query["after"] {
            guard let key = DeviceKey(text, radix: 36), key >= 0 else {
                throw Problem(.invalidQuery, "`after` is the `next` of an earlier answer")
            }
            after = key
        } else {
            after = nil
        }
    }

    static func cursor(_ key: DeviceKey) -> String { String(key, radix: 36) }
}

extension ActivityView {
    /// - Parameters:
    ///   - counted: The phones that are counted by their state.
    ///   - page: The phones to list, and one more if there is a next page.
    init(
        _ state: ActivityState, counted: [PhoneSituation], page: [PhoneSituation], limit: Int, outlook: Outlook
    ) {
        let record = state.record
        let listed = page.prefix(limit)
        let counts = Dictionary(counted.map { ($0.card.state.name, 1) }, uniquingKeysWith: +)
        self.init(
            activity: record.id.text, type: record.type, phase: record.phase.rawValue, run: record.run,
            revision: Int(record.revision), state: state.content?.state.object ?? [:],
            attributes: state.content?.attributes.object ?? [:],
            createdAt: record.run == 1 ? Instant(record.runStartedAt) : nil,
            updatedAt: Instant(record.changedAt), counts: counts,
            devices: listed.map { DeviceView($0, outlook: outlook) },
            next: page.count > limit ? listed.last.map { PhonePage.cursor($0.device.key) } : nil)
        reason = state.waitReason.map(LiveActivityAPI.Reason.init)
        more = state.phones > counted.count ? state.phones - counted.count : nil
        fanOut = state.reached.map { FanOut(done: $0, phones: state.phones) }
    }
}

extension DeviceView {
    init(_ phone: PhoneSituation, outlook: Outlook) {
        let card = phone.card
        self.init(
            device: phone.device.id.text, user: phone.device.userID.text, localID: card.localID?.text,
            state: card.state.name, revision: Int(card.heldRevision),
            shownRevision: card.shownRevision > 0 ? Int(card.shownRevision) : nil,
            confirmation: Confirmation(card), lastDelivery: card.last.map(DeliveryView.init),
            reason: outlook.reason(on: phone))
        channel = card.subscription?.text
    }
}

extension DeviceView.Confirmation {
    init(_ card: CardMachine) {
        if card.shownRevision > 0, card.shownRevision >= card.sentRevision {
            self = .held
        } else if card.sentRevision > 0 {
            self = .accepted
        } else {
            // A contradiction removes what the phone presumably held, until it is sent again.
            self = card.revisions.contradictions > 0 ? .contradicted : .unknown
        }
    }
}

extension DeliveryView {
    init(_ last: LastDelivery) {
        self.init(
            kind: last.kind.name, at: Instant(last.at), status: last.status > 0 ? last.status : nil,
            verdict: last.reason.code.rawValue, reason: last.reason.apnsReason, detail: last.reason.text)
    }
}

extension DesiredStatesAnswer.DesiredState {
    /// Creates what a phone learns of one activity. Returns `nil` if the phone has no part in it.
    init?(_ state: ActivityState, _ card: CardMachine, on device: DeviceID, app: AppSettings) {
        let record = state.record
        let mayStart: Bool
        switch card.contactAnswer(of: record, on: device) {
        case .nothing: return nil
        case .end:
            self.init(
                activity: record.id.text, type: record.type, state: [:], revision: Int(record.revision),
                phase: ActivityRecord.Phase.ended.rawValue)
            nameCard(card)
            return
        case .state(let may): mayStart = may
        }
        let policy = app.types[record.type]?.policy ?? TypePolicy()
        self.init(
            activity: record.id.text, type: record.type,
            attributes: mayStart ? state.content?.attributes.object : nil,
            state: state.content?.state.object ?? [:], revision: Int(record.revision), phase: record.phase.rawValue,
            staleAt: record.phase == .active ? record.staleDate(policy: policy).map { Instant($0) } : nil)
        relevance = record.relevance
        if record.phase == .ended {
            switch record.endDismissal(policy: policy) {
            case .systemDefault: break
            case .immediate: dismissAt = Instant(record.endedAt ?? record.changedAt)
            case .at(let time): dismissAt = Instant(time)
            }
        }
        nameCard(card)
    }

    /// Creates what a caller learns of an activity that it may join.
    init(_ offer: JoinOffer) {
        let record = offer.activity
        self.init(
            activity: record.id.text, type: record.type,
            attributes: offer.mayStart ? offer.content.attributes.object : nil,
            state: offer.content.state.object ?? [:], revision: Int(record.revision), phase: record.phase.rawValue,
            staleAt: record.staleDate(policy: offer.policy).map { Instant($0) })
        relevance = record.relevance
        if let card = offer.card { nameCard(card) }
        retryAfter = offer.retryAfter.map { Int(($0.wholeMilliseconds + 999) / 1000) }
        guard let id = offer.channel else { return }
        channel = id.text
        if offer.timestamp > 0 { lastTimestamp = Instant(UnixTime(seconds: offer.timestamp)) }
    }

    /// Adds the channel that the app starts the card with, and the newest timestamp of a broadcast to the card.
    mutating func nameChannel(_ state: ActivityState, _ card: CardMachine, on phone: DeviceFacts, app: AppSettings) {
        if let id = card.subscription, let channel = state.channels.first(where: { $0.id == id }) {
            let newest = Instant(UnixTime(seconds: max(card.timestamp, channel.timestamp)))
            if channel.timestamp > 0 { lastTimestamp = newest }
        }
        guard attributes != nil, let type = app.types[type], let content = state.content,
            case .channel(let id) = state.desired(type, content).routeOfApp(on: phone)
        else { return }
        channel = id.text
    }

    /// Adds the card's local id, and the timestamp that local updates must exceed.
    private mutating func nameCard(_ card: CardMachine) {
        guard card.state.mayHaveCard else { return }
        localID = card.localID?.text
        if localID != nil { startedAt = card.startedAt.map { Instant($0) } }
        if card.timestamp > 0 { lastTimestamp = Instant(UnixTime(seconds: card.timestamp)) }
    }
}

extension EncodedObject {
    /// The parsed object. Its JSON was checked when it was stored.
    var object: JSONObject? { (try? JSONValue(parsing: bytes))?.object }
}

extension Instant {
    /// Creates the same instant, or the nearest one within 1970 through 9999.
    init(_ time: UnixTime) {
        self.init(clampingMilliseconds: Int(time.milliseconds))
    }
}
