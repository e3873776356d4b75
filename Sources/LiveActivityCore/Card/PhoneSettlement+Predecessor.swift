import APNSModel

// Ends of a card that another has replaced, or that should have been over.
extension PhoneSettlement {
    /// Applies the outcome of a replaced card's end. The state of the current card does not change.
    ///
    /// Once the row no longer knows the replaced card, the outcome does not change when anything is sent either.
    ///
    /// - Parameter awaitsAnother: The answer to a later push is awaited. That answer then decides when the end is
    ///   retried.
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
            // Tries in the two environments follow each other without a pause, so their number is limited.
            guard card.predecessor.tries >= Self.predecessorTries else { return }
        case .accepted: result = .accepted
        case .tokenDead, .parked: result = .refused(isSlowDown: false)
        }
        card.forgetPredecessor()
        dropPredecessor(&draft)
    }

    /// Records that an earlier run's card is over if the next run began while it was being ended. It is not ended
    /// again.
    func forgetPredecessor(_ consequence: Consequence, _ card: inout CardMachine, _ draft: inout Draft) {
        guard plan.part == .predecessor, isLastWord(consequence), dropPredecessor(&draft) else { return }
        card.forgetPredecessor()
    }

    /// Returns `true` if the card's end is not sent again.
    private func isLastWord(_ consequence: Consequence) -> Bool {
        switch consequence {
        case .accepted, .tokenDead, .parked: true
        case .retry, .unknownFate, .laneFault, .otherEnvironment: false
        }
    }

    /// Returns `true` if the row still lists this card as one to be ended.
    private func isKnown(_ draft: Draft) -> Bool {
        guard let over = draft.snapshot.updateTokens[predecessorKey]?.predecessor else { return false }
        return over == seat.phone.token(of: plan)
    }

    private var predecessorKey: Snapshot.PhoneKey { .init(activity.number, seat.phone.device.key) }

    /// Removes the replaced card from the row.
    ///
    /// - Returns: `true` if the row listed it.
    @discardableResult
    private func dropPredecessor(_ draft: inout Draft) -> Bool {
        let key = predecessorKey
        guard isKnown(draft), var token = draft.snapshot.updateTokens[key], let over = token.predecessor else {
            return false
        }
        // The record existed only for the replaced card.
        if token.isPlaceholder {
            draft.removeUpdateToken(key, at: now)
            return true
        }
        draft.release(over, in: activity.app, key, at: now)
        token.predecessor = nil
        draft.put(token)
        return true
    }

    /// Returns `true` if the end is no longer tried: after five tries, and when iOS has ended the card itself.
    ///
    /// Until then it is tried, because the person may dismiss the current card and another may be started beside the
    /// old one.
    private func isGivenUp(_ card: CardMachine) -> Bool {
        let endsBy = card.beganAt + Reconciler.activityLifetime - Reconciler.renewalAge
        return card.predecessor.tries >= Self.predecessorTries && endsBy <= now
    }

    private static let predecessorTries = 5
}
