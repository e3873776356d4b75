/// Revisions of an activity that a phone holds.
package struct CardRevisions: Sendable, Hashable {
    /// Newest revision that APNs accepted for the current token.
    package private(set) var sent: Revision
    /// Newest revision that the phone itself reported.
    package private(set) var shown: Revision
    /// Revision that APNs refused through a fault of ours. It is not sent again.
    package private(set) var parked: Revision
    /// Number of reports that showed an older state than the one sent, for this revision.
    package private(set) var contradictions: Int

    init(sent: Revision = 0, shown: Revision = 0, parked: Revision = 0, contradictions: Int = 0) {
        self.sent = sent
        self.shown = shown
        self.parked = parked
        self.contradictions = contradictions
    }

    /// Newest revision that the phone holds, as far as is known.
    package var held: Revision { max(sent, shown) }

    mutating func accept(_ revision: Revision) { sent = max(sent, revision) }

    mutating func park(_ revision: Revision) { parked = revision }

    /// Forgets what was sent, because a new token may belong to a card that was never sent anything.
    mutating func changeToken() { sent = 0 }

    /// Forgets what the phone holds.
    mutating func forget() {
        sent = 0
        shown = 0
    }

    mutating func show(_ revision: Revision) {
        shown = revision
        contradictions = 0
    }

    /// Records that the app changed a state that it had. Newer revisions must be sent again, because they did not
    /// arrive. A revision that the app got by itself does not count as sent.
    mutating func base(on revision: Revision) {
        sent = min(sent, revision)
        shown = revision
    }

    mutating func contradict() { contradictions += 1 }

    /// Resets the contradictions, which are counted per revision.
    mutating func beginRevision() { contradictions = 0 }
}
