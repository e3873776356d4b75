import APNSModel
import GRDB
import LiveActivityCore

/// Makes a restored database safe against pushes that were sent since the backup.
///
/// A second start creates a second card, and an alert must reach a phone once. So every start that may have been sent
/// counts as sent, and every alert that may have been sent counts as sent. Open flights need no change, because the
/// server's rescue assumes the worst.
enum BackupSafety {
    /// Numbers of changed rows.
    struct Changes: Sendable, Equatable {
        var starts = 0
        var alerts = 0
    }

    /// Applies the safe assumptions.
    ///
    /// - Parameters:
    ///   - madeAt: Time of the backup. No start that it lacks is older.
    ///   - now: Time of the restore. No such start is later.
    ///   - startsAreKnown: `true` if the operator knows that nothing was started since.
    static func apply(
        _ db: Database, madeAt: UnixTime, now: UnixTime, startsAreKnown: Bool
    ) throws -> Changes {
        var changes = Changes()
        if !startsAreKnown {
            try holdStarts(db, madeAt: madeAt, now: now)
            changes.starts = db.changesCount
            try prolongOpenStarts(db, now: now)
            changes.starts += db.changesCount
        }
        try spendAlerts(db)
        changes.alerts = db.changesCount
        try lookAtAll(db, now: now)
        return changes
    }

    private typealias State = CardState

    /// Maximum time for which APNs may store a start: the default start window.
    private static let longestWindow = TypePolicy().startWindow

    /// Marks phones as having an open start if the server may have started a card on them since the backup.
    ///
    /// It does not matter whether the copy knows their start token, or whether the activity runs in it or was reopened
    /// since. The phones are:
    ///
    /// - phones without a card
    /// - phones whose card is over, if the activity restarts cards or may be in another run
    /// - phones that have not begun the current run, whatever they show of the one before
    private static func holdStarts(_ db: Database, madeAt: UnixTime, now: UnixTime) throws {
        try db.execute(
            sql: """
                UPDATE instance SET state = :unconfirmed, started_at = :madeAt, start_expires_at = :expires,
                    run = (SELECT run FROM activity WHERE no = instance.activity), due_at = NULL, local_id = NULL
                WHERE EXISTS (
                    SELECT 1 FROM activity
                    WHERE activity.no = instance.activity AND phase <> 'announced' AND (
                        instance.state IN (:absent, :requesting) OR instance.run < activity.run
                        OR (instance.state IN (:ended, :dismissed, :gone) AND restart <> 'never')
                        OR (phase = 'ended' AND instance.state <> :live)))
                """,
            arguments: [
                "unconfirmed": State.unconfirmed.rawValue, "madeAt": madeAt.milliseconds,
                "expires": (now + longestWindow).milliseconds,
                "absent": State.absent.rawValue, "requesting": State.requesting.rawValue,
                "ended": State.ended.rawValue, "dismissed": State.dismissed.rawValue, "gone": State.gone.rawValue,
                "live": State.live.rawValue,
            ])
    }

    /// Prolongs open starts. Such a start may have failed and been sent again, so it stays open as long as the second
    /// one might.
    private static func prolongOpenStarts(_ db: Database, now: UnixTime) throws {
        try db.execute(
            sql: """
                UPDATE instance SET start_expires_at = :expires
                WHERE state IN (:unconfirmed, :starting) AND start_expires_at < :expires
                    AND EXISTS (SELECT 1 FROM activity WHERE no = instance.activity AND phase = 'active')
                """,
            arguments: [
                "unconfirmed": State.unconfirmed.rawValue, "starting": State.starting.rawValue,
                "expires": (now + longestWindow).milliseconds,
            ])
    }

    /// Forgets cards on devices whose person has signed out since.
    ///
    /// A person who signs in there again gets a card as soon as the phone's inventory lacks the old one.
    static func forgetCards(_ db: Database, on devices: String, now: UnixTime) throws {
        let states = [State.starting, .unconfirmed, .live, .ending].map { String($0.rawValue) }.joined(separator: ",")
        try db.execute(
            sql: """
                UPDATE main.instance SET state = :unconfirmed, local_id = NULL, start_expires_at = :expires,
                    due_at = NULL, look_at = NULL
                WHERE dk IN (\(devices)) AND state IN (\(states))
                """,
            arguments: [
                "unconfirmed": State.unconfirmed.rawValue, "expires": (now + longestWindow).milliseconds,
            ])
        try lookAtAll(db, now: now)
    }

    /// Recounts the lanes after these direct changes, and begins a new lap for each.
    private static func lookAtAll(_ db: Database, now: UnixTime) throws {
        func count(_ states: [State]) -> String {
            let list = states.map { String($0.rawValue) }.joined(separator: ",")
            return """
                (SELECT count(*) FROM instance WHERE instance.activity = lane.activity
                    AND dk >= lane.from_dk AND dk < lane.to_dk AND state IN (\(list)))
                """
        }
        try db.execute(
            sql: """
                UPDATE lane SET absent = \(count([.absent, .requesting])), open = \(count([.starting, .unconfirmed])),
                    live = \(count([.live, .ending])), over = \(count([.ended, .dismissed, .gone]))
                """)
        try db.execute(
            sql: """
                UPDATE activity SET lap = lap + 1, wake_at = :now
                WHERE EXISTS (SELECT 1 FROM lane WHERE lane.activity = activity.no)
                """, arguments: ["now": now.milliseconds])
    }

    /// Marks the current alert of each activity as sent to every phone, unless its sender prefers a repeated alert to a
    /// lost one.
    private static func spendAlerts(_ db: Database) throws {
        try db.execute(
            sql: """
                UPDATE instance SET alerted_rev = (SELECT rev FROM activity WHERE no = instance.activity)
                WHERE EXISTS (
                    SELECT 1 FROM activity
                    WHERE no = instance.activity AND json_extract(alert, '$.onUnknown') = :drop
                        AND json_extract(alert, '$.rev') > instance.alerted_rev)
                """, arguments: ["drop": AlertRecord.OnUnknown.drop.rawValue])
    }
}
