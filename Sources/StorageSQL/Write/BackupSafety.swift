package import APNSModel
import LiveActivityCore

/// Makes a restored database safe against pushes that were sent since the backup.
///
/// A second start creates a second card, and an alert must reach a phone once. So every start that may have been sent
/// counts as sent, and every alert that may have been sent counts as sent. Open flights need no change, because the
/// server's rescue assumes the worst.
package enum BackupSafety {
    /// Numbers of changed rows.
    package struct Changes: Sendable, Equatable {
        /// Number of phones that get no start until it is known what they show.
        package var starts = 0
        /// Number of phones that get no more alert for a current state.
        package var alerts = 0

        package init(starts: Int = 0, alerts: Int = 0) {
            self.starts = starts
            self.alerts = alerts
        }
    }

    /// Applies the safe assumptions.
    ///
    /// - Parameters:
    ///   - madeAt: Time of the backup. No start that it lacks is older.
    ///   - now: Time of the restore. No such start is later.
    ///   - startsAreKnown: `true` if the operator knows that nothing was started since.
    package static func apply(
        _ sql: any SQLTransaction, madeAt: UnixTime, now: UnixTime, startsAreKnown: Bool
    ) throws -> Changes {
        var changes = Changes()
        if !startsAreKnown {
            changes.starts = try holdStarts(sql, madeAt: madeAt, now: now) + prolongOpenStarts(sql, now: now)
        }
        changes.alerts = try spendAlerts(sql)
        try lookAtAll(sql, now: now)
        return changes
    }

    private typealias State = CardState

    /// Maximum time for which APNs may store a start: the default start window.
    private static let longestWindow = TypePolicy().startWindow

    private static func states(_ states: State...) -> String {
        states.map { String($0.rawValue) }.joined(separator: ", ")
    }

    /// Marks phones as having an open start if the server may have started a card on them since the backup.
    ///
    /// It does not matter whether the copy knows their start token, or whether the activity runs in it or was reopened
    /// since. The phones are:
    ///
    /// - phones without a card
    /// - phones whose card is over, if the activity restarts cards or may be in another run
    /// - phones that have not begun the current run, whatever they show of the one before
    private static func holdStarts(_ sql: any SQLTransaction, madeAt: UnixTime, now: UnixTime) throws -> Int {
        try sql.execute(
            """
            UPDATE instance SET state = \(states(.unconfirmed)), started_at = ?, start_expires_at = ?,
                run = (SELECT run FROM activity WHERE no = instance.activity), due_at = NULL, local_id = NULL
            WHERE EXISTS (
                SELECT 1 FROM activity
                WHERE activity.no = instance.activity AND phase <> 'announced' AND (
                    instance.state IN (\(states(.absent, .requesting))) OR instance.run < activity.run
                    OR (instance.state IN (\(states(.ended, .dismissed, .gone))) AND restart <> 'never')
                    OR (phase = 'ended' AND instance.state <> \(states(.live)))))
            """, [.int(madeAt.milliseconds), .int((now + longestWindow).milliseconds)])
    }

    /// Prolongs open starts. Such a start may have failed and been sent again, so it stays open as long as the second
    /// one might.
    private static func prolongOpenStarts(_ sql: any SQLTransaction, now: UnixTime) throws -> Int {
        try sql.execute(
            """
            UPDATE instance SET start_expires_at = ?1
            WHERE state IN (\(states(.unconfirmed, .starting))) AND start_expires_at < ?1
                AND EXISTS (SELECT 1 FROM activity WHERE no = instance.activity AND phase = 'active')
            """, [.int((now + longestWindow).milliseconds)])
    }

    /// Forgets cards on devices whose person has signed out since.
    ///
    /// A person who signs in there again gets a card as soon as the phone's inventory lacks the old one.
    ///
    /// - Parameter devices: A statement that selects the devices.
    package static func forgetCards(_ sql: any SQLTransaction, on devices: String, now: UnixTime) throws {
        try sql.run(
            """
            UPDATE instance SET state = \(states(.unconfirmed)), local_id = NULL, start_expires_at = ?,
                due_at = NULL, look_at = NULL
            WHERE dk IN (\(devices)) AND state IN (\(states(.starting, .unconfirmed, .live, .ending)))
            """, [.int((now + longestWindow).milliseconds)])
        try lookAtAll(sql, now: now)
    }

    /// Recounts the lanes after these direct changes, and begins a new lap for each.
    private static func lookAtAll(_ sql: any SQLTransaction, now: UnixTime) throws {
        func count(_ states: String) -> String {
            """
            (SELECT count(*) FROM instance WHERE instance.activity = lane.activity
                AND dk >= lane.from_dk AND dk < lane.to_dk AND state IN (\(states)))
            """
        }
        try sql.run(
            """
            UPDATE lane SET absent = \(count(states(.absent, .requesting))),
                open = \(count(states(.starting, .unconfirmed))), live = \(count(states(.live, .ending))),
                over = \(count(states(.ended, .dismissed, .gone))),
                channel_run = coalesce((SELECT run FROM activity WHERE no = lane.activity), 0),
                on_channel = (SELECT count(*) FROM instance JOIN activity ON no = instance.activity
                    WHERE instance.activity = lane.activity AND dk >= lane.from_dk AND dk < lane.to_dk
                        AND instance.channel_run = activity.run)
            """, [])
        try sql.run(
            """
            UPDATE activity SET lap = lap + 1, wake_at = ?
            WHERE EXISTS (SELECT 1 FROM lane WHERE lane.activity = activity.no)
            """, [.int(now.milliseconds)])
    }

    /// Marks the current alert of each activity as sent to every phone, unless its sender prefers a repeated alert to a
    /// lost one.
    private static func spendAlerts(_ sql: any SQLTransaction) throws -> Int {
        try sql.execute(
            """
            UPDATE instance SET alerted_rev = (SELECT rev FROM activity WHERE no = instance.activity)
            WHERE EXISTS (
                SELECT 1 FROM activity
                WHERE no = instance.activity AND json_extract(alert, '$.onUnknown') = ?
                    AND CAST(json_extract(alert, '$.rev') AS bigint) > instance.alerted_rev)
            """, [.text(AlertRecord.OnUnknown.drop.rawValue)])
    }
}
