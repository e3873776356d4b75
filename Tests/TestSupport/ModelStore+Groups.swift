package import LiveActivityCore

/// Several commands of one transaction, as an engine runs them that commits what waits together.
extension ModelStore {
    /// A command with its keys, to be run with others.
    package struct Job {
        let keys: [SnapshotKey]
        let run: (inout Draft) -> Void

        package init<C: Command>(_ command: C) {
            keys = command.keys
            run = { _ = $0.run(command) }
        }
    }

    /// Loads what all of them need, runs them one after another on what those before left, and keeps what changed. A
    /// command for which something else has to be loaded by then begins another transaction.
    package mutating func run(together jobs: [Job]) {
        var rest = jobs[...]
        while !rest.isEmpty {
            var draft = Draft(load(rest.flatMap(\.keys)))
            // The first is run whatever it asks for: nothing has changed yet.
            repeat { rest.removeFirst().run(&draft) } while rest.first.map { draft.stillHolds($0.keys) } ?? false
            apply(draft)
        }
    }
}
