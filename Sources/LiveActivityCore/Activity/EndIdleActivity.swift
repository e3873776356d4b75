package import APNSModel

/// Ends an activity that its backend has not set for the type's `endAfter`, because the backend forgot it or lost it.
///
/// Changes nothing if the activity was set in the meantime or has ended.
package struct EndIdleActivity: Command {
    package let app: AppSettings
    package let id: ActivityID
    package let endAfter: Duration
    package let now: UnixTime

    package init(app: AppSettings, id: ActivityID, endAfter: Duration, now: UnixTime) {
        self.app = app
        self.id = id
        self.endAfter = endAfter
        self.now = now
    }

    package var rank: CommandRank { .prune }
    package var isAlone: Bool { false }
    package var keys: [SnapshotKey] { [.activity(app.bundleID, id)] }

    /// - Returns: `true` if the command ended the activity.
    package func decide(_ draft: inout Draft) throws(Refusal) -> Bool {
        guard let activity = draft.activity(app.bundleID, id), activity.phase == .active,
            activity.acceptedAt + endAfter <= now
        else { return false }
        var end = EndActivity(app: app, id: id, state: nil, alert: nil, dismissal: .systemDefault, now: now)
        end.reason = Reason(.nobodyEnded, "\(endAfter.components.seconds / 3600) h")
        return try end.decide(&draft).changed
    }
}
