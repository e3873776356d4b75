import APNSModel

/// Which alert a phone was given. An alert reaches a phone at most once.
package struct AlertLedger: Sendable, Hashable {
    /// The revision of the newest alert that reached the phone, or may have.
    package private(set) var given: Revision
    /// The timestamp of the push whose answer is awaited and whose alert counts as given until that comes; `nil`: none.
    package private(set) var awaited: Int64?
    /// An ordinary notification said it in place of a card of this run.
    package private(set) var hasFallenBack = false

    /// - Parameter given: Alerts up to this revision are not for the phone.
    init(given: Revision, awaited: Int64? = nil, hasFallenBack: Bool = false) {
        self.given = given
        self.awaited = awaited
        self.hasFallenBack = hasFallenBack
    }

    /// The phone has the push that carries this alert, or may have it.
    ///
    /// The fate of an older alert says nothing of a newer one, whose answer may be awaited.
    mutating func arrives(_ alert: Revision) {
        guard alert >= given else { return }
        given = alert
        awaited = nil
    }

    /// The answer to the push that carries this alert is awaited: it counts as given, and no other push carries it.
    ///
    /// Alerts that the phone is not to get, whatever becomes of the push, stay so. The same may be said twice, where
    /// the first commit was unknown.
    mutating func await(_ alert: Revision, of timestamp: Int64) {
        let isNews = given < alert || awaited == timestamp
        arrives(alert)
        if isNews { awaited = timestamp }
    }

    /// APNs definitely has not taken the push with this timestamp: its alert is still to come.
    ///
    /// A newer alert that counts as given since stays so.
    ///
    /// - Parameter before: What had been given when the push was claimed.
    mutating func giveBack(_ alert: Revision, of timestamp: Int64, to before: Revision) {
        guard awaited == timestamp else { return }
        awaited = nil
        if given == alert { given = before }
    }

    /// A notification said everything up to this revision. Should APNs refuse the start that was to bring it, the phone
    /// has been told all the same.
    mutating func fallBack(_ revision: Revision) {
        given = max(given, revision)
        awaited = nil
        hasFallenBack = true
    }

    /// The notification did not arrive: a card may say the same once there is a way.
    mutating func takeFallBackBack() { hasFallenBack = false }

    /// Alerts up to this revision are not for the person, who was away; nor is one that was on its way.
    mutating func skip(to revision: Revision) {
        given = max(given, revision)
        awaited = nil
    }
}
