import APNSModel

// A card that another has taken the place of, or that should have been over.
extension PhoneSettlement {
    /// The card that was renewed is over, or will be by itself: this card's state is not touched by that. Once the row
    /// knows nothing of it any more, neither is when anything is sent.
    ///
    /// - Parameter awaitsAnother: The answer to a later push is awaited: when the end is tried again is that one's
    ///   matter.
    mutating func settlePredecessor(
        _ consequence: Consequence, awaitsAnother: Bool, _ card: inout CardMachine, _ draft: inout Draft
    ) {
        card.use(seat.timestamp)
        guard isKnown(draft), !awaitsAnother || isLastWord(consequence) else { return }
        switch consequence {
        case .retry(let at, _), .unknownFate(let at, _):
            result = .refused(isSlowDown: false)
            card.retryPredecessor(at: at)
            guard isGivenUp(card) else { return }
        case .laneFault(let fault):
            result = .fault(fault)
            return
        case .otherEnvironment(let environment, _):
            result = .refused(isSlowDown: false)
            card.retryPredecessor(at: now)
            switchEnvironment(to: environment, &draft)
            // The two environments follow one another without a pause, so the number of tries bounds them.
            guard card.predecessor.tries >= Self.predecessorTries else { return }
        case .accepted: result = .accepted
        case .tokenDead, .parked: result = .refused(isSlowDown: false)
        }
        card.forgetPredecessor()
        dropPredecessor(&draft)
    }

    /// The next life began while the card of an earlier one was being ended. That card is over all the same, and is not
    /// ended once more.
    func forgetPredecessor(_ consequence: Consequence, _ card: inout CardMachine, _ draft: inout Draft) {
        guard plan.part == .predecessor, isLastWord(consequence), dropPredecessor(&draft) else { return }
        card.forgetPredecessor()
    }

    /// The card is not ended once more.
    private func isLastWord(_ consequence: Consequence) -> Bool {
        switch consequence {
        case .accepted, .tokenDead, .parked: true
        case .retry, .unknownFate, .laneFault, .otherEnvironment: false
        }
    }

    /// The row knows the card as one that is to be ended.
    private func isKnown(_ draft: Draft) -> Bool {
        guard let over = draft.snapshot.updateTokens[predecessorKey]?.predecessor else { return false }
        return over == seat.phone.token(of: plan)
    }

    private var predecessorKey: Snapshot.PhoneKey { .init(activity.number, seat.phone.device.key) }

    /// - Returns: The row knew the card as one that is to be ended, and does not any more.
    @discardableResult
    private func dropPredecessor(_ draft: inout Draft) -> Bool {
        let key = predecessorKey
        guard isKnown(draft), var token = draft.snapshot.updateTokens[key], let over = token.predecessor else {
            return false
        }
        // Nothing but its predecessor was known by it.
        if token.isPlaceholder {
            draft.removeUpdateToken(key, at: now)
            return true
        }
        draft.release(over, in: activity.app, key, at: now)
        token.predecessor = nil
        draft.put(token)
        return true
    }

    /// A card may be started here once the person has swiped this one away, and the other may be there still: its end
    /// is tried until iOS has ended that card itself.
    private func isGivenUp(_ card: CardMachine) -> Bool {
        let endsBy = card.beganAt + Reconciler.activityLifetime - Reconciler.renewalAge
        return card.predecessor.tries >= Self.predecessorTries && endsBy <= now
    }

    private static let predecessorTries = 5
}
