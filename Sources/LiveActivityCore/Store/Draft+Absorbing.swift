extension Draft {
    /// Takes over the changes of a draft that ran on rows of its own, after the commands of this one.
    ///
    /// Where both have changed a row, the other draft must have had this draft's row.
    mutating func absorb(_ other: Draft) {
        take(\.activities, \.activities, from: other)
        changes.movedActivities.formUnion(other.changes.movedActivities)
        take(\.contents, \.contents, from: other)
        for key in other.changes.lanes { if let lane = other.snapshot.lane(key) { snapshot.place(lane) } }
        changes.lanes.formUnion(other.changes.lanes)
        take(\.devices, \.devices, from: other)
        take(\.deviceTokens, \.deviceTokens, from: other)
        take(\.cards, \.cards, from: other)
        changes.movedCards.formUnion(other.changes.movedCards)
        take(\.updateTokens, \.updateTokens, removed: \.removedUpdateTokens, from: other)
        take(\.tombstones, \.tombstones, removed: \.removedTombstones, from: other)
        take(\.owners, \.owners, from: other)
        changes.releases.merge(other.changes.releases) { _, new in new }
        take(\.budgets, \.budgets, from: other)
        take(\.notifications, \.notifications, removed: \.removedNotifications, from: other)
        take(\.addressees, \.addressees, removed: \.removedAddressees, from: other)
        take(\.channels, \.channels, removed: \.removedChannels, from: other)
        changes.history += other.changes.history
        changes.events += other.changes.events
        changes.tally.add(other.changes.tally)
    }

    private mutating func take<Key, Row>(_ rows: Rows<Key, Row>, _ put: Marks<Key>, from other: Draft) {
        for key in other.changes[keyPath: put] {
            snapshot[keyPath: rows][key] = other.snapshot[keyPath: rows][key]
            changes[keyPath: put].insert(key)
        }
    }

    private mutating func take<Key, Row>(
        _ rows: Rows<Key, Row>, _ put: Marks<Key>, removed: Marks<Key>, from other: Draft
    ) {
        for key in other.changes[keyPath: removed] {
            snapshot[keyPath: rows][key] = nil
            changes[keyPath: put].remove(key)
            changes[keyPath: removed].insert(key)
        }
        take(rows, put, from: other)
        changes[keyPath: removed].subtract(other.changes[keyPath: put])
    }
}
