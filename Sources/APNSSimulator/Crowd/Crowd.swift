internal import APNSModel

/// The parts of a push that matter to a member of a crowd.
struct CrowdPush: Sendable {
    var kind: CrowdTokens.Kind
    var event: String?
    var priority: Int
    /// Timestamp in seconds since 1970; `nil` if the push has none that a phone would take.
    var timestamp: UInt32?
    var state: ContentDigest?
    /// `true` if a start has everything that a phone needs for a card.
    var canStart = false
    /// Channel of the card that a start makes; `nil` for a card with an update token.
    var channel: ChannelID?
}

/// The condition of a wait: a number of pushes, and members that show a state. If both are given, both must hold.
struct CrowdWait: Sendable {
    var pushes = 0
    var state: ContentDigest?
    var members = 0
}

/// The members of a crowd, as flat arrays of 17 bytes for each member, and 4 more once a member is on a channel. Pure.
struct Crowd: Sendable {
    private struct Flags: OptionSet {
        let rawValue: UInt8
        static let started = Flags(rawValue: 1)
        static let ended = Flags(rawValue: 2)
    }

    private struct Waiting {
        let number: Int
        let wait: CrowdWait
        /// Number of members that show the wanted state now.
        var holding: Int

        func isOver(accepted: Int) -> Bool {
            accepted >= wait.pushes && (wait.state == nil || holding >= wait.members)
        }
    }

    let specification: CrowdSpecification
    private(set) var totals: CrowdTotals
    private var timestamps: [UInt32]
    /// Digest of each member's content state. 0 before the first card.
    private(set) var states: [UInt64]
    private var counts: [UInt32]
    private var flags: [Flags]
    /// Number of the channel of each member's card; 0 for a card with an update token. Empty before the first card on a
    /// channel.
    private var subscriptions: [UInt32] = []
    /// Numbers of the channels that cards have been on, from 1.
    private var channels: [ChannelID: UInt32] = [:]
    private var waits: [Waiting] = []

    /// Maximum number of waits at once.
    static let waiters = 64

    init(_ specification: CrowdSpecification) {
        self.specification = specification
        let count = specification.count
        totals = CrowdTotals(members: count)
        timestamps = Array(repeating: 0, count: count)
        states = Array(repeating: 0, count: count)
        counts = Array(repeating: 0, count: count)
        flags = Array(repeating: [], count: count)
    }

    func member(_ index: Int) -> CrowdMember? {
        guard counts.indices.contains(index) else { return nil }
        let hasCard = !flags[index].isEmpty
        return CrowdMember(
            accepted: Int(counts[index]), isRunning: flags[index] == .started, hasEnded: flags[index].contains(.ended),
            timestamp: hasCard ? Int(timestamps[index]) : nil,
            digest: states[index] == 0 ? nil : ContentDigest(word: states[index]))
    }

    // MARK: Pushes

    mutating func refuse() {
        totals.refused += 1
    }

    /// Applies a push that APNs took to a member, and returns the waits that are over.
    mutating func receive(_ push: CrowdPush, member: Int) -> [Int] {
        totals.accepted += 1
        totals.acceptedByPriority[push.priority, default: 0] += 1
        if counts[member] == 0 { totals.reached += 1 }
        if counts[member] < .max { counts[member] += 1 }
        apply(push, to: member)
        return takeOver()
    }

    private mutating func apply(_ push: CrowdPush, to member: Int) {
        switch (push.kind, push.event) {
        case (.device, _): totals.notifications += 1
        case (.pushToStart, "start"): start(push, member)
        // A card on a channel has no update token.
        case (.update, "update") where !isSubscribed(member): update(push, member)
        case (.update, "end") where !isSubscribed(member): end(push, member)
        case (.pushToStart, _), (.update, _): totals.dropped += 1
        }
    }

    private mutating func start(_ push: CrowdPush, _ member: Int) {
        guard push.canStart, let timestamp = push.timestamp, let state = push.state else {
            totals.dropped += 1
            return
        }
        totals.starts += 1
        // It does not matter which of two cards a later update changes: there should not be two.
        guard flags[member] != .started else {
            totals.secondCards += 1
            return
        }
        run(member)
        subscribe(member, to: push.channel.map { number(of: $0) } ?? 0)
        show(state, timestamp, member)
    }

    private mutating func update(_ push: CrowdPush, _ member: Int) {
        guard let timestamp = push.timestamp, let state = push.state, !flags[member].contains(.ended) else {
            totals.dropped += 1
            return
        }
        guard timestamp > timestamps[member] else {
            totals.staleIgnored += 1
            return
        }
        totals.updates += 1
        run(member)
        show(state, timestamp, member)
    }

    private mutating func end(_ push: CrowdPush, _ member: Int) {
        guard let timestamp = push.timestamp, !flags[member].contains(.ended) else {
            totals.dropped += 1
            return
        }
        totals.ends += 1
        if flags[member] == .started { totals.running -= 1 }
        flags[member] = [.started, .ended]
        // An end with an old timestamp ends the card, but does not show its older state.
        if let state = push.state, timestamp >= timestamps[member] { show(state, timestamp, member) }
    }

    /// Marks the member's card as running. If no push started the card, the app did.
    private mutating func run(_ member: Int) {
        if flags[member] != .started { totals.running += 1 }
        flags[member] = .started
    }

    private mutating func show(_ state: ContentDigest, _ timestamp: UInt32, _ member: Int) {
        timestamps[member] = timestamp
        let old = states[member]
        guard old != state.word else { return }
        states[member] = state.word
        for index in waits.indices {
            if waits[index].wait.state?.word == old { waits[index].holding -= 1 }
            if waits[index].wait.state == state { waits[index].holding += 1 }
        }
    }

    // MARK: Channels

    /// Makes the apps of these members start a card on the channel. It shows nothing before its first broadcast.
    mutating func startCards(_ members: Range<Int>, on channel: ChannelID) {
        let number = number(of: channel)
        for member in members {
            run(member)
            subscribe(member, to: number)
        }
    }

    /// Applies a broadcast to the members whose card runs on the channel, and returns the waits that are over.
    mutating func receive(broadcast push: CrowdPush, of channel: ChannelID) -> [Int] {
        guard let number = channels[channel] else { return [] }
        totals.broadcasts += 1
        for member in subscriptions.indices where subscriptions[member] == number && flags[member] == .started {
            switch push.event {
            case "update": update(push, member)
            case "end": end(push, member)
            default: totals.dropped += 1
            }
        }
        return takeOver()
    }

    private func isSubscribed(_ member: Int) -> Bool { !subscriptions.isEmpty && subscriptions[member] != 0 }

    private mutating func subscribe(_ member: Int, to number: UInt32) {
        if subscriptions.isEmpty {
            guard number != 0 else { return }
            subscriptions = Array(repeating: 0, count: specification.count)
        }
        subscriptions[member] = number
    }

    /// Returns the number of a channel, which is a new one for a channel that no card was on before.
    private mutating func number(of channel: ChannelID) -> UInt32 {
        if let known = channels[channel] { return known }
        let number = UInt32(channels.count + 1)
        channels[channel] = number
        return number
    }

    // MARK: Waits

    /// Adds a wait, and returns `false` if there is no room for it. If the wait is over already, `takeOver()` returns
    /// it at once.
    mutating func add(_ number: Int, _ wait: CrowdWait) -> Bool {
        guard waits.count < Self.waiters else { return false }
        let holding = wait.state.map { state in states.count { $0 == state.word } } ?? 0
        waits.append(Waiting(number: number, wait: wait, holding: holding))
        return true
    }

    mutating func removeWait(_ number: Int) {
        waits.removeAll { $0.number == number }
    }

    /// Removes the waits that are over now, and returns their numbers.
    mutating func takeOver() -> [Int] {
        let accepted = totals.accepted
        guard waits.contains(where: { $0.isOver(accepted: accepted) }) else { return [] }
        let over = waits.filter { $0.isOver(accepted: accepted) }.map(\.number)
        waits.removeAll { $0.isOver(accepted: accepted) }
        return over
    }

    var waiting: [Int] { waits.map(\.number) }
}
