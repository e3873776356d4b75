package import APNSModel
package import JSONText

/// Sets what an activity should show. Touches one activity and its content, whoever watches; phones get rows only when
/// their people join.
package struct SetDesiredState: Command {
    package struct Body: Sendable, Equatable {
        package var state: JSONObject
        package var attributes: JSONObject?
        /// `nil` leaves the audience as it is.
        package var users: [UserID]?
        package var devices: ActivityRecord.DeviceSelection?
        package var alert: AlertWish?
        package var priority: ActivityRecord.PriorityWish = .auto
        package var relevance: Double?
        package var staleAt: UnixTime?
        package var staleAfter: Duration?
        package var start: ActivityRecord.StartMode?
        package var restart: ActivityRecord.Restart?
        /// A template; `nil` leaves it to the type.
        package var fallback: PushAlert?
        package var reopen = false

        package init(state: JSONObject) { self.state = state }
    }

    /// An alert as it is asked for.
    package struct AlertWish: Sendable, Equatable {
        package static let lifetime = Duration.seconds(600)

        package var id: String?
        package var alert: PushAlert
        package var expiresAfter: Duration = Self.lifetime
        package var keep = false
        package var onUnknown: AlertRecord.OnUnknown = .drop

        package init(_ alert: PushAlert) { self.alert = alert }
    }

    package struct Reply: Sendable, Equatable, IdempotentReply {
        package var number: ActivityNumber
        package var revision: Revision
        package var changed: Bool
        package var phase: ActivityRecord.Phase
        package var run: Int
        /// A call with a greater `sequence` was taken before: nothing was changed.
        package var isSuperseded = false
    }

    /// The people one request may name.
    package static let maximumUsers = 1000

    package let app: BundleID
    package let id: ActivityID
    package let type: ActivityType
    package let body: Body
    package let now: UnixTime
    package var preconditions = Preconditions()
    /// Checked and encoded once, and by the caller: the thread that decides has others waiting.
    private let content: Result<StateContent, ContractViolation>

    /// - Parameter origin: Where the state comes from, which says how its dates are meant.
    package init(
        app: BundleID, id: ActivityID, type: ActivityType, body: Body, now: UnixTime,
        stateFrom origin: Contract.Origin = .given
    ) {
        self.app = app
        self.id = id
        self.type = type
        self.body = body
        self.now = now
        content = Result { () throws(ContractViolation) in
            try StateContent(body.state, from: origin, type: type)
        }
    }

    package var rank: CommandRank { .write }
    package var weight: Int { 1 + (body.users?.count ?? 0) }

    package var keys: [SnapshotKey] {
        guard let users = body.users else { return [.activity(app, id)] }
        return [.activity(app, id), .members(app, id), .users(app, users, id), .audience(app, id, [])]
    }

    package func decide(_ draft: inout Draft) throws(Refusal) -> Reply {
        if let users = body.users, users.count > Self.maximumUsers {
            throw .audienceTooLarge(limit: Self.maximumUsers)
        }
        let old = draft.activity(app, id)
        if body.users != nil, let old, !canReplaceAudience(of: old, draft) {
            throw .audienceTooLarge(limit: Self.maximumUsers)
        }
        // A number counts within a run; who asks for a new one begins to count anew.
        let beginsAnew = old?.phase == .ended && body.reopen
        if let old, !beginsAnew, preconditions.isLate(for: old) { return .superseded(old) }
        try preconditions.check(old, id)
        var activity = try self.activity(from: old, &draft)
        if let sequence = preconditions.sequence { activity.clientSequence = sequence }
        let oldContent = draft.snapshot.contents[activity.number]
        let begins = old == nil || old?.run != activity.run || old?.phase == .announced
        let attributes = try self.attributes(of: activity, old: oldContent, begins: begins)
        let state = try checkedState()
        let sameContent = !begins && oldContent.map { $0.digest == state.digest && state.isSame($0.state) } == true
        let newAlert = self.newAlert(over: activity, isRepeated: sameContent && !wishesDiffer(activity))
        let changed = begins || !sameContent || newAlert != nil || wishesDiffer(activity)
        apply(&activity, changed: changed, newAlert)
        try checkSize(state.encoded, attributes, activity)
        if changed {
            var content = ContentRecord(
                activity: activity.number, revision: activity.revision, state: state.encoded, digest: state.digest,
                attributes: attributes.encoded, attributesDigest: attributes.digest)
            content.unfit = UnfitBuilds(
                state: state.unfit, attributes: type.unfitBuilds(attributes: attributes.encoded))
            draft.put(content)
            draft.record(
                HistoryEntry(
                    old != nil && begins && activity.run > 1 ? .reopened : .stateSet, at: now,
                    revision: activity.revision, carriesAlert: newAlert != nil,
                    detail: ChangeContent.text(
                        state: state.encoded, alert: newAlert == nil ? nil : activity.alert?.alert, activity)),
                of: activity)
        }
        draft.put(activity)
        try Audience(activity: activity, now: now, beginsLap: activity.lap != old?.lap)
            .replace(with: body.users, in: &draft)
        if draft.snapshot.lanes[activity.number] == nil {
            // Nobody to tell.
            activity.wakeAt = nil
            draft.put(activity)
        }
        return Reply(
            number: activity.number, revision: activity.revision, changed: changed, phase: activity.phase,
            run: activity.run)
    }

    // MARK: - Steps

    /// Members that were not loaded cannot be left out: `ChangeAudience` finds them page by page.
    private func canReplaceAudience(of activity: ActivityRecord, _ draft: Draft) -> Bool {
        draft.snapshot.wholeAudiences.contains(activity.number)
            && draft.audience(of: activity.number).members <= Self.maximumUsers
    }

    /// The activity as it was, or a new one, or a new run of an ended one.
    private func activity(from old: ActivityRecord?, _ draft: inout Draft) throws(Refusal) -> ActivityRecord {
        guard var activity = old else {
            var fresh = ActivityRecord(number: draft.takeActivityNumber(), app: app, id: id, type: type.name, at: now)
            fresh.restart = type.policy.restart
            fresh.start = type.policy.start
            return fresh
        }
        guard activity.type == type.name || activity.phase == .announced else {
            throw .typeDiffers(id, is: activity.type)
        }
        activity.type = type.name
        switch activity.phase {
        case .active: break
        case .announced:
            activity.runStartedAt = now
            activity.restart = type.policy.restart
            activity.start = type.policy.start
        case .ended:
            guard body.reopen || type.policy.isReusable else { throw .activityEnded(id) }
            activity.run += 1
            activity.runStartedAt = now
            activity.alert = nil
            activity.alertIDs = []
            activity.clientSequence = nil
            activity.restart = type.policy.restart
            activity.start = type.policy.start
        }
        return activity
    }

    private func attributes(
        of activity: ActivityRecord, old: ContentRecord?, begins: Bool
    ) throws(Refusal) -> (encoded: EncodedObject, digest: UInt64) {
        guard let given = body.attributes else {
            if let old, !begins { return (old.attributes, old.attributesDigest) }
            // What the last run had, or a phone reported of its own card, is kept for a first state that brings none.
            if let old { return (old.attributes, old.attributesDigest) }
            // Where the app alone starts cards, the attributes are its own business.
            return try encode([:], isChecked: activity.start == .ifPossible)
        }
        let (encoded, digest) = try encode(given, isChecked: true)
        if let old, !begins, old.attributesDigest != digest { throw .attributesDiffer(id) }
        return (encoded, digest)
    }

    private func encode(
        _ given: JSONObject, isChecked: Bool
    ) throws(Refusal) -> (encoded: EncodedObject, digest: UInt64) {
        var tagged = try ActivityTag.fill(given, type: type, id: id)
        if isChecked, let contract = type.contract {
            do throws(ContractViolation) {
                tagged = try ActivityTag.encoded(tagged, by: contract)
            } catch {
                throw .contractViolation(error)
            }
        }
        return (EncodedObject(tagged), ContentDigest.of(attributes: tagged, type.contract))
    }

    private func checkedState() throws(Refusal) -> StateContent {
        do throws(ContractViolation) { return try content.get() } catch { throw .contractViolation(error) }
    }

    /// The alert to hold on to; `nil` when the request brings none, or one that this activity already has.
    private func newAlert(over activity: ActivityRecord, isRepeated: Bool) -> AlertRecord? {
        guard let wish = body.alert else { return nil }
        // Without an id a call that is repeated as it is, after a lost answer perhaps, must not alert twice.
        if wish.id == nil, isRepeated, activity.alert?.alert == wish.alert { return nil }
        let id = wish.id ?? "r\(activity.revision + 1)"
        if wish.id != nil, activity.alertIDs.contains(id) { return nil }
        return AlertRecord(
            id: id, revision: activity.revision + 1, alert: wish.alert, expiresAt: now + wish.expiresAfter,
            keep: wish.keep, onUnknown: wish.onUnknown)
    }

    /// The call names this alert again: by its id, or as the call did that brought it.
    private func isNamed(_ alert: AlertRecord?) -> Bool {
        guard let wish = body.alert, let alert else { return false }
        return wish.id.map { $0 == alert.id } ?? (wish.alert == alert.alert)
    }

    private func wishesDiffer(_ activity: ActivityRecord) -> Bool {
        activity.relevance != body.relevance || activity.staleAt != body.staleAt
            || activity.staleAfter != body.staleAfter
    }

    private func apply(_ activity: inout ActivityRecord, changed: Bool, _ newAlert: AlertRecord?) {
        activity.phase = .active
        activity.endedAt = nil
        activity.dismissal = .systemDefault
        activity.accepted(at: now, policy: type.policy)
        let before = (activity.start, activity.restart, activity.fallback)
        if let start = body.start { activity.start = start }
        if let restart = body.restart { activity.restart = restart }
        if let devices = body.devices { activity.devices = devices }
        activity.fallback = body.fallback
        // These may open a way for phones that wait with the same state.
        if before != (activity.start, activity.restart, activity.fallback) { activity.beginLap(at: now) }
        guard changed else { return }
        activity.priority = body.priority
        activity.relevance = body.relevance
        activity.staleAt = body.staleAt
        activity.staleAfter = body.staleAfter
        activity.revision += 1
        activity.changedAt = now
        // The new state takes its stale date along.
        activity.refreshAt = nil
        activity.refreshedSince = nil
        if let newAlert {
            activity.take(newAlert)
        } else if !isNamed(activity.alert), activity.alert?.keep == false {
            // A later state carries an unsent alert only where it was asked to, or names that alert again.
            activity.alert = nil
        }
        activity.beginLap(at: now)
    }

    /// Refuses at the door what could not be built later: at its largest, with the alert and every date.
    private func checkSize(
        _ state: EncodedObject, _ attributes: (encoded: EncodedObject, digest: UInt64), _ activity: ActivityRecord
    ) throws(Refusal) {
        do throws(PayloadError) {
            let relevance: RelevanceScore? = if let value = body.relevance { try RelevanceScore(value) } else { nil }
            let far = UnixTime(seconds: 9_999_999_999)
            _ = try UpdatePayload(
                timestamp: far, contentState: state, alert: activity.alert?.alert, staleDate: far, relevance: relevance)
            _ = try EndPayload(
                timestamp: far, contentState: state, dismissal: .at(far), alert: activity.alert?.alert,
                relevance: relevance)
            guard activity.start == .ifPossible else { return }
            let startAlert = type.policy.startAlert.map { template in
                let attributes = try? JSONValue(parsing: attributes.encoded.bytes)
                return template.filled(state: body.state, attributes: attributes?.object ?? [:]).alert
            }
            for alert in [activity.alert?.alert, startAlert].compactMap({ $0 }) {
                _ = try StartPayload(
                    timestamp: far, attributesType: type.attributesType, attributes: attributes.encoded,
                    contentState: state, alert: alert, staleDate: far, relevance: relevance, input: .updateToken)
            }
        } catch {
            throw .payloadTooLarge(error, FieldSize.list(error, state: state, attributes: attributes.encoded))
        }
    }
}
