package import LiveActivityCore

/// Point at which a test may kill the process. The data stored by then must be enough for the next process.
package enum FaultPoint: String, Sendable, CaseIterable {
    /// Changes are written but not committed.
    case writeBeforeCommit = "write.before-commit"
    /// Changes are committed, but nobody has been notified.
    case writeAfterCommit = "write.after-commit"
    case claimBeforeCommit = "claim.before-commit"
    case claimAfterCommit = "claim.after-commit"
    case settleBeforeCommit = "settle.before-commit"
    case settleAfterCommit = "settle.after-commit"
    case pruneBeforeCommit = "prune.before-commit"
    case pruneAfterCommit = "prune.after-commit"
    /// A flight is claimed and its pushes are built.
    case sendBefore = "send.before"
    /// The sender has the pushes.
    case sendAfter = "send.after"
    /// APNs has answered a push, and the answer is not stored.
    case answerReceived = "answer.received"

    package static func beforeCommit(of rank: CommandRank) -> Self {
        switch rank {
        case .write: .writeBeforeCommit
        case .settle: .settleBeforeCommit
        case .claim: .claimBeforeCommit
        case .prune: .pruneBeforeCommit
        }
    }

    package static func afterCommit(of rank: CommandRank) -> Self {
        switch rank {
        case .write: .writeAfterCommit
        case .settle: .settleAfterCommit
        case .claim: .claimAfterCommit
        case .prune: .pruneAfterCommit
        }
    }
}

/// Action at the fault points that the store and the dispatcher pass. It does nothing unless a test sets it.
package struct FaultPoints: Sendable {
    package var reach: @Sendable (FaultPoint) -> Void

    package init(reach: @escaping @Sendable (FaultPoint) -> Void = { _ in }) {
        self.reach = reach
    }
}
