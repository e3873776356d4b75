public import APNSModel
public import JSONText

extension APNSSimulator {
    // MARK: Crowds

    /// Adds a crowd: up to a million light phones for load, as ``CrowdSpecification`` describes. APNs knows its
    /// ``CrowdTokens`` at once.
    ///
    /// Pushes that the crowd takes are counted and not listed in ``received``. Refused pushes are listed.
    ///
    /// - Throws: `crowdExists`, `tooManyPhones`; `badValue` for an invalid name or count.
    public func addCrowd(_ crowd: CrowdSpecification) throws(SimulatorError) {
        try engine.withWorld { world, _ throws(SimulatorError) in try world.add(crowd) }
    }

    /// Removes a crowd. Its tokens are unknown from now on, and waits for it end with an error.
    ///
    /// - Throws: `unknownCrowd`.
    public func removeCrowd(_ name: String) throws(SimulatorError) {
        try engine.withWorld { world, _ throws(SimulatorError) in try world.removeCrowd(name) }
    }

    /// Makes the apps of members start a card on a broadcast channel, as apps do with `PushType.channel` (iOS 18).
    ///
    /// The card shows nothing before the first broadcast. A member that a start puts on a channel needs no such call.
    ///
    /// - Parameter members: Numbers of the members; `nil` means all.
    /// - Throws: `unknownCrowd`; `badValue` for members that the crowd does not have.
    public func startCards(
        of name: String, on channel: ChannelID, members: Range<Int>? = nil
    ) throws(SimulatorError) {
        try engine.withWorld { world, _ throws(SimulatorError) in
            try world.startCards(of: name, on: channel, members: members)
        }
    }

    /// Returns the number of pushes that a crowd was sent, by their effect.
    ///
    /// - Throws: `unknownCrowd`.
    public func crowdTotals(_ name: String) throws(SimulatorError) -> CrowdTotals {
        try engine.withWorld { world, _ throws(SimulatorError) in try world.crowd(name).totals }
    }

    /// Returns one member of a crowd by its number, from 0.
    ///
    /// - Throws: `unknownCrowd`; `unknownPhone` if the crowd has no such member.
    public func crowdMember(_ member: Int, of name: String) throws(SimulatorError) -> CrowdMember {
        let found = try engine.withWorld { world, _ throws(SimulatorError) in try world.crowd(name).member(member) }
        guard let found else { throw SimulatorError(.unknownPhone, "the crowd `\(name)` has no such member") }
        return found
    }

    /// Returns the content states that most members of a crowd show, the most frequent first. The time this takes grows
    /// with the number of members.
    ///
    /// - Parameter limit: Maximum number of content states.
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

    /// Returns the number of members of a crowd that show exactly this content state.
    ///
    /// - Throws: `unknownCrowd`.
    public func crowdHolding(_ state: JSONObject, in name: String) throws(SimulatorError) -> CrowdHolding {
        let digest = ContentDigest(state)
        let states = try engine.withWorld { world, _ throws(SimulatorError) in try world.crowd(name).states }
        return CrowdHolding(digest: digest, members: states.count { $0 == digest.word })
    }

    /// Waits, without polling, until a crowd has taken a number of pushes and its members show a content state.
    ///
    /// - Parameters:
    ///   - pushes: Number of pushes that the crowd must have taken since it was made.
    ///   - state: Content state that the members must show, if any.
    ///   - members: Number of members that must show it; `nil` means all.
    ///   - timeout: Longest wait, in real time.
    /// - Returns: The totals at about the moment at which the wait ended.
    /// - Throws: `timedOut`; `unknownCrowd`, also if the crowd is removed meanwhile; `actionRefused` if 64 callers wait
    ///   already; `notRunning` if the simulator stops; `CancellationError`.
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
                throw SimulatorError(.timedOut, "the awaited change did not come within \(timeout)")
            }
            defer { group.cancelAll() }
            try await group.next()
        }
        return try crowdTotals(name)
    }
}
