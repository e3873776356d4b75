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
                decision.answer = try answer(arrival, id, session: &session, after: decision.delay, now: now)
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
        _ arrival: PushArrival, _ id: PushID, session: inout ProviderSession, after delay: Duration, now: UnixTime
    ) throws(ChannelRefusal) -> FrontAnswer {
        let (operation, owner) = try ChannelInspection.operation(
            arrival, isManagement: arrival.isManagement, session: &session, directory: directory,
            enabledApps: channelRules.broadcastApps, now: now)
        switch operation {
        case .create:
            let policy = try ChannelInspection.policy(arrival)
            let channel = ChannelStore.Channel(id: newChannelID(), policy: policy)
            guard channels.add(channel, to: owner, atMost: channelRules.channelsPerApp) else {
                throw ChannelRefusal(.cannotCreateChannelConfig)
            }
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
            guard broadcastRate.allows(accepted.channel.id.text, now: now) else {
                throw ChannelRefusal(.tooManyRequests)
            }
            deliver(.broadcast(broadcast(accepted, arrival, id, owner)), after: delay, now: now)
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

    // MARK: Rules

    mutating func set(_ rules: ChannelRules) {
        channelRules = rules
        broadcastRate.limit = rules.broadcastsPerSecond
        if let apps = rules.broadcastApps { channels.keep(of: apps) }
    }

    /// Removes a channel as if nobody had asked for it. Cards stay subscribed to it.
    mutating func forget(_ id: ChannelID) throws(SimulatorError) {
        guard let owner = channels.owner(of: id), channels.remove(id, of: owner) else {
            throw SimulatorError(.unknownChannel, "there is no channel with that id")
        }
    }

    /// Number of phones with a running card, for each owner and channel.
    var subscribers: [ChannelStore.Owner: [ChannelID: Int]] {
        var counts: [ChannelStore.Owner: [ChannelID: Int]] = [:]
        for slot in slots {
            let ids = Set(slot.phone.cards.filter { $0.state.isRunning }.compactMap(\.channel))
            for id in ids { counts[slot.phone.channelOwner, default: [:]][id, default: 0] += 1 }
        }
        return counts
    }

    // MARK: Delivery

    private mutating func broadcast(
        _ accepted: AcceptedBroadcast, _ arrival: PushArrival, _ id: PushID, _ owner: ChannelStore.Owner
    ) -> Broadcast {
        broadcastCount += 1
        let push = DevicePush(
            id: id, use: .channel(accepted.channel.id), type: .liveactivity, priority: accepted.priority,
            body: arrival.body ?? [:], collapseID: nil)
        return Broadcast(
            arrival: arrival, push: push, channel: accepted.channel.id, owner: owner, storedUntil: accepted.storedUntil,
            number: broadcastCount)
    }

    mutating func deliver(_ broadcast: Broadcast, now: UnixTime) {
        let (channel, push) = (broadcast.channel, broadcast.push)
        var isStored = false
        if let until = broadcast.storedUntil {
            let message = ChannelStore.StoredBroadcast(push: push, until: until, number: broadcast.number)
            isStored = channels.store(message, in: channel, of: broadcast.owner)
        }
        for index in slots.indices where slots[index].phone.subscribes(to: channel, broadcast.owner) {
            if slots[index].phone.profile.isOnline {
                run(index, now: now) { $0.receive(broadcast: push, of: channel, at: now) }
            } else if isStored {
                slots[index].missed.insert(channel)
            } else {
                let words = "the phone was offline and APNs has not kept the broadcast"
                noteAtAPNs(.notStored, words, push.id, index, now)
            }
        }
        deliver(broadcast: broadcast.arrival, priority: push.priority, of: channel, broadcast.owner, now: now)
    }

    /// Delivers to a phone that is online again the most recent message of each channel whose messages it missed.
    mutating func deliverMissed(to index: Int, now: UnixTime) {
        let missed = slots[index].missed.sorted { $0.text < $1.text }
        slots[index].missed.removeAll()
        let owner = slots[index].phone.channelOwner
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

    /// Delivers the stored message of a channel to a phone that has just subscribed, if the rules say so. An offline
    /// phone gets it when it comes back.
    mutating func deliverStored(of channel: ChannelID, toLate index: Int, now: UnixTime) {
        guard channelRules.lateSubscribersGetStored,
            let stored = channels[channel, slots[index].phone.channelOwner]?.stored, stored.until > now
        else { return }
        slots[index].missed.insert(channel)
        if slots[index].phone.profile.isOnline { deliverMissed(to: index, now: now) }
    }
}

/// A broadcast that APNs has accepted, on its way to the phones.
struct Broadcast: Sendable {
    let arrival: PushArrival
    let push: DevicePush
    let channel: ChannelID
    let owner: ChannelStore.Owner
    /// Time until which APNs keeps it for offline phones; `nil` if it is not kept.
    let storedUntil: UnixTime?
    /// Number in the order in which APNs accepted broadcasts.
    let number: Int
}

extension VirtualPhone {
    /// The owner of the channels to which the phone's app may subscribe.
    var channelOwner: ChannelStore.Owner {
        ChannelStore.Owner(bundleID: profile.bundleID, environment: profile.environment)
    }

    /// Returns `true` if a running card of the phone is subscribed to the channel.
    func subscribes(to channel: ChannelID, _ owner: ChannelStore.Owner) -> Bool {
        cards.contains { $0.channel == channel && $0.state.isRunning } && channelOwner == owner
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
