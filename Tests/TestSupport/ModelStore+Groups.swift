package import LiveActivityCore

/// Several commands of one transaction, as in an engine with group commit.
extension ModelStore {
    /// A command with its keys, to be run with others.
    package struct Job {
        let keys: [SnapshotKey]
        /// Returns `true` if the reply is the expected one.
        let run: (inout Draft) -> Bool

        /// - Parameter reply: The reply of the command when it ran alone; `nil` to compare nothing.
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

    /// Loads the rows of all commands, runs the commands one after another on the results of those before, and stores
    /// the changes. A command whose keys by then need other rows begins another transaction.
    ///
    /// - Returns: Number of commands whose reply differs from the expected one.
    @discardableResult
    package mutating func run(together jobs: [Job]) -> Int {
        var rest = jobs[...]
        var surprises = 0
        while !rest.isEmpty {
            var draft = Draft(load(rest.flatMap(\.keys)))
            // The first command runs with any keys, because nothing has changed yet.
            repeat {
                if !rest.removeFirst().run(&draft) { surprises += 1 }
            } while rest.first.map { draft.stillHolds($0.keys) } ?? false
            apply(draft)
        }
        return surprises
    }
}
