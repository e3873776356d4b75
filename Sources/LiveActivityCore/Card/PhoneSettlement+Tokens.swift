import APNSModel

// Effects of an answer on the token that a push went to.
extension PhoneSettlement {
    /// Marks the token dead if the answer says so. Only this value is affected, never the one that replaced it.
    ///
    /// - Returns: `true` if the value also belonged to a replaced card. That card can no longer be ended.
    func markDeadToken(_ consequence: Consequence, _ draft: inout Draft) -> Bool {
        guard case .tokenDead(let reason) = consequence else { return false }
        var hasDroppedPredecessor = false
        let device = seat.phone.device.key
        let value: TokenValue?
        if isStart {
            value = seat.phone.pushToStartToken?.value
            // One value may serve several types. It is dead for all of them.
            for key in draft.tokens(of: device) where key.kind == .pushToStart {
                guard let token = draft.snapshot.deviceTokens[key], token.value == value else { continue }
                var dead = token
                dead.deadAt = now
                draft.put(dead)
            }
        } else {
            value = seat.phone.token(of: plan)
            let key = Snapshot.PhoneKey(activity.number, device)
            if var token = draft.snapshot.updateTokens[key], plan.part == .card, token.predecessor == value {
                hasDroppedPredecessor = true
                token.predecessor = nil
                if token.value == value { draft.removeUpdateToken(key, at: now) } else { draft.put(token) }
            } else if var token = draft.snapshot.updateTokens[key], token.value == value {
                token.deadAt = now
                draft.put(token)
            }
        }
        guard let value else { return hasDroppedPredecessor }
        let first = (isStart ? seat.phone.pushToStartToken?.firstSeenAt : seat.phone.updateToken?.firstSeenAt) ?? now
        var owner =
            draft.snapshot.owners[.init(activity.app, value)]
            ?? TokenOwnerRecord(
                app: activity.app, value: value, kind: isStart ? .pushToStart : .update, device: device,
                activity: isStart ? 0 : activity.number, firstSeenAt: first)
        if owner.deadAt == nil {
            var event = EventRecord.dead(
                isStart ? .pushToStartToken : .updateToken, of: device, in: activity.app, reason.code, at: now)
            event.activity = activity.number
            event.run = seat.phone.card.run
            event.revision = plan.revision
            draft.tell(event)
        }
        owner.deadAt = now
        owner.releasedAt = nil
        draft.put(owner)
        return hasDroppedPredecessor
    }

    /// Moves the push's token to the other environment, unless a new value has replaced it.
    func switchEnvironment(to environment: APNSEnvironment, _ draft: inout Draft) {
        let device = seat.phone.device.key
        if isStart {
            guard var token = draft.snapshot.deviceTokens[.init(device, .pushToStart, activity.type)],
                token.value == seat.phone.pushToStartToken?.value
            else { return }
            token.environment = environment
            draft.put(token)
        } else {
            guard var token = draft.snapshot.updateTokens[.init(activity.number, device)],
                token.value == seat.phone.updateToken?.value
            else { return }
            token.environment = environment
            draft.put(token)
        }
    }
}
