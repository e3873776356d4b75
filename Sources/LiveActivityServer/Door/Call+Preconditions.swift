import LiveActivityCore

extension Call {
    /// What the caller asks of the activity before the change is taken.
    func preconditions(sequence: Int?) throws(Problem) -> Preconditions {
        if let sequence, sequence < 0 {
            throw .invalid("/sequence", "negative", expected: "0 or more", given: String(sequence))
        }
        return Preconditions(match: conditions.match, sequence: sequence.map(Int64.init))
    }

    /// The same for a call without a body.
    func preconditions(sequenceText: String?) throws(Problem) -> Preconditions {
        guard let sequenceText else { return Preconditions(match: conditions.match) }
        guard let sequence = Int64(sequenceText), sequence >= 0 else {
            throw Problem(.invalidQuery, "`sequence` is a whole number, 0 or more", expected: "0 or more")
        }
        return Preconditions(match: conditions.match, sequence: sequence)
    }

    /// `If-Match` of a call that changes nothing.
    func check(_ activity: ActivityRecord) throws(Problem) {
        guard case .revisions(let revisions) = conditions.match, !revisions.contains(activity.revision) else { return }
        throw Problem(Refusal.revisionDiffers(activity.id, current: activity.revision))
    }
}
