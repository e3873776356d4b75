import LiveActivityCore
import TestSupport

/// Commands that were committed one by one, to be run again as one transaction on the rows before them.
///
/// An engine commits all waiting commands together, across apps, phones and settlements. The result must be the same.
struct CommandGroup {
    private(set) var jobs: [ModelStore.Job] = []
    private let before: Snapshot
    private let size: Int

    init(before: Snapshot, size: Int) {
        self.before = before
        self.size = size
    }

    var isFull: Bool { jobs.count >= size }

    /// - Parameter reply: Reply of the command when it was committed by itself.
    mutating func add<C: Command>(_ command: C, _ reply: Result<C.Reply, Refusal>) {
        jobs.append(.init(command, reply: reply))
    }

    /// Returns the rows after all commands, and the number of commands whose reply differs from their first one.
    func played() -> (rows: Snapshot, surprises: Int) {
        var store = ModelStore(rows: before)
        let surprises = store.run(together: jobs)
        return (store.rows, surprises)
    }
}

extension World {
    /// Least number of commits between the beginnings of two groups.
    private static let spacing = 7

    /// Begins a group before some commands.
    func openGroup() {
        guard group == nil, counts.commits % Self.spacing == 0 else { return }
        beginGroup(of: 2 + counts.commits / Self.spacing % 4)
    }

    func beginGroup(of size: Int) { group = CommandGroup(before: store.rows, size: size) }

    /// Checks that the group's commands give the same result together as one by one.
    func closeGroup() {
        guard let group else { return }
        self.group = nil
        guard group.jobs.count > 1 else { return }
        count(.grouped)
        let (together, surprises) = group.played()
        if surprises > 0 {
            violate(.acceptedIsKept, "\(surprises) commands reply something else in one commit than one by one")
        }
        guard together != store.rows else { return }
        let words = Self.differences(together, store.rows).joined(separator: ", ")
        violate(
            .acceptedIsKept,
            "\(group.jobs.count) commands come to something else in one commit than one by one: \(words)")
    }

    /// Returns the names of the tables whose rows differ.
    private static func differences(_ left: Snapshot, _ right: Snapshot) -> [String] {
        zip(Mirror(reflecting: left).children, Mirror(reflecting: right).children).compactMap { left, right in
            func equals<Value: Equatable>(_ value: Value) -> Bool { value == right.value as? Value }
            guard let value = left.value as? any Equatable, !equals(value) else { return nil }
            return left.label
        }
    }
}
