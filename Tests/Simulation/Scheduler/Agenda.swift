/// Actions by their instant of virtual time, in milliseconds. Actions at one instant run in the order of insertion.
struct Agenda {
    private struct Entry {
        var at: Int64
        var order: Int
        var id: Int
        /// Process in which the action runs. The action waits while the process stands still, and is dropped when it
        /// dies.
        var node: Node?
        var action: () -> Void
    }

    private var entries: [Entry] = []
    private var made = 0

    @discardableResult
    mutating func add(at time: Int64, in node: Node? = nil, _ action: @escaping () -> Void) -> Int {
        made += 1
        entries.append(Entry(at: time, order: made, id: made, node: node, action: action))
        return made
    }

    mutating func cancel(_ id: Int) { entries.removeAll { $0.id == id } }

    var nextAt: Int64? { entries.lazy.map(\.at).min() }

    /// Takes the first action that is due by the given time.
    mutating func take(upTo time: Int64) -> (at: Int64, action: () -> Void)? {
        while true {
            var first: Int?
            for index in entries.indices where entries[index].at <= time {
                guard let best = first else {
                    first = index
                    continue
                }
                let (mine, its) = (entries[index], entries[best])
                if (mine.at, mine.order) < (its.at, its.order) { first = index }
            }
            guard let first else { return nil }
            let entry = entries[first]
            if let node = entry.node, node.isOver || !node.isAlive {
                entries.remove(at: first)
                continue
            }
            if let node = entry.node, let until = node.frozenUntil, entry.at < until {
                entries[first].at = until
                continue
            }
            entries.remove(at: first)
            return (entry.at, entry.action)
        }
    }
}
