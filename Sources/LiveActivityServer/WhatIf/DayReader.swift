import APNSModel
import JSONText
import LiveActivityCore
import LiveActivityStorage

/// A reader of the recent history of a type's activities, within limits and from the newest back.
struct DayReader {
    private static let page = 500

    let store: any ReadStore
    let app: BundleID
    let type: String
    let limits: RecordedDay.Limits

    func day(from: UnixTime, to: UnixTime) async throws(StorageError) -> RecordedDay {
        var day = RecordedDay(from: from, to: to)
        let recent = try await store.activities(of: app, type, from: from, before: to, limit: limits.activities)
        day.isPart = recent.hasMore
        var room = (changes: limits.changes, pushes: limits.pushes)
        var timelines: [[HistoryEntry]] = []
        for id in recent.ids {
            if Task.isCancelled { break }
            guard let state = try await store.activity(app, id) else { continue }
            guard let entries = try await timeline(of: state.record.number) else {
                day.isPart = true
                continue
            }
            let phones = try await store.phones(of: state.record.number, after: -1, limit: limits.phones + 1)
            let activity = RecordedActivity(
                state.record, attributes: Self.object(state.content?.attributes), phones: phones, entries: entries,
                from: from, to: to)
            let changes = activity.changes(since: from)
            // An activity that only phones or the server itself changed is not worth a replay.
            guard changes > 0 || activity.unreadable > 0 else { continue }
            let pushes = changes * max(1, phones.count)
            guard phones.count <= limits.phones, changes <= room.changes, pushes <= room.pushes else {
                day.isPart = true
                continue
            }
            room = (room.changes - changes, room.pushes - pushes)
            let holders = try await store.tokenHolders(among: phones.map(\.device.key), starting: type)
            for phone in phones where activity.cards[phone.device.key] != nil {
                let key = phone.device.key
                day.phones[key] = RecordedPhone(
                    facts: phone.device, hasStartToken: holders.pushToStart.contains(key),
                    hasDeviceToken: holders.device.contains(key))
            }
            day.activities.append(activity)
            timelines.append(entries)
        }
        day.sent = DayFigures(counting: timelines, from: from, to: to)
        return day
    }

    /// Returns `nil` if the timeline is longer than the limit.
    private func timeline(of activity: ActivityNumber) async throws(StorageError) -> [HistoryEntry]? {
        var entries: [HistoryEntry] = []
        var after: Int64 = 0
        var count = 0
        while true {
            let rows = try await store.history(of: activity, after: after, limit: Self.page)
            for row in rows { entries += row.record.entries }
            guard rows.count == Self.page, let last = rows.last else { return entries }
            after = last.sequence
            count += rows.count
            guard count < limits.rows else { return nil }
        }
    }

    private static func object(_ encoded: EncodedObject?) -> JSONObject {
        encoded.flatMap { (try? JSONValue(parsing: $0.bytes))?.object } ?? [:]
    }
}

extension RecordedDay {
    /// Sentences about what is not recorded, and what the replay assumes instead.
    var unknown: [String] {
        var words = [
            "APNs takes every push at once here: what it refused or was late with that day is not played.",
            "What phones had used of their budgets before is not counted: they begin with full ones. Nor are cards and "
                + "pushes of other types, in budgets or at the ceiling.",
            "Time zones, permissions and tokens of phones, who is in the audience, and attributes are those of now.",
            "Calls that set the same state again are not recorded: stale dates and `endAfter` count from changes.",
            "How long an alert counts (`expiresAfter`, `keep`), when an ended card leaves, and what an app changed on "
                + "its own card are not recorded: the defaults hold, and no app changes anything.",
        ]
        let cards = activities.flatMap(\.cards.values)
        let fresh = cards.count { $0.reports == .unknown && $0.standing == .nothing }
        if fresh > 0 {
            words.append(
                "\(fresh) of \(cards.count) cards were started by no push that day: where one starts them here, the "
                    + "phone reports the card after 2 s, with its update token.")
        }
        let unreadable = activities.reduce(0) { $0 + $1.unreadable }
        if unreadable > 0 {
            words.append("\(unreadable) changes are left out: an earlier version did not record their states.")
        }
        return words
    }
}
