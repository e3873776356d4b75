/// What a phone holds of an activity, by revision.
package struct CardRevisions: Sendable, Hashable {
    /// The newest revision APNs accepted for the current token.
    package private(set) var sent: Revision
    /// The newest revision the phone itself reported to hold.
    package private(set) var shown: Revision
    /// A revision APNs refused for a fault of ours: not sent again.
    package private(set) var parked: Revision
    /// Times that a contact showed an older state than the one sent, for this revision.
    package private(set) var contradictions: Int

    init(sent: Revision = 0, shown: Revision = 0, parked: Revision = 0, contradictions: Int = 0) {
        self.sent = sent
        self.shown = shown
        self.parked = parked
        self.contradictions = contradictions
    }

    /// The newest revision that the phone has, for all we know.
    package var held: Revision { max(sent, shown) }

    mutating func accept(_ revision: Revision) { sent = max(sent, revision) }

    mutating func park(_ revision: Revision) { parked = revision }

    /// A new token may be that of a card that was never sent anything.
    mutating func changeToken() { sent = 0 }

    /// Nothing is known of what the phone holds.
    mutating func forget() {
        sent = 0
        shown = 0
    }

    mutating func show(_ revision: Revision) {
        shown = revision
        contradictions = 0
    }

    /// The app changed a state that it had: what is newer has yet to come, also where it was sent. What the app got by
    /// itself was not.
    mutating func base(on revision: Revision) {
        sent = min(sent, revision)
        shown = revision
    }

    mutating func contradict() { contradictions += 1 }

    /// What the phone contradicted is counted for each revision.
    mutating func beginRevision() { contradictions = 0 }
}
