package import LiveActivityCore

extension ModelStore {
    /// A claim that was made in the transaction of other commands.
    package struct AtOnce {
        package let reply: ClaimWork.Reply
        /// The rows between the commands and the claim.
        package let before: Snapshot
        let due: [LaneKey]
        let woken: [ActivityNumber]

        /// Returns `true` if a claim after the commit that looks at the same lanes comes to the same.
        package func isOrdinary(_ claim: ClaimWork, _ store: ModelStore) -> Bool {
            var other = ModelStore(rows: before)
            let reply = other.run(claim, of: self)
            return other.rows == store.rows && reply.isSame(as: self.reply)
        }
    }

    /// Runs a command, and a claim of the work that it makes due, in one transaction.
    ///
    /// - Returns: The command's result, and the claim; `nil` if nothing is claimed.
    package mutating func run<C: Command>(
        _ command: C, claiming claim: ClaimWork
    ) -> (result: Result<C.Reply, Refusal>, claimed: AtOnce?) {
        var draft = Draft(load(command.keys))
        let result = draft.run(command)
        return (result, finish(draft, claiming: claim))
    }

    /// Runs commands that share a transaction, and a claim of the work that they make due.
    package mutating func run(together jobs: [Job], claiming claim: ClaimWork) -> AtOnce? {
        var draft = Draft(load(jobs.flatMap(\.keys)))
        for job in jobs { _ = job.run(&draft) }
        return finish(draft, claiming: claim)
    }

    private mutating func finish(_ commands: Draft, claiming claim: ClaimWork) -> AtOnce? {
        var between = self
        between.apply(commands)
        var draft = commands
        var claimed: AtOnce?
        if var work = draft.workAtOnce(for: claim) {
            for case .due(let due) in claim.keys { loadPages(work.due, due, &work) }
            if let made = draft.claim(work, by: claim) {
                claimed = AtOnce(reply: made.reply, before: between.rows, due: made.due, woken: made.woken)
            }
        }
        workDueAt = draft.workDueAt
        apply(draft)
        return claimed
    }

    /// Runs a claim that looks at the lanes of another one.
    @discardableResult
    package mutating func run(_ claim: ClaimWork, of other: AtOnce) -> ClaimWork.Reply {
        var part = Snapshot()
        part.due = other.due
        part.woken = other.woken
        for key in other.due { loadActivity(key.activity, &part) }
        for case .due(let due) in claim.keys { loadPages(other.due, due, &part) }
        var draft = Draft(part)
        guard case .success(let reply) = draft.run(claim) else { return ClaimWork.Reply() }
        apply(draft)
        return reply
    }
}
