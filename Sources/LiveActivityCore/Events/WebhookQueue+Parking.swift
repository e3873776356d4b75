import APNSModel

/// Events behind one that the endpoint refuses are parked in the database. So they take no memory, and no room from
/// other activities.
extension WebhookQueue {
    /// Request for the next parked events of an activity.
    package struct Refill: Sendable, Equatable {
        package let activity: ActivityNumber?
        package let limit: Int
    }

    /// `true` if parked events must be written before more events are read or fetched.
    package var mustWrite: Bool { toPark.count * 2 >= limits.window }

    /// Activities that have parked events and no event in memory.
    package var refills: [Refill] {
        guard !isDisabled else { return [] }
        var room = limits.window / 2 - stuckItems
        return parked.filter { lines[$0] == nil }.sorted { ($0 ?? -1) < ($1 ?? -1) }.map { activity in
            // Each activity gets at least its first event, however many activities there are.
            let limit = max(1, min(limits.refill, room))
            room -= limit
            return Refill(activity: activity, limit: limit)
        }
    }

    /// Takes the first parked events of an activity from the database. Write everything that is parked before calling
    /// this.
    ///
    /// If there are fewer rows than requested, the activity has no more parked events.
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

    /// Number of events in memory that belong to stuck activities.
    var stuckItems: Int {
        lines.values.reduce(0) { count, line in
            line.first.flatMap { items[$0] }.map(isStuck) ?? false ? count + line.count : count
        }
    }

    /// Returns whether a new event must be parked.
    ///
    /// It must be if other events of its activity are parked, or if the activity is stuck and has its full share of
    /// memory.
    func mustPark(_ activity: ActivityNumber?) -> Bool {
        if parked.contains(activity) { return true }
        guard let line = lines[activity], let head = line.first.flatMap({ items[$0] }) else { return false }
        return isStuck(head) && line.count >= limits.stuckWindow
    }

    mutating func park(_ item: Item) {
        let row = item.delivery(deadAt: nil)
        parked.insert(item.activity)
        // A row that already exists stays, so its event is not reported to the database as done.
        if written.removeValue(forKey: item.number) != row { toPark.append(row) }
    }

    /// Parks the events behind the first ones of an activity whose first event has become stuck.
    mutating func parkTail(of activity: ActivityNumber?) {
        guard let line = lines[activity], line.count > limits.stuckWindow else { return }
        lines[activity] = Array(line.prefix(limits.stuckWindow))
        for number in line.dropFirst(limits.stuckWindow) {
            if let item = items.removeValue(forKey: number) { park(item) }
        }
    }
}
