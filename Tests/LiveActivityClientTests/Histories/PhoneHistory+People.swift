import APNSModel
import JSONText
import LiveActivityCore
import LiveActivityRegistration
import TestSupport

@testable import APNSSimulator

/// Behavior of people and their apps that takes more than one action.
extension PhoneHistory {
    mutating func startLocally(_ index: Int, _ activity: String? = nil) {
        let hasUnknown = owners[index].phone.profile.activityTypes.contains { $0.type == "later" }
        let id = activity ?? (hasUnknown && dice.chance(40) ? Self.unknown : dice.pick(Self.activities))
        if id == Self.unknown { count(.unknownType) }
        perform(.foreground, on: index)
        let step = steps[id] ?? 1
        perform(
            .startLocally(
                .init(
                    attributesType: "\(Self.type(of: id))Attributes", attributes: ["id": .string(Self.inSwift(id))],
                    contentState: Sample.state(step), activity: Self.inSwift(id),
                    channel: dice.chance(25) ? Sample.channel : nil)), on: index)
    }

    /// The app orders a card, and the person locks the phone before the server has answered.
    mutating func lock(_ index: Int) {
        startLocally(index)
        perform(.background, on: index)
    }

    /// The app makes a card of which the server does not hear, and may start another one as well.
    mutating func startAlone(_ index: Int) {
        perform(.offline, on: index)
        let id = dice.pick(Self.activities)
        put(id)
        startLocally(index, id)
        pass(.seconds(5))
        perform(.online, on: index)
    }

    mutating func changeLocally(_ index: Int) {
        guard let card = owners[index].phone.cards.first(where: \.state.isRunning) else { return }
        if dice.chance(30) {
            perform(
                .endLocally(localID: card.localID, isImmediate: dice.chance(50)), on: index)
        } else {
            let step = 1_000 + dice.roll(1_000)
            perform(.updateLocally(.init(localID: card.localID, contentState: Sample.state(step))), on: index)
        }
    }

    mutating func setClock(_ index: Int) {
        let skew = dice.roll(600) - 300
        note("\(owners[index].phone.id) sets its clock \(skew) s off")
        count(.clock)
        owners[index].phone.profile.clockSkew = .seconds(skew)
        let local = owners[index].phone.local(now)
        owners[index].phone.tellClient(at: local) { $0.tick($1) }
        follow(owners[index].phone.takeEffects(), of: index)
    }
}
