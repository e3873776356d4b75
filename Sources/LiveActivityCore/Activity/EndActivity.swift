package import APNSModel
package import JSONText

/// Ends an activity, with a last state or with the current one.
///
/// Ending an ended activity again changes nothing, unless the last state or the dismissal differs.
package struct EndActivity: Command {
    package typealias Reply = SetDesiredState.Reply

    package let app: AppSettings
    package let id: ActivityID
    package let state: JSONObject?
    package let alert: SetDesiredState.AlertWish?
    package let dismissal: DismissalWish
    package let now: UnixTime
    package var preconditions = Preconditions()
    /// Reason of the end, if it was not the backend that ended the activity.
    var reason: Reason?

    package init(
        app: AppSettings, id: ActivityID, state: JSONObject?, alert: SetDesiredState.AlertWish?,
        dismissal: DismissalWish,
        now: UnixTime
    ) {
        self.app = app
        self.id = id
        self.state = state
        self.alert = alert
        self.dismissal = dismissal
        self.now = now
    }

    package var rank: CommandRank { .write }
    package var keys: [SnapshotKey] { [.activity(app.bundleID, id)] }

    package func decide(_ draft: inout Draft) throws(Refusal) -> Reply {
        guard var activity = draft.activity(app.bundleID, id) else { throw .unknownActivity(id) }
        if preconditions.isLate(for: activity) { return .superseded(activity) }
        try preconditions.check(activity, id)
        guard var content = draft.snapshot.contents[activity.number], activity.phase != .announced else {
            throw .notAnActivityYet(id)
        }
        if let state {
            let last = try checked(state, app.types[activity.type])
            content.state = last.encoded
            content.digest = last.digest
            content.unfit.state = last.unfit
        }
        try checkSize(content.state, alert?.alert, activity)
        let sameState = content.digest == draft.snapshot.contents[activity.number]?.digest
        let changed = activity.phase == .active || !sameState || activity.dismissal != dismissal
        if let sequence = preconditions.sequence {
            activity.clientSequence = sequence
            draft.put(activity)
        }
        guard changed else {
            return Reply(
                number: activity.number, revision: activity.revision, changed: false, phase: .ended, run: activity.run)
        }
        activity.phase = .ended
        activity.endedAt = activity.endedAt ?? now
        activity.dismissal = dismissal
        activity.revision += 1
        activity.changedAt = now
        activity.acceptedAt = now
        activity.refreshAt = nil
        activity.refreshedSince = nil
        if let alert, !(alert.id.map(activity.alertIDs.contains) ?? false) {
            activity.take(
                AlertRecord(
                    id: alert.id ?? "r\(activity.revision)", revision: activity.revision, alert: alert.alert,
                    expiresAt: now + alert.expiresAfter, keep: alert.keep, onUnknown: alert.onUnknown,
                    onChannels: app.types[activity.type]?.policy.channelAlerts ?? .broadcast))
        } else if activity.alert?.keep == false, alert?.id != activity.alert?.id {
            activity.alert = nil
        }
        // A kept alert that was not sent yet goes with the last state too.
        if let kept = activity.alert, now < kept.expiresAt { try checkSize(content.state, kept.alert, activity) }
        if draft.snapshot.lanes[activity.number] != nil { activity.beginLap(at: now) }
        content.revision = activity.revision
        draft.put(activity)
        draft.put(content)
        draft.record(
            HistoryEntry(
                .ended, at: now, revision: activity.revision, carriesAlert: activity.alert != nil,
                reason: reason,
                detail: ChangeContent.text(state: content.state, alert: activity.alert?.alert)),
            of: activity)
        return Reply(
            number: activity.number, revision: activity.revision, changed: true, phase: .ended, run: activity.run)
    }

    /// Refuses an end that could not be built later. Otherwise the card would stay for hours, and the caller would not
    /// know.
    private func checkSize(
        _ state: EncodedObject, _ alert: PushAlert?, _ activity: ActivityRecord
    ) throws(Refusal) {
        do throws(PayloadError) {
            let relevance: RelevanceScore? =
                if let value = activity.relevance { try RelevanceScore(value) } else { nil }
            let far = UnixTime(seconds: 9_999_999_999)
            _ = try EndPayload(
                timestamp: far, contentState: state, dismissal: .at(far), alert: alert, relevance: relevance)
        } catch {
            throw .payloadTooLarge(error, FieldSize.list(error, state: state, attributes: nil))
        }
    }

    private func checked(_ state: JSONObject, _ type: ActivityType?) throws(Refusal) -> StateContent {
        do throws(ContractViolation) {
            return try StateContent(state, from: .given, type: type)
        } catch {
            throw .contractViolation(error)
        }
    }
}
