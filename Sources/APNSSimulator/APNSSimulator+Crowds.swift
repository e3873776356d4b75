public import JSONText

extension APNSSimulator {
    // MARK: Crowds

    /// Makes a crowd: up to a million light phones for load, see ``CrowdSpecification``. APNs knows its ``CrowdTokens``
    /// at once.
    ///
    /// What it takes of pushes is counted, and not in ``received``; what is refused is there too.
    ///
    /// - Throws: `crowdExists`, `tooManyPhones`; `badValue` for a name or a count that cannot be.
    public func addCrowd(_ crowd: CrowdSpecification) throws(SimulatorError) {
        try engine.withWorld { world, _ throws(SimulatorError) in try world.add(crowd) }
    }

    /// Takes a crowd away: its tokens are unknown from now on, and who waits for it is told.
    ///
    /// - Throws: `unknownCrowd`.
    public func removeCrowd(_ name: String) throws(SimulatorError) {
        try engine.withWorld { world, _ throws(SimulatorError) in try world.removeCrowd(name) }
    }

    /// What a crowd was sent so far, and what became of it.
    ///
    /// - Throws: `unknownCrowd`.
    public func crowdTotals(_ name: String) throws(SimulatorError) -> CrowdTotals {
        try engine.withWorld { world, _ throws(SimulatorError) in try world.crowd(name).totals }
    }

    /// One member of a crowd, by its number from 0.
    ///
    /// - Throws: `unknownCrowd`; `unknownPhone` when it has no such member.
    public func crowdMember(_ member: Int, of name: String) throws(SimulatorError) -> CrowdMember {
        let found = try engine.withWorld { world, _ throws(SimulatorError) in try world.crowd(name).member(member) }
        guard let found else { throw SimulatorError(.unknownPhone, "the crowd `\(name)` has no such member") }
        return found
    }

    /// The content states that most members of a crowd hold, the most frequent first; takes time in proportion to the
    /// members.
    ///
    /// - Parameter limit: The most that are listed.
    /// - Throws: `unknownCrowd`.
    public func crowdHoldings(_ name: String, limit: Int = 16) throws(SimulatorError) -> [CrowdHolding] {
        let states = try engine.withWorld { world, _ throws(SimulatorError) in try world.crowd(name).states }
        var counts: [UInt64: Int] = [:]
        for state in states where state != 0 { counts[state, default: 0] += 1 }
        let sorted = counts.sorted { ($0.value, $1.key) > ($1.value, $0.key) }
        return sorted.prefix(max(0, limit)).map {
            CrowdHolding(digest: ContentDigest(word: $0.key), members: $0.value)
        }
    }

    /// How many members of a crowd hold exactly this content state.
    ///
    /// - Throws: `unknownCrowd`.
    public func crowdHolding(_ state: JSONObject, in name: String) throws(SimulatorError) -> CrowdHolding {
        let digest = ContentDigest(state)
        let states = try engine.withWorld { world, _ throws(SimulatorError) in try world.crowd(name).states }
        return CrowdHolding(digest: digest, members: states.count { $0 == digest.word })
    }

    /// Waits, without polling, until a crowd has taken so many pushes and so many members hold a content state.
    ///
    /// - Parameters:
    ///   - pushes: How many pushes must have been taken since the crowd was made.
    ///   - state: The content state that must be held, if any.
    ///   - members: By how many members; by all when `nil`.
    ///   - timeout: In real time.
    /// - Returns: The totals at about that moment.
    /// - Throws: `timedOut`; `unknownCrowd`, also when it is removed meanwhile; `actionRefused` when 64 wait already;
    ///   `notRunning` when the simulator stops; `CancellationError`.
    @discardableResult
    public func waitForCrowd(
        _ name: String, pushes: Int = 0, holding state: JSONObject? = nil, members: Int? = nil,
        timeout: Duration = .seconds(60)
    ) async throws -> CrowdTotals {
        let (number, over) = engine.crowdWaits.open()
        defer {
            engine.crowdWaits.close(number)
            engine.withWorld { world, _ in world.endWait(number, in: name) }
        }
        let digest = state.map { ContentDigest($0) }
        try engine.withWorld { world, _ throws(SimulatorError) in
            let all = try world.crowd(name).specification.count
            let wait = CrowdWait(pushes: pushes, state: digest, members: members ?? all)
            try world.wait(number, wait, in: name)
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await over.value }
            group.addTask {
                try await Task.sleep(for: timeout)
                throw SimulatorError(.timedOut, "it did not come within \(timeout)")
            }
            defer { group.cancelAll() }
            try await group.next()
        }
        return try crowdTotals(name)
    }
}
