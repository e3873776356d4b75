import APNSModel

/// What waits behind an event that the endpoint refuses is parked in the database: it takes no room in memory, and none
/// from other activities.
extension WebhookQueue {
    /// The next events of an activity that are to be fetched.
    package struct Refill: Sendable, Equatable {
        package let activity: ActivityNumber?
        package let limit: Int
    }

    /// What was parked is to be written before more is read, or before anything is fetched.
    package var mustWrite: Bool { toPark.count * 2 >= limits.window }

    /// Activities that have no event in memory any more, while some of them are parked.
    package var refills: [Refill] {
        guard !isDisabled else { return [] }
        var room = limits.window / 2 - stuckItems
        return parked.filter { lines[$0] == nil }.sorted { ($0 ?? -1) < ($1 ?? -1) }.map { activity in
            // Each gets its first at least, however many there are.
            let limit = max(1, min(limits.refill, room))
            room -= limit
            return Refill(activity: activity, limit: limit)
        }
    }

    /// The first that the database has of it, after everything that is parked was written. Fewer than were asked for:
    /// no more is parked.
    package mutating func take(_ rows: [WebhookDelivery], for refill: Refill) {
        for row in rows where items[row.number] == nil {
            written[row.number] = row
            add(Item(row))
        }
        if rows.count < refill.limit, !toPark.contains(where: { $0.activity == refill.activity }) {
            parked.remove(refill.activity)
            if lines[refill.activity] == nil { hasGivenUpOn.remove(refill.activity) }
        }
    }

    /// Events in memory of activities that are stuck.
    var stuckItems: Int {
        lines.values.reduce(0) { count, line in
            line.first.flatMap { items[$0] }.map(isStuck) ?? false ? count + line.count : count
        }
    }

    /// Whether a new event has to wait in the database: others of its activity do, or the first of them is stuck.
    func mustPark(_ activity: ActivityNumber?) -> Bool {
        if parked.contains(activity) { return true }
        guard let line = lines[activity], let head = line.first.flatMap({ items[$0] }) else { return false }
        return isStuck(head) && line.count >= limits.stuckWindow
    }

    mutating func park(_ item: Item) {
        let row = item.delivery(deadAt: nil)
        parked.insert(item.activity)
        // A row that stands stays: the database is not told that it is done.
        if written.removeValue(forKey: item.number) != row { toPark.append(row) }
    }

    /// Its first event is stuck from now on.
    mutating func parkTail(of activity: ActivityNumber?) {
        guard let line = lines[activity], line.count > limits.stuckWindow else { return }
        lines[activity] = Array(line.prefix(limits.stuckWindow))
        for number in line.dropFirst(limits.stuckWindow) {
            if let item = items.removeValue(forKey: number) { park(item) }
        }
    }
}
