package import LiveActivityCore

/// A place where a test may let the process die: what stands then must be enough for the next one.
package enum FaultPoint: String, Sendable, CaseIterable {
    /// Changes are written and not committed.
    case writeBeforeCommit = "write.before-commit"
    /// They stand, and nobody was told.
    case writeAfterCommit = "write.after-commit"
    case claimBeforeCommit = "claim.before-commit"
    case claimAfterCommit = "claim.after-commit"
    case settleBeforeCommit = "settle.before-commit"
    case settleAfterCommit = "settle.after-commit"
    case pruneBeforeCommit = "prune.before-commit"
    case pruneAfterCommit = "prune.after-commit"
    /// A flight is claimed, and its pushes are made.
    case sendBefore = "send.before"
    /// The sender has them.
    case sendAfter = "send.after"
    /// APNs answered one of them, and nobody knows.
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

/// What happens where the store and the dispatcher pass a fault point: nothing, unless a test says so.
package struct FaultPoints: Sendable {
    package var reach: @Sendable (FaultPoint) -> Void

    package init(reach: @escaping @Sendable (FaultPoint) -> Void = { _ in }) {
        self.reach = reach
    }
}
