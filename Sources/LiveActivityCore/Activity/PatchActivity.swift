package import APNSModel
package import JSONText

/// Changes parts of the desired state and keeps the rest.
///
/// The command decides over the stored state, so two callers who patch different members do not undo each other's
/// changes.
package struct PatchActivity: Command {
    package typealias Reply = SetDesiredState.Reply

    /// Parts to change; `nil` keeps a part.
    package struct Body: Sendable, Equatable {
        /// Merge patch of the content state (RFC 7396).
        package var state: JSONObject = [:]
        package var alert: SetDesiredState.AlertWish?
        package var priority: ActivityRecord.PriorityWish?
        package var relevance: Double?
        /// `staleAt` or `staleAfter`: naming one replaces both.
        package var staleAt: UnixTime?
        package var staleAfter: Duration?

        package init() {}
    }

    package let app: AppSettings
    package let id: ActivityID
    package let body: Body
    package let now: UnixTime
    package var preconditions = Preconditions()

    package init(app: AppSettings, id: ActivityID, body: Body, now: UnixTime) {
        self.app = app
        self.id = id
        self.body = body
        self.now = now
    }

    package var rank: CommandRank { .write }
    package var keys: [SnapshotKey] { [.activity(app.bundleID, id)] }

    package func decide(_ draft: inout Draft) throws(Refusal) -> Reply {
        guard let activity = draft.activity(app.bundleID, id) else { throw .unknownActivity(id) }
        if preconditions.isLate(for: activity) { return .superseded(activity) }
        try preconditions.check(activity, id)
        guard activity.phase != .ended else { throw .activityEnded(id) }
        guard activity.phase == .active, let content = draft.snapshot.contents[activity.number],
            let state = (try? JSONValue(parsing: content.state.bytes))?.object
        else { throw .notAnActivityYet(id) }
        guard let type = app.types[activity.type] else { throw .unknownType(activity.type) }
        var whole = SetDesiredState.Body(state: state.merged(with: body.state))
        whole.alert = body.alert
        whole.priority = body.priority ?? activity.priority
        whole.relevance = body.relevance ?? activity.relevance
        whole.fallback = activity.fallback
        let namesStaleDate = body.staleAt != nil || body.staleAfter != nil
        whole.staleAt = namesStaleDate ? body.staleAt : activity.staleAt
        whole.staleAfter = namesStaleDate ? body.staleAfter : activity.staleAfter
        var command = SetDesiredState(
            app: app.bundleID, id: id, type: type, body: whole, now: now, stateFrom: .merged(body.state))
        command.preconditions = preconditions
        return try command.decide(&draft)
    }
}
