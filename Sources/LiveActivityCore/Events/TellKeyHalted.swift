package import APNSModel

/// Records the event that no push leaves on a route until a person fixes its key.
///
/// The event describes a circuit, which exists only in memory. So after a restart, the same halt causes another event.
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
