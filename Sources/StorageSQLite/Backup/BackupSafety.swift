import APNSModel
import GRDB
import LiveActivityCore

/// What a database that was put back must take for granted: since the backup was made, pushes went out that it does
/// not know.
///
/// A second start is a second card, and an alert reaches a phone once. So whatever may have been started counts as
/// started, and whatever may have been alerted counts as alerted. Open flights need nothing: the server's rescuer takes
/// the worst for true.
enum BackupSafety {
    /// How many rows were changed.
    struct Changes: Sendable, Equatable {
        var starts = 0
        var alerts = 0
    }

    /// - Parameters:
    ///   - madeAt: When the backup was made: no start that it does not know is older.
    ///   - now: The moment of the restore: no such start was made later.
    ///   - startsAreKnown: The operator knows that nothing was started since.
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

    /// A start of a moment before the restore may be stored by APNs for so long: the default start window.
    private static let longestWindow = TypePolicy().startWindow

    /// Phones that the server might have started a card on count as phones whose start is open, whether the copy knows
    /// their start token or not, and whether the activity runs in it or has been opened anew since.
    ///
    /// Those are the ones without a card; the ones whose card is over, where the activity asks for another or may be in
    /// another run by now; and the ones that have not begun the present run, whatever they show of the one before.
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

    /// An open start may have been found to have failed, and been made again: it stays open as long as that one might.
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

    /// What phones have shown whose person signed out since: whoever signs in there again gets a card, once the phone's
    /// inventory lacks the one of then.
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

    /// Lanes count anew what was changed behind their back, and go around once.
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

    /// Every phone counts as alerted with what its activity has to say now, unless its writer prefers twice to never.
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
