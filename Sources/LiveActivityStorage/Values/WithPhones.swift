package import APNSModel
package import LiveActivityCore

/// An activity, and all its phones, ordered by key. The phones are `nil` if they are many, or not all known: see
/// `Draft.fewPhones`.
package typealias ActivityWithPhones = (state: ActivityState, phones: [PhoneSituation]?)

/// Command whose reply comes with the activity and its phones, as the command leaves them.
///
/// An answer that says what follows on the phones then needs no read of its own.
package struct WithPhones<Inner: Command>: Command {
    package struct Reply: Sendable {
        package var reply: Inner.Reply
        /// `nil` if there is no such activity.
        package var found: ActivityWithPhones?
    }

    private let inner: Inner
    private let app: BundleID
    private let id: ActivityID

    package init(_ inner: Inner, of id: ActivityID, in app: BundleID) {
        self.inner = inner
        self.app = app
        self.id = id
    }

    package static var mayBeRefused: Bool { Inner.mayBeRefused }
    package static var name: String { Inner.name }
    package var rank: CommandRank { inner.rank }
    package var isAlone: Bool { inner.isAlone }
    package var weight: Int { inner.weight }
    package var keys: [SnapshotKey] { inner.keys + [.activityWithPhones(app, id)] }

    package func decide(_ draft: inout Draft) throws(Refusal) -> Reply {
        var reply = Reply(reply: try inner.decide(&draft))
        if let record = draft.activity(app, id), let state = draft.snapshot.state(of: record.number) {
            reply.found = (state, draft.fewPhones(of: record))
        }
        return reply
    }
}
