internal import APNSModel
internal import JSONText

extension World {
    // MARK: Crowds

    mutating func add(_ crowd: CrowdSpecification) throws(SimulatorError) {
        // The rules for a crowd's name are those of a phone's id.
        guard PhoneID(crowd.name) != nil else {
            throw SimulatorError(.badValue, "a name has 1 to 128 letters, digits, `-`, `_`, `.` or `:`")
        }
        guard crowd.count > 0 else { throw SimulatorError(.badValue, "a crowd needs at least one member") }
        guard crowds[crowd.name] == nil else {
            throw SimulatorError(.crowdExists, "there is a crowd `\(crowd.name)` already")
        }
        let members = crowds.values.reduce(0) { $0 + $1.specification.count }
        guard crowds.count < Limits.crowds, crowd.count <= limits.crowdMembers - members else {
            throw SimulatorError(
                .tooManyPhones,
                "at most \(Limits.crowds) crowds, with at most \(limits.crowdMembers) members in all of them")
        }
        crowds[crowd.name] = Crowd(crowd)
        directory.crowds.add(crowd)
    }

    mutating func removeCrowd(_ name: String) throws(SimulatorError) {
        let crowd = try self.crowd(name)
        directory.crowds.remove(name)
        crowds[name] = nil
        effects += crowd.waiting.map { .waitLost($0) }
    }

    func crowd(_ name: String) throws(SimulatorError) -> Crowd {
        guard let crowd = crowds[name] else { throw SimulatorError(.unknownCrowd, "there is no crowd `\(name)`") }
        return crowd
    }

    mutating func wait(_ number: Int, _ wait: CrowdWait, in name: String) throws(SimulatorError) {
        _ = try crowd(name)
        guard crowds[name]?.add(number, wait) == true else {
            throw SimulatorError(.actionRefused, "\(Crowd.waiters) calls already wait for this crowd")
        }
        effects += crowds[name]?.takeOver().map { .waitOver($0) } ?? []
    }

    mutating func endWait(_ number: Int, in name: String) {
        crowds[name]?.removeWait(number)
    }

    /// Makes the apps of members start a card on a channel. `nil` means all members.
    mutating func startCards(
        of name: String, on channel: ChannelID, members: Range<Int>?
    ) throws(SimulatorError) {
        let count = try crowd(name).specification.count
        let members = members ?? 0..<count
        guard members.lowerBound >= 0, members.upperBound <= count else {
            throw SimulatorError(.badValue, "the crowd `\(name)` has \(count) members")
        }
        crowds[name]?.startCards(members, on: channel)
    }

    // MARK: Pushes

    mutating func deliver(
        _ arrival: PushArrival, priority: Int, to member: Int, of entry: CrowdDirectory.Entry, now: UnixTime
    ) {
        let aps = arrival.body?["aps"]?.object ?? [:]
        var push = Self.push(arrival, aps, entry.kind, priority: priority, now: now)
        if push.event == "start" {
            push.canStart =
                aps["attributes"]?.object != nil && ShownAlert(activity: aps, at: now) != nil
                && aps["attributes-type"]?.string == crowds[entry.crowd]?.specification.attributesType
            push.channel = aps["input-push-channel"]?.string.flatMap { ChannelID($0) }
        }
        let over = crowds[entry.crowd]?.receive(push, member: member) ?? []
        if !over.isEmpty { effects += over.map { .waitOver($0) } }
    }

    /// Delivers a broadcast to the members whose card is on the channel.
    mutating func deliver(
        broadcast arrival: PushArrival, priority: Int, of channel: ChannelID, _ owner: ChannelStore.Owner, now: UnixTime
    ) {
        guard !crowds.isEmpty else { return }
        let aps = arrival.body?["aps"]?.object ?? [:]
        let push = Self.push(arrival, aps, .update, priority: priority, now: now)
        for name in crowds.keys.sorted() {
            guard let specification = crowds[name]?.specification, specification.bundleID == owner.bundleID,
                specification.environment == owner.environment
            else { continue }
            let over = crowds[name]?.receive(broadcast: push, of: channel) ?? []
            if !over.isEmpty { effects += over.map { .waitOver($0) } }
        }
    }

    /// Returns what matters of a push to members, without what only a start has.
    private static func push(
        _ arrival: PushArrival, _ aps: JSONObject, _ kind: CrowdTokens.Kind, priority: Int, now: UnixTime
    ) -> CrowdPush {
        var push = CrowdPush(kind: kind, event: aps["event"]?.string, priority: priority)
        if let seconds = aps["timestamp"]?.double, (0...Double(UInt32.max)).contains(seconds),
            UnixTime(seconds: Int64(seconds)) <= now + DeviceLimits().timestampAhead
        {
            push.timestamp = UInt32(seconds)
        }
        push.state = arrival.stateDigest ?? aps["content-state"]?.object.map { ContentDigest($0) }
        return push
    }
}
