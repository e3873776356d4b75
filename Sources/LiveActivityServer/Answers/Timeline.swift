import APNSModel
import LiveActivityAPI
import LiveActivityCore

/// The page of a timeline that an answer holds. A stored row has the entries of a whole flight, so a cursor names a row
/// and an entry in it.
struct TimelinePage {
    static let standard = 100
    static let maximum = 1000

    let limit: Int
    /// `true` to answer the last entries instead of the first.
    let isNewest: Bool
    private let row: Int64
    /// Number of entries of that row that were already answered. `nil`: all of them.
    private let entry: Int?

    init(_ query: Query) throws(Problem) {
        limit = try query.limit(default: Self.standard, maximum: Self.maximum)
        isNewest = try query.flag("newest")
        guard let text = query["after"] else {
            row = 0
            entry = nil
            return
        }
        guard !isNewest else { throw Problem(.invalidQuery, "`newest` answers the end, and has no `after`") }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard let row = parts.first.flatMap({ Int64($0) }), row > 0, parts.count <= 2 else { throw Self.badCursor }
        self.row = row
        if parts.count == 2 {
            guard let entry = Int(parts[1]), entry > 0 else { throw Self.badCursor }
            self.entry = entry
        } else {
            entry = nil
        }
    }

    private static let badCursor = Problem(.invalidQuery, "`after` is the `next` of an earlier answer")

    /// The page needs the rows after this one.
    var rowsAfter: Int64 { entry == nil ? row : row - 1 }

    /// Returns the last entries of rows that are sorted from the newest.
    func end(of rows: [HistoryRecord]) -> [HistoryEntry] {
        Array(rows.reversed().flatMap(\.entries).suffix(limit))
    }

    /// Returns the entries of this page, and the cursor of the next one.
    func cut(_ rows: [(sequence: Int64, record: HistoryRecord)]) -> (entries: [HistoryEntry], next: String?) {
        var entries: [HistoryEntry] = []
        var last: String?
        for (sequence, record) in rows {
            let skipped = sequence == row ? (entry ?? 0) : 0
            for (index, entry) in record.entries.enumerated().dropFirst(skipped) {
                guard entries.count < limit else { return (entries, last) }
                entries.append(entry)
                last = index + 1 == record.entries.count ? "\(sequence)" : "\(sequence).\(index + 1)"
            }
        }
        return (entries, nil)
    }
}

extension TimelineView.Entry {
    init(_ entry: HistoryEntry, devices: [DeviceKey: DeviceID]) {
        let (code, text) = Self.words(of: entry)
        self.init(
            at: Instant(entry.at), kind: entry.kind.name,
            device: entry.device.flatMap { devices[$0]?.text }, revision: Int(entry.revision), code: code, text: text,
            status: entry.status > 0 ? entry.status : nil, apnsID: entry.pushID?.description)
        priority = entry.priority > 0 ? entry.priority : nil
        alert = entry.carriesAlert ? true : nil
        timestamp = entry.timestamp > 0 ? Int(entry.timestamp) : nil
        state = entry.device == nil ? ChangeContent(entry)?.state : nil
    }

    /// Returns the code and text of an entry. Its result takes precedence over its reason.
    private static func words(of entry: HistoryEntry) -> (code: String, text: String) {
        let code = (entry.outcome ?? entry.reason)?.code.rawValue ?? entry.kind.name
        // What APNs has accepted here is no push.
        let isChannel = entry.kind == .channelMade || entry.kind == .channelDeleted
        let outcome = isChannel && entry.outcome?.code == .accepted ? nil : entry.outcome
        let reasons = [entry.reason, outcome].compactMap { $0?.text }
        guard reasons.isEmpty else { return (code, reasons.joined(separator: ": ")) }
        if entry.kind == .reported, entry.detail == CardReport.State.duplicate.rawValue {
            return ("duplicate-ended", "the app ended a second card of the activity on the phone; another one stays")
        }
        let text =
            switch entry.kind {
            case .stateSet: "the backend set the state"
            case .ended: "the backend ended the activity"
            case .reopened: "the backend began a new run"
            case .audienceChanged: "the audience changed"
            case .reported: "the phone reported: \(entry.detail)"
            case .tokenReported: "the phone reported an update token (\(entry.detail))"
            case .start: "a start was sent"
            case .update: "an update was sent"
            case .end: "an end was sent"
            case .fallback: "an ordinary notification takes the place of the card"
            case .channelMade: "a broadcast channel was made"
            case .broadcast: "an update was sent to the broadcast channel"
            case .broadcastEnd: "an end was sent to the broadcast channel"
            case .channelDeleted: "the broadcast channel was deleted"
            case .rescued: "the server stopped while a push was on its way"
            }
        return (code, text)
    }
}
