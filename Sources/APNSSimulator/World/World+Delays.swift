internal import APNSModel

/// A push that APNs has accepted, and that a fault keeps from its recipients for a while.
struct DelayedDelivery: Sendable {
    enum Content: Sendable {
        case push(AcceptedPush, PushArrival, PushID)
        case broadcast(Broadcast)
    }

    let due: UnixTime
    let content: Content

    /// Maximum number of pushes that wait. Further ones are delivered at once.
    static let capacity = 10_000
}

extension World {
    /// Delivers a push now, or when its delay is over.
    mutating func deliver(_ content: DelayedDelivery.Content, after delay: Duration, now: UnixTime) {
        guard delay > .zero, delayed.count < DelayedDelivery.capacity else { return deliver(content, now: now) }
        let due = now + delay
        // Pushes that are due at the same time keep their order.
        let index = delayed.firstIndex { $0.due > due } ?? delayed.endIndex
        delayed.insert(DelayedDelivery(due: due, content: content), at: index)
    }

    mutating func deliver(_ content: DelayedDelivery.Content, now: UnixTime) {
        switch content {
        case .push(let accepted, let arrival, let id): deliver(accepted, arrival, id, now: now)
        case .broadcast(let broadcast): deliver(broadcast, now: now)
        }
    }
}
