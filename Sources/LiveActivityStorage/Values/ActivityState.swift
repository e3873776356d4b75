package import LiveActivityCore

/// Present state of an activity.
package struct ActivityState: Sendable, Equatable {
    package var record: ActivityRecord
    package var content: ContentRecord?
    package var lanes: [LaneRecord]
    /// Broadcast channels, of every run.
    package var channels: [ChannelRecord] = []

    package init(record: ActivityRecord, content: ContentRecord?, lanes: [LaneRecord]) {
        self.record = record
        self.content = content
        self.lanes = lanes
    }

    /// Number of the activity's phones in each stage of a card's life.
    package var counts: LaneCounts { lanes.reduce(into: LaneCounts()) { $0 += $1.counts } }
    package var phones: Int { counts.total }

    /// Returns the situation that decisions about the activity's phones need.
    package func desired(_ type: ActivityType, _ content: ContentRecord) -> DesiredSituation {
        var desired = DesiredSituation(record, type, content)
        desired.channels = channels
        desired.phones = phones
        return desired
    }

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
        var state = ActivityState(record: record, content: contents[number], lanes: lanes[number] ?? [])
        if record.hasChannels {
            state.channels = channels.values.filter { $0.key.activity == number }.sorted { $0.key < $1.key }
        }
        return state
    }
}
