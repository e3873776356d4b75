/// Conditions of a call on the activity's current state. They are checked in the same transaction as the change, so no
/// other change comes between.
package struct Preconditions: Sendable, Equatable {
    /// Content of `If-Match` (RFC 9110 section 13.1.1).
    package enum Match: Sendable, Equatable {
        /// `*`: the activity exists.
        case anything
        case revisions(Set<Revision>)
    }

    package var match: Match?
    /// Number of the call. A caller increases it with each call; one that is not greater than the last accepted is
    /// late.
    package var sequence: Int64?

    package init(match: Match? = nil, sequence: Int64? = nil) {
        self.match = match
        self.sequence = sequence
    }

    /// Returns `true` if this call, or one that was sent later, has already been accepted.
    func isLate(for activity: ActivityRecord) -> Bool {
        guard let sequence, let taken = activity.clientSequence else { return false }
        return sequence <= taken
    }

    /// - Throws: `Refusal.revisionDiffers` if the activity is not the one that `If-Match` names.
    func check(_ activity: ActivityRecord?, _ id: ActivityID) throws(Refusal) {
        let isMet =
            switch match {
            case nil: true
            case .anything: activity != nil
            case .revisions(let revisions): activity.map { revisions.contains($0.revision) } ?? false
            }
        guard isMet else { throw .revisionDiffers(id, current: activity?.revision ?? 0) }
    }
}

extension SetDesiredState.Reply {
    /// Returns the answer to a call that came too late.
    static func superseded(_ activity: ActivityRecord) -> Self {
        Self(
            number: activity.number, revision: activity.revision, changed: false, phase: activity.phase,
            run: activity.run, isSuperseded: true)
    }
}
