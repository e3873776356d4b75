import APNSModel
import LiveActivityCore

/// Identity of a card in a trial: one activity on one phone.
struct TrialCardKey: Hashable {
    /// Index of the activity in the recorded day.
    let activity: Int
    let device: DeviceKey
}

/// The events of a trial in order of time. Events at the same instant keep the order in which they were added.
struct TrialAgenda {
    enum Item {
        /// A change of an activity, by its index among the activity's changes.
        case step(activity: Int, Int)
        case joins(TrialCardKey)
        case act(TrialCardKey, RecordedCard.Deed)
        /// The phone reports its card of this number.
        case reports(TrialCardKey, card: Int)
        case token(TrialCardKey, card: Int)
        case confirmsEnd(TrialCardKey, card: Int)
        /// The server checks whether the activity is idle.
        case idle(activity: Int)
    }

    /// Latest first, so that the next event is removed from the end.
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

    /// Removes and returns the next due event, or `nil` if none is due.
    mutating func take(at now: UnixTime) -> Item? {
        guard let last = items.last, last.at <= now else { return nil }
        return items.removeLast().item
    }

    /// Creates an agenda with all events of a day, except those that pushes cause.
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

/// State of one activity's card on a phone in a trial.
struct TrialCard {
    /// Number of the current card, counted from 1.
    private(set) var number = 0
    private(set) var isThere = false
    private(set) var tokens = 0

    var localID: LocalID { LocalID(stored: "card \(number)") }

    /// Begins the next card.
    mutating func begin() {
        number += 1
        isThere = true
        tokens = 0
    }

    mutating func takeToken() { tokens += 1 }

    /// Ends the current card.
    mutating func end() {
        isThere = false
        tokens = 0
    }

    /// Returns `true` if the current card has this number.
    func isStill(_ card: Int) -> Bool { isThere && number == card }
}
