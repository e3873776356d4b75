import APNSModel
import JSONText
import LiveActivityCore
import TestSupport

extension Phone {
    /// Handles a push as iOS does. It reads only the push's bytes.
    func take(
        _ request: PushRequest, _ kind: VirtualAPNS.Destination.Kind, _ sent: SentPush, in world: World
    ) -> Effect {
        guard let body = (try? JSONValue(parsing: request.payload))?.object else { return .nothing("cannot be read") }
        let aps = body["aps"]?.object
        switch kind {
        case .device: return .notified
        case .start: return start(aps ?? [:], sent, in: world)
        case .card(let local):
            guard let index = cards.firstIndex(where: { $0.local == local }) else { return .nothing("no such card") }
            return change(index, aps ?? [:], revision: sent.card?.seat.plan.revision ?? 0, in: world)
        }
    }

    private func start(_ aps: JSONObject, _ sent: SentPush, in world: World) -> Effect {
        guard allowsActivities else { return .nothing("may start none") }
        guard aps["event"]?.string == "start", let step = Scenery.step(of: aps["content-state"]?.object),
            let attributes = aps["attributes"]?.object, let timestamp = aps["timestamp"]?.int
        else { return .nothing("is no start") }
        let named = attributes["rideID"]?.string ?? attributes["islet"]?.object?["activity"]?.string
        let type = app.types.values.first { $0.attributesType == aps["attributes-type"]?.string }
        guard let named, let type else { return .nothing("names no activity") }
        let run = sent.card?.flight.desired.activity.run ?? 0
        var card = newCard(named, type.name, step: step, run: run, in: world)
        card.timestamp = Int64(timestamp)
        card.revision = sent.card?.seat.plan.revision ?? 0
        card.isSuccessor = sent.card?.seat.plan.part == .successor
        card.start = sent.id
        card.channel = aps["input-push-channel"]?.string.flatMap { ChannelID($0) }
        cards.append(card)
        let index = cards.count - 1
        // A late subscriber may get the stored message.
        if let channel = card.channel, world.isCalm || world.dice.chance(50) {
            world.after(1) { [self] in world.deliverStored(to: self, of: channel) }
        }
        // The update token comes at once if the person has allowed it before.
        if world.isCalm || world.dice.chance(50) { giveToken(index, in: world) }
        if !isKilled, world.isCalm || world.dice.chance(75) {
            // The card that stays is reported before the end of the other.
            if !isDuplicate(index) { report(index, in: world) }
            endDuplicates(in: world)
        }
        return .appeared(card)
    }

    func change(_ index: Int, _ aps: JSONObject, revision: Revision, in world: World) -> Effect {
        guard !cards[index].isOver else { return .nothing("its card is over") }
        guard let timestamp = aps["timestamp"]?.int, let event = aps["event"]?.string else {
            return .nothing("has no timestamp")
        }
        guard Int64(timestamp) > cards[index].timestamp else { return .older(cards[index]) }
        let before = cards[index].revision
        cards[index].timestamp = Int64(timestamp)
        let step = Scenery.step(of: aps["content-state"]?.object)
        if let step {
            cards[index].step = step
            cards[index].revision = revision
        }
        guard event == "end" else { return .applied(cards[index], before: before) }
        close(index, in: world)
        return .ended(cards[index], withState: step != nil)
    }
}
