package import LiveActivityCore

/// Present state of an activity.
package struct ActivityState: Sendable, Equatable {
    package var record: ActivityRecord
    package var content: ContentRecord?
    package var lanes: [LaneRecord]

    package init(record: ActivityRecord, content: ContentRecord?, lanes: [LaneRecord]) {
        self.record = record
        self.content = content
        self.lanes = lanes
    }

    /// Number of the activity's phones in each stage of a card's life.
    package var counts: LaneCounts { lanes.reduce(into: LaneCounts()) { $0 += $1.counts } }
    package var phones: Int { counts.total }

    /// Estimated number of phones that the newest change has reached; `nil` if it has reached all of them.
    package var reached: Int? {
        guard lanes.contains(where: { $0.progress(in: record.lap) < 1 }) else { return nil }
        return lanes.reduce(0) { $0 + Int(Double($1.counts.total) * $1.progress(in: record.lap)) }
    }
}

extension Snapshot {
    /// Returns the current state of an activity, or `nil` if it was not loaded.
    package func state(of number: ActivityNumber) -> ActivityState? {
        guard let record = activities[number] else { return nil }
        return ActivityState(record: record, content: contents[number], lanes: lanes[number] ?? [])
    }
}
