import APNSModel

// What an answer says of the token that a push went to.
extension PhoneSettlement {
    /// An answer about one value of a token never touches the next one.
    func markDeadToken(_ consequence: Consequence, _ draft: inout Draft) {
        guard case .tokenDead(let reason) = consequence else { return }
        let device = seat.phone.device.key
        let value: TokenValue?
        if isStart {
            value = seat.phone.pushToStartToken?.value
            // One value may serve several types; it is dead for all of them.
            for key in draft.tokens(of: device) where key.kind == .pushToStart {
                guard let token = draft.snapshot.deviceTokens[key], token.value == value else { continue }
                var dead = token
                dead.deadAt = now
                draft.put(dead)
            }
        } else {
            value = seat.phone.token(of: plan)
            if var token = draft.snapshot.updateTokens[.init(activity.number, device)], token.value == value {
                token.deadAt = now
                draft.put(token)
            }
        }
        guard let value else { return }
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
            event.run = seat.phone.instance.run
            event.revision = plan.revision
            draft.tell(event)
        }
        owner.deadAt = now
        owner.releasedAt = nil
        draft.put(owner)
    }

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
