package import APNSModel

/// Has the backend told that nothing leaves on a way of its pushes until a person mends it.
///
/// What it tells of is a circuit, which is in memory alone: after a restart the same halt is told again.
package struct TellKeyHalted: Command {
    package let route: PushRoute
    package let reason: Reason.Code
    package let now: UnixTime

    package init(route: PushRoute, reason: Reason.Code, now: UnixTime) {
        self.route = route
        self.reason = reason
        self.now = now
    }

    package static var mayBeRefused: Bool { false }
    package var rank: CommandRank { .write }
    package var keys: [SnapshotKey] { [] }

    package func decide(_ draft: inout Draft) throws(Refusal) {
        var event = EventRecord(.keyHalted, app: route.app, at: now)
        event.reason = reason
        event.subject = EventRecord.Subject(route.environment)
        draft.tell(event)
    }
}
