// A card that another has taken the place of, or that should have been over.
extension PhoneSettlement {
    /// The card that was renewed is over, or will be by itself: this card's state is not touched by that.
    mutating func settlePredecessor(
        _ consequence: Consequence, _ instance: inout InstanceRecord, _ draft: inout Draft
    ) {
        instance.timestamp = max(instance.timestamp, seat.timestamp)
        switch consequence {
        case .retry(let at, _), .unknownFate(let at, _):
            result = .refused(isSlowDown: false)
            instance.tries += 1
            instance.dueAt = at
            guard instance.tries >= Self.predecessorTries else { return }
        case .laneFault(let fault):
            result = .fault(fault)
            return
        case .otherEnvironment(let environment, _):
            result = .refused(isSlowDown: false)
            instance.tries += 1
            instance.dueAt = now
            switchEnvironment(to: environment, &draft)
            guard instance.tries >= Self.predecessorTries else { return }
        case .accepted: result = .accepted
        case .tokenDead, .parked: result = .refused(isSlowDown: false)
        }
        instance.tries = 0
        instance.dueAt = nil
        instance.isRenewing = false
        let key = Snapshot.PhoneKey(activity.number, seat.phone.device.key)
        guard var token = draft.snapshot.updateTokens[key], token.predecessor == seat.phone.token(of: plan) else {
            return
        }
        // Nothing but its predecessor was known by it.
        if token.isPlaceholder { return draft.removeUpdateToken(key, at: now) }
        if let over = token.predecessor {
            draft.release(over, in: activity.app, .init(activity.number, token.device), at: now)
        }
        token.predecessor = nil
        draft.put(token)
    }

    /// iOS ends that card itself within the hour.
    private static let predecessorTries = 5
}
