import APNSModel

/// Record of the alerts that a phone was given. An alert reaches a phone at most once.
package struct AlertLedger: Sendable, Hashable {
    /// Revision of the newest alert that a push delivered, may have delivered, or that was not meant for the phone. A
    /// notification of the alert alone counts as such a push.
    package private(set) var pushed: Revision
    /// Timestamp of the push whose alert counts as given until its answer comes; `nil` if no answer is awaited.
    package private(set) var awaited: Int64?
    /// Revision up to which an ordinary notification replaced a card of this run; `nil` if none did.
    ///
    /// It is separate from `pushed`, because the notification may turn out not to have arrived. Then a card shows the
    /// same.
    package private(set) var told: Revision?

    /// - Parameter pushed: Alerts up to this revision are not for the phone.
    init(pushed: Revision, awaited: Int64? = nil, told: Revision? = nil) {
        self.pushed = pushed
        self.awaited = awaited
        self.told = told
    }

    /// Revision of the newest alert that reached the phone, or may have, by a push or a notification.
    package var given: Revision { max(pushed, told ?? pushed) }

    /// Records that the push with this alert arrived, or may have.
    ///
    /// An alert older than `pushed` changes nothing, because the answer to the newer one may still be awaited.
    mutating func arrives(_ alert: Revision) {
        guard alert >= pushed else { return }
        pushed = alert
        awaited = nil
    }

    /// Records that the answer to the push with this alert is awaited. The alert counts as given, so no other push
    /// carries it.
    ///
    /// An alert that was never meant for the phone stays so, whatever happens to the push. The call may come twice if
    /// the first commit's outcome was unknown.
    mutating func await(_ alert: Revision, of timestamp: Int64) {
        let isNews = pushed < alert || awaited == timestamp
        arrives(alert)
        if isNews { awaited = timestamp }
    }

    /// Records that APNs definitely did not accept the push with this timestamp. Its alert is due again.
    ///
    /// A newer alert that counts as given stays given. So does what a notification said in the meantime.
    ///
    /// - Parameter before: Value of `pushed` at the push's claim.
    mutating func giveBack(_ alert: Revision, of timestamp: Int64, to before: Revision) {
        guard awaited == timestamp else { return }
        awaited = nil
        if pushed == alert { pushed = before }
    }

    /// Records that a notification says everything up to this revision. That stays true if APNs then refuses a start.
    mutating func fallBack(_ revision: Revision) { told = max(told ?? revision, revision) }

    /// Records that a notification of the alert alone did not arrive. The alert is due again.
    mutating func takeAlertBack(_ alert: Revision) {
        guard pushed == alert, awaited == nil else { return }
        pushed = alert - 1
    }

    /// Records that the notification did not arrive. A card may say the same once one can be started.
    mutating func takeFallBackBack() { told = nil }

    /// Skips alerts up to this revision for a person who was away, including one that was on its way.
    mutating func skip(to revision: Revision) {
        pushed = max(given, revision)
        awaited = nil
    }
}
