package import APNSModel
import LiveActivityCore

/// Broadcast channels, in the reference store.
extension ModelStore {
    func loadChannels(_ key: SnapshotKey, _ part: inout Snapshot) {
        switch key {
        case .channel(let key):
            loadActivity(key.activity, &part)
            part.channels[key] = rows.channels[key]
            loadChannels(of: key.activity, &part)
        case .channels(let route):
            for channel in rows.channels.values where channel.route == route {
                part.channels[channel.key] = channel
                loadActivity(channel.key.activity, &part)
            }
            part.strangers.formUnion(rows.strangers.filter { $0.route == route })
        case .dueChannels(let due):
            let lost = rows.channels.values.filter { $0.flight.map { $0.node != due.node } ?? false }
                .map(\.key).sorted()
            let late = rows.channels.values.filter { $0.dueAt.map { $0 <= due.at } ?? false }
                .sorted { ($0.dueAt ?? due.at, $0.key) < ($1.dueAt ?? due.at, $1.key) }.map(\.key)
            let found = lost.prefix(due.limit) + late.prefix(due.limit).filter { !lost.prefix(due.limit).contains($0) }
            part.dueChannels = Array(found.prefix(due.limit))
            for key in part.dueChannels {
                loadActivity(key.activity, &part)
                part.channels[key] = rows.channels[key]
            }
        default: break
        }
    }

    func loadChannels(of number: ActivityNumber, _ part: inout Snapshot) {
        for channel in rows.channels.values where channel.key.activity == number {
            part.channels[channel.key] = channel
        }
    }

    func applyChannels(_ from: Snapshot, _ changes: Draft.Changes, _ rows: inout Snapshot) {
        for key in changes.removedChannels { rows.channels[key] = nil }
        for key in changes.channels { rows.channels[key] = from.channels[key] }
        rows.strangers.subtract(changes.removedStrangers)
        rows.strangers.formUnion(changes.strangers)
    }

    /// Returns the next instant at which an operation on a channel is due.
    package var nextChannelAt: UnixTime? { rows.channels.values.compactMap(\.dueAt).min() }
}
