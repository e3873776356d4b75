/// What a caller asks of an activity before its change is taken: decided where the change is, so that nothing comes
/// between.
package struct Preconditions: Sendable, Equatable {
    /// What `If-Match` names (RFC 9110 section 13.1.1).
    package enum Match: Sendable, Equatable {
        /// `*`: the activity is there.
        case anything
        case revisions(Set<Revision>)
    }

    package var match: Match?
    /// Grows with each call of a caller: one that is not greater than the last that was taken is late.
    package var sequence: Int64?

    package init(match: Match? = nil, sequence: Int64? = nil) {
        self.match = match
        self.sequence = sequence
    }

    /// A call that was sent later, or this very call, was taken already.
    func isLate(for activity: ActivityRecord) -> Bool {
        guard let sequence, let taken = activity.clientSequence else { return false }
        return sequence <= taken
    }

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
    /// The answer to a call that came too late.
    static func superseded(_ activity: ActivityRecord) -> Self {
        Self(
            number: activity.number, revision: activity.revision, changed: false, phase: activity.phase,
            run: activity.run, isSuperseded: true)
    }
}
