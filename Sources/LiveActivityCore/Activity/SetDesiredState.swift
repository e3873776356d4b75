package import APNSModel
package import JSONText

/// Sets the desired state of an activity.
///
/// The command writes the activity and its content, however many phones show it. Phones get rows only when their people
/// join.
package struct SetDesiredState: Command {
    /// The desired state, as a caller sets it.
    package struct Body: Sendable, Equatable {
        package var state: JSONObject
        package var attributes: JSONObject?
        /// People in the audience; `nil` leaves the audience unchanged.
        package var users: [UserID]?
        package var devices: ActivityRecord.DeviceSelection?
        package var alert: AlertWish?
        package var priority: ActivityRecord.PriorityWish = .auto
        package var relevance: Double?
        package var staleAt: UnixTime?
        package var staleAfter: Duration?
        package var start: ActivityRecord.StartMode?
        package var restart: ActivityRecord.Restart?
        /// Template of the notification where no card can be shown; `nil` if the type's applies.
        package var fallback: PushAlert?
        package var reopen = false

        package init(state: JSONObject) { self.state = state }
    }

    /// An alert as a caller asks for it.
    package struct AlertWish: Sendable, Equatable {
        package static let lifetime = Duration.seconds(600)

        package var id: String?
        package var alert: PushAlert
        package var expiresAfter: Duration = Self.lifetime
        package var keep = false
        package var onUnknown: AlertRecord.OnUnknown = .drop

        package init(_ alert: PushAlert) { self.alert = alert }
    }

    /// The activity after the call.
    package struct Reply: Sendable, Equatable, IdempotentReply {
        package var number: ActivityNumber
        package var revision: Revision
        package var changed: Bool
        package var phase: ActivityRecord.Phase
        package var run: Int
        /// `true` if a call with the same or a greater `sequence` was accepted before. Nothing was changed then.
        package var isSuperseded = false
    }

    /// Maximum number of people in one request.
    package static let maximumUsers = 1000

    package let app: BundleID
    package let id: ActivityID
    package let type: ActivityType
    package let body: Body
    package let now: UnixTime
    package var preconditions = Preconditions()
    /// The state, checked and encoded once by the caller, because other commands wait for the thread that decides.
    private let content: Result<StateContent, ContractViolation>

    /// - Parameter origin: Origin of the state, which determines how its dates are read.
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
        // Sequence numbers count within a run. Reopening an activity starts them again.
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
            // There are no phones to update.
            activity.wakeAt = nil
            draft.put(activity)
        }
        return Reply(
            number: activity.number, revision: activity.revision, changed: changed, phase: activity.phase,
            run: activity.run)
    }

    // MARK: - Steps

    /// Returns `true` if the whole audience is loaded, so that the members to remove are known. `ChangeAudience`
    /// replaces a larger audience page by page.
    private func canReplaceAudience(of activity: ActivityRecord, _ draft: Draft) -> Bool {
        draft.snapshot.wholeAudiences.contains(activity.number)
            && draft.audience(of: activity.number).members <= Self.maximumUsers
    }

    /// Returns the current activity, a new one, or an ended one in its next run.
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
            // A first state without attributes keeps those of the last run, or of a card that a phone reported.
            if let old { return (old.attributes, old.attributesDigest) }
            // If only the app starts cards, the attributes are the app's own.
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

    /// Returns the request's alert; `nil` if it has none, or one that this activity already had.
    private func newAlert(over activity: ActivityRecord, isRepeated: Bool) -> AlertRecord? {
        guard let wish = body.alert else { return nil }
        // A call without an alert id may be repeated unchanged, for example after a lost answer. It must not alert
        // twice.
        if wish.id == nil, isRepeated, activity.alert?.alert == wish.alert { return nil }
        let id = wish.id ?? "r\(activity.revision + 1)"
        if wish.id != nil, activity.alertIDs.contains(id) { return nil }
        return AlertRecord(
            id: id, revision: activity.revision + 1, alert: wish.alert, expiresAt: now + wish.expiresAfter,
            keep: wish.keep, onUnknown: wish.onUnknown, onChannels: type.policy.channelAlerts)
    }

    /// Returns `true` if the call names this alert again, by its id or by its content.
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
        let before = (activity.start, activity.restart, activity.devices, activity.fallback)
        if let start = body.start { activity.start = start }
        if let restart = body.restart { activity.restart = restart }
        if let devices = body.devices { activity.devices = devices }
        activity.fallback = body.fallback
        // These settings may make a card or a notification possible for phones that wait with the same state.
        let after = (activity.start, activity.restart, activity.devices, activity.fallback)
        if before != after { activity.beginLap(at: now) }
        guard changed else { return }
        activity.priority = body.priority
        activity.relevance = body.relevance
        activity.staleAt = body.staleAt
        activity.staleAfter = body.staleAfter
        activity.revision += 1
        activity.changedAt = now
        // The new state carries its stale date.
        activity.refreshAt = nil
        activity.refreshedSince = nil
        if let newAlert {
            activity.take(newAlert)
        } else if !isNamed(activity.alert), activity.alert?.keep == false {
            // A later state carries an unsent alert only if `keep` is set or the call names the alert again.
            activity.alert = nil
        }
        activity.beginLap(at: now)
    }

    /// Refuses a state that could not be built later, even at its largest: with the alert and every date.
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
