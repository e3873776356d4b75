import LiveActivityCore

extension Call {
    /// Returns the conditions under which the activity may be changed.
    ///
    /// - Throws: `invalid_body` for a negative sequence.
    func preconditions(sequence: Int?) throws(Problem) -> Preconditions {
        if let sequence, sequence < 0 {
            throw .invalid("/sequence", "negative", expected: "0 or more", given: String(sequence))
        }
        return Preconditions(match: conditions.match, sequence: sequence.map(Int64.init))
    }

    /// Returns the conditions of a call without a body, whose sequence is a query parameter.
    ///
    /// - Throws: `invalid_query` if the sequence is not a whole number from 0.
    func preconditions(sequenceText: String?) throws(Problem) -> Preconditions {
        guard let sequenceText else { return Preconditions(match: conditions.match) }
        guard let sequence = Int64(sequenceText), sequence >= 0 else {
            throw Problem(.invalidQuery, "`sequence` is a whole number, 0 or more", expected: "0 or more")
        }
        return Preconditions(match: conditions.match, sequence: sequence)
    }

    /// Checks `If-Match` for a call that changes nothing.
    ///
    /// - Throws: `revision_differs`.
    func check(_ activity: ActivityRecord) throws(Problem) {
        guard case .revisions(let revisions) = conditions.match, !revisions.contains(activity.revision) else { return }
        throw Problem(Refusal.revisionDiffers(activity.id, current: activity.revision))
    }
}
