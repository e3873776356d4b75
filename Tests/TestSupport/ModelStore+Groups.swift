package import LiveActivityCore

/// Several commands of one transaction, as an engine runs them that commits what waits together.
extension ModelStore {
    /// A command with its keys, to be run with others.
    package struct Job {
        let keys: [SnapshotKey]
        /// Whether the reply is the expected one.
        let run: (inout Draft) -> Bool

        /// - Parameter reply: What it replied by itself; `nil`: nobody compares it.
        package init<C: Command>(_ command: C, reply: Result<C.Reply, Refusal>? = nil) {
            keys = command.keys
            run = { draft in
                let result = draft.run(command)
                return reply.map { Self.isSame($0, result) } ?? true
            }
        }

        private static func isSame<Reply>(_ left: Result<Reply, Refusal>, _ right: Result<Reply, Refusal>) -> Bool {
            switch (left, right) {
            case (.success(let left as any Equatable), .success(let right)): equals(left, right)
            case (.success(let left), .success(let right)): "\(left)" == "\(right)"
            case (.failure(let left), .failure(let right)): left == right
            case (.success, .failure), (.failure, .success): false
            }
        }

        private static func equals<Value: Equatable>(_ left: Value, _ right: Any) -> Bool { left == right as? Value }
    }

    /// Loads what all of them need, runs them one after another on what those before left, and keeps what changed. A
    /// command for which something else has to be loaded by then begins another transaction.
    ///
    /// - Returns: How many replied something else than is expected of them.
    @discardableResult
    package mutating func run(together jobs: [Job]) -> Int {
        var rest = jobs[...]
        var surprises = 0
        while !rest.isEmpty {
            var draft = Draft(load(rest.flatMap(\.keys)))
            // The first is run whatever it asks for: nothing has changed yet.
            repeat {
                if !rest.removeFirst().run(&draft) { surprises += 1 }
            } while rest.first.map { draft.stillHolds($0.keys) } ?? false
            apply(draft)
        }
        return surprises
    }
}
