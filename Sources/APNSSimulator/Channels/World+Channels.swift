internal import APNSModel
internal import IsletBasics
internal import JSONText

extension World {
    /// Checks a broadcast or a call of channel management, applies it, and returns the answer.
    mutating func acceptCall(
        _ arrival: PushArrival, session: inout ProviderSession, now: UnixTime
    ) -> FrontDecision {
        advance(to: now)
        let fault = faults.effect(on: arrival, phone: nil, dice: &dice, now: now)
        let id = arrival.requestID.flatMap { PushID($0) } ?? dice.uuid()
        var decision = FrontDecision(fault, on: arrival)
        if decision.processes {
            do throws(ChannelRefusal) {
                decision.answer = try answer(arrival, id, session: &session, now: now)
            } catch {
                let isSpelled = error.reason == .badEnvironmentKeyIdInToken && limits.usesWireSpelling
                decision.answer = FrontAnswer(
                    status: error.reason.status, reason: isSpelled ? "BadEnvironmentKeyInToken" : error.reason.rawValue)
            }
        }
        decision.answer?.requestID = id
        decision.answer?.date = now
        if !arrival.isManagement {
            note(arrival, id, decision, hadFault: fault != nil, now: now)
        }
        return decision
    }

    private mutating func answer(
        _ arrival: PushArrival, _ id: PushID, session: inout ProviderSession, now: UnixTime
    ) throws(ChannelRefusal) -> FrontAnswer {
        let (operation, owner) = try ChannelInspection.operation(
            arrival, isManagement: arrival.isManagement, session: &session, directory: directory,
            enabledApps: limits.broadcastApps, now: now)
        switch operation {
        case .create:
            let policy = try ChannelInspection.policy(arrival)
            let channel = ChannelStore.Channel(id: newChannelID(), policy: policy)
            guard channels.add(channel, to: owner) else { throw ChannelRefusal(.cannotCreateChannelConfig) }
            var answer = FrontAnswer(status: 201)
            answer.channelID = channel.id.text
            return answer
        case .read:
            let channel = try ChannelInspection.channel(arrival, of: owner, in: channels)
            var answer = FrontAnswer(status: 200)
            answer.content =
                JSONValue.object([
                    "message-storage-policy": .init(channel.policy.rawValue), "push-type": "LiveActivity",
                ]).bytes
            return answer
        case .delete:
            let channel = try ChannelInspection.channel(arrival, of: owner, in: channels)
            _ = channels.remove(channel.id, of: owner)
            return FrontAnswer(status: 204)
        case .list:
            var answer = FrontAnswer(status: 200)
            answer.content =
                JSONValue.object(["channels": .array(channels.list(of: owner).map { .string($0.id.text) })]).bytes
            return answer
        case .broadcast:
            let accepted = try ChannelInspection.broadcast(arrival, of: owner, in: channels, now: now)
            broadcast(accepted, arrival, id, owner, now: now)
            return FrontAnswer(status: 200)
        }
    }

    /// Returns a new id of 24 characters, as real ones have.
    private mutating func newChannelID() -> ChannelID {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
        while true {
            let text = String((0..<22).map { _ in alphabet[Int(dice.next() % 64)] }) + "=="
            if let id = ChannelID(text) { return id }
        }
    }

    // MARK: Delivery

    private mutating func broadcast(
        _ accepted: AcceptedBroadcast, _ arrival: PushArrival, _ id: PushID, _ owner: ChannelStore.Owner, now: UnixTime
    ) {
        let channel = accepted.channel.id
        let push = DevicePush(
            id: id, use: .channel(channel), type: .liveactivity, priority: accepted.priority,
            body: arrival.body ?? [:], collapseID: nil)
        if let until = accepted.storedUntil {
            channels.store(ChannelStore.StoredBroadcast(push: push, until: until), in: channel, of: owner)
        }
        for index in slots.indices where slots[index].phone.subscribes(to: channel, owner) {
            if slots[index].phone.profile.isOnline {
                run(index, now: now) { $0.receive(broadcast: push, of: channel, at: now) }
            } else if accepted.storedUntil != nil {
                slots[index].missed.insert(channel)
            } else {
                noteAtAPNs(.notStored, "the phone was offline and the broadcast was not to be kept", id, index, now)
            }
        }
    }

    /// Delivers to a phone that is online again the most recent message of each channel whose messages it missed.
    mutating func deliverMissed(to index: Int, now: UnixTime) {
        let missed = slots[index].missed.sorted { $0.text < $1.text }
        slots[index].missed.removeAll()
        let profile = slots[index].phone.profile
        let owner = ChannelStore.Owner(bundleID: profile.bundleID, environment: profile.environment)
        for id in missed {
            guard let message = channels[id, owner]?.stored else { continue }
            if message.until > now {
                run(index, now: now) { $0.receive(broadcast: message.push, of: id, at: now) }
            } else {
                let words = "the broadcast expired while the phone was offline"
                noteAtAPNs(.expired, words, message.push.id, index, now)
            }
        }
    }
}

extension VirtualPhone {
    /// Returns `true` if a running card of the phone is subscribed to the channel.
    func subscribes(to channel: ChannelID, _ owner: ChannelStore.Owner) -> Bool {
        cards.contains { $0.channel == channel && $0.state.isRunning }
            && profile.bundleID == owner.bundleID && profile.environment == owner.environment
    }

    /// Applies a broadcast to each of the channel's cards on the phone, like a push to that card.
    mutating func receive(broadcast push: DevicePush, of channel: ChannelID, at now: UnixTime) -> [PhoneEffect] {
        let local = local(now)
        settle(to: local)
        for card in cards where card.channel == channel && card.state.isRunning {
            let single = DevicePush(
                id: push.id, use: .update(localID: card.localID), type: push.type, priority: push.priority,
                body: push.body, collapseID: nil)
            applyToCard(single, at: local, charged: false)
        }
        return takeEffects()
    }
}
