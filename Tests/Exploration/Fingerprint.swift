import APNSModel
import LiveActivityCore
import TestSupport

extension Situation {
    /// A 64-bit hash of the situation. Situations with the same future have equal fingerprints.
    ///
    /// Among ten million situations, two different ones collide with a probability of three in a million.
    var fingerprint: UInt64 {
        var hasher = Hasher()
        let plain = withoutCounters
        hasher.combine(kind)
        hasher.combine(focus)
        hasher.combine(now)
        hasher.combine(plain.phone)
        hasher.combine(backend)
        hasher.combine(plain.seen)
        hasher.combine(plain.calls)
        hasher.combine(pushes)
        hasher.combine(process.isNew)
        for held in process.held {
            // A fence is only ever compared with the lane's.
            hasher.combine(held.flight.fence == lane?.fence)
            hasher.combine(held.flight.record.claimedAt)
            hasher.combine(held.flight.record.revision)
            hasher.combine(held.flight.record.devices)
            hasher.combine(held.stage)
            hasher.combine(held.inactiveSince)
            hasher.combine(held.seat.plan)
            hasher.combine(held.seat.timestamp)
            var claimed = held.seat.phone.card
            claimed.columns.tokenGeneration -= instance?.tokenGeneration ?? 0
            hasher.combine(claimed)
            hasher.combine(held.seat.phone.updateToken?.value)
            hasher.combine(held.seat.phone.updateToken?.predecessor)
            hasher.combine(held.seat.phone.updateToken?.firstSeenAt)
        }
        let rows = plain.rows
        hasher.combine(rows.activities)
        hasher.combine(rows.lanes)
        hasher.combine(rows.devices)
        hasher.combine(rows.cards)
        hasher.combine(rows.contents.mapValues(\.digest))
        hasher.combine(rows.updateTokens)
        hasher.combine(rows.members)
        hasher.combine(rows.tombstones)
        hasher.combine(rows.owners)
        hasher.combine(rows.budgets)
        hasher.combine(rows.deviceTokens)
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }

    /// A copy with relative counters.
    ///
    /// Fences, laps and generations are only compared with each other, and report numbers only by order. Their
    /// absolute values carry no information.
    private var withoutCounters: Situation {
        var plain = self
        let ranks = ranks()
        plain.phone.sequence = 0
        for index in plain.calls.indices { plain.calls[index].sequence = ranks[calls[index].sequence] ?? 0 }
        plain.seen.shownIn = seen.shownIn.mapValues { ranks[$0] ?? 0 }
        plain.seen.rung.sort()
        plain.seen.dead.sort { ($0.card, $0.version) < ($1.card, $1.version) }
        plain.seen.named.sort { $0.card < $1.card }
        if var device = rows.devices[Self.deviceKey] {
            device.inventorySequence = ranks[device.inventorySequence] ?? 0
            device.reportSequence = ranks[device.reportSequence] ?? 0
            plain.rows.devices[Self.deviceKey] = device
        }
        guard let key = instanceKey, var activity else { return plain }
        if var lane {
            lane.lap -= activity.lap
            lane.fence = 0
            let isOwn = lane.flight?.node == process.node
            lane.flight?.node = isOwn ? 1 : 0
            plain.rows.lanes[activity.number] = [lane]
        }
        activity.begunLap -= activity.lap
        activity.lap = 0
        plain.rows.activities[activity.number] = activity
        if var instance {
            instance.columns.reportSequence = ranks[instance.reportSequence] ?? 0
            instance.columns.successorSequence = ranks[instance.columns.successorSequence] ?? 0
            plain.rows.updateTokens[key]?.generation -= instance.tokenGeneration
            instance.columns.tokenGeneration = 0
            plain.rows.cards[key] = instance
        }
        return plain
    }

    private func ranks() -> [Int64: Int64] {
        var numbers = Set(calls.map(\.sequence) + seen.shownIn.values + [instance?.reportSequence ?? 0])
        if let successor = instance?.successor { numbers.insert(successor.reportSequence) }
        if let device = rows.devices[Self.deviceKey] {
            numbers.formUnion([device.inventorySequence, device.reportSequence])
        }
        numbers.insert(0)
        return Dictionary(uniqueKeysWithValues: numbers.sorted().enumerated().map { ($1, Int64($0)) })
    }
}
