import APNSModel
import LiveActivityCore

/// A card of a trial: one activity on one phone.
struct TrialCardKey: Hashable {
    /// The activity's place in the day.
    let activity: Int
    let device: DeviceKey
}

/// What happens in a trial, by time; what is for the same instant in the order in which it was added.
struct TrialAgenda {
    enum Item {
        /// A change of an activity, by its place among the activity's.
        case step(activity: Int, Int)
        case joins(TrialCardKey)
        case act(TrialCardKey, RecordedCard.Deed)
        /// The phone answers for its card of this number.
        case reports(TrialCardKey, card: Int)
        case token(TrialCardKey, card: Int)
        case confirmsEnd(TrialCardKey, card: Int)
        /// The server looks whether anybody still sets it.
        case idle(activity: Int)
    }

    /// The latest first, so that the next is taken from the end.
    private var items: [(at: UnixTime, number: Int, item: Item)] = []
    private var count = 0

    var next: UnixTime? { items.last?.at }

    mutating func add(_ item: Item, at time: UnixTime) {
        count += 1
        let number = count
        var (low, high) = (0, items.count)
        while low < high {
            let middle = (low + high) / 2
            if (items[middle].at, items[middle].number) > (time, number) { low = middle + 1 } else { high = middle }
        }
        items.insert((time, number, item), at: low)
    }

    /// The next one that is due.
    mutating func take(at now: UnixTime) -> Item? {
        guard let last = items.last, last.at <= now else { return nil }
        return items.removeLast().item
    }

    /// All of a day, but what pushes lead to.
    init(_ day: RecordedDay) {
        for (index, activity) in day.activities.enumerated() {
            for step in activity.steps.indices { add(.step(activity: index, step), at: activity.steps[step].at) }
            for (device, card) in activity.cards.sorted(by: { $0.key < $1.key }) {
                let key = TrialCardKey(activity: index, device: device)
                if let joinsAt = card.joinsAt { add(.joins(key), at: joinsAt) }
                for act in card.acts { add(.act(key, act.deed), at: act.at) }
            }
        }
    }
}

/// How a trial's phone stands with the card of one activity.
struct TrialCard {
    /// Counts the cards it had.
    private(set) var number = 0
    private(set) var isThere = false
    private(set) var tokens = 0

    var localID: LocalID { LocalID(stored: "card \(number)") }

    /// Another card is there.
    mutating func begin() {
        number += 1
        isThere = true
        tokens = 0
    }

    mutating func takeToken() { tokens += 1 }

    /// The card of this number is over.
    mutating func end() {
        isThere = false
        tokens = 0
    }

    /// Whether it is the one that is there.
    func isStill(_ card: Int) -> Bool { isThere && number == card }
}
