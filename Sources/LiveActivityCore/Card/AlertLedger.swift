import APNSModel

/// Which alert a phone was given. An alert reaches a phone at most once.
package struct AlertLedger: Sendable, Hashable {
    /// The revision of the newest alert that a push brought to the phone, or may have; or that was not for it.
    package private(set) var pushed: Revision
    /// The timestamp of the push whose answer is awaited and whose alert counts as given until that comes; `nil`: none.
    package private(set) var awaited: Int64?
    /// The revision up to which an ordinary notification spoke in place of a card of this run; `nil`: there was none.
    ///
    /// It is kept apart, since the notification may turn out not to have arrived: then a card says the same.
    package private(set) var told: Revision?

    /// - Parameter pushed: Alerts up to this revision are not for the phone.
    init(pushed: Revision, awaited: Int64? = nil, told: Revision? = nil) {
        self.pushed = pushed
        self.awaited = awaited
        self.told = told
    }

    /// The revision of the newest alert that reached the phone, or may have, one way or the other.
    package var given: Revision { max(pushed, told ?? pushed) }

    /// The phone has the push that carries this alert, or may have it.
    ///
    /// The fate of an older alert says nothing of a newer one, whose answer may be awaited.
    mutating func arrives(_ alert: Revision) {
        guard alert >= pushed else { return }
        pushed = alert
        awaited = nil
    }

    /// The answer to the push that carries this alert is awaited: it counts as given, and no other push carries it.
    ///
    /// Alerts that the phone is not to get, whatever becomes of the push, stay so. The same may be said twice, where
    /// the first commit was unknown.
    mutating func await(_ alert: Revision, of timestamp: Int64) {
        let isNews = pushed < alert || awaited == timestamp
        arrives(alert)
        if isNews { awaited = timestamp }
    }

    /// APNs definitely has not taken the push with this timestamp: its alert is still to come, unless a notification
    /// said it since.
    ///
    /// A newer alert that counts as given since stays so.
    ///
    /// - Parameter before: What had been pushed when the push was claimed.
    mutating func giveBack(_ alert: Revision, of timestamp: Int64, to before: Revision) {
        guard awaited == timestamp else { return }
        awaited = nil
        if pushed == alert { pushed = before }
    }

    /// A notification says everything up to this revision. Should APNs refuse the start that was to bring it, the phone
    /// has been told all the same.
    mutating func fallBack(_ revision: Revision) { told = max(told ?? revision, revision) }

    /// The notification did not arrive: a card may say the same once there is a way.
    mutating func takeFallBackBack() { told = nil }

    /// Alerts up to this revision are not for the person, who was away; nor is one that was on its way.
    mutating func skip(to revision: Revision) {
        pushed = max(given, revision)
        awaited = nil
    }
}
