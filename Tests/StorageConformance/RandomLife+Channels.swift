import APNSModel
import LiveActivityCore
import LiveActivityStorage
import StorageSQL
import TestSupport

/// Broadcast channels that are made, sent to, lost, listed and deleted.
extension RandomLife {
    mutating func channels() async throws {
        switch dice.roll(8) {
        case 0..<3: try await claimChannels()
        case 3..<7: try await settleChannel()
        default: try await listChannels()
        }
    }

    private var routes: [PushRoute] {
        apps.flatMap { app in APNSEnvironment.allCases.map { PushRoute(app.bundleID, $0) } }
    }

    private mutating func claimChannels() async throws {
        var inUse: [PushRoute: Int] = [:]
        for route in routes where dice.chance(90) { inUse[route] = dice.chance(90) ? dice.roll(100) : 8000 }
        var known = Dictionary(apps.map { ($0.bundleID, $0) }, uniquingKeysWith: { $1 })
        if dice.chance(5) { known = [:] }
        let command = ClaimChannels(
            DueChannels(at: now, node: node, limit: 1 + dice.roll(5)), apps: known, inUse: inUse)
        try await pair.run(
            "claim channels", command,
            { left, right in
                left.unlisted == right.unlisted && left.rescued == right.rescued
                    && left.hasMovedOn == right.hasMovedOn
                    && left.errands.elementsEqual(right.errands) { $0.isSame(as: $1) }
            },
            then: { $1.errands += $0.errands })
    }

    private mutating func settleChannel() async throws {
        guard !pair.leavings.errands.isEmpty else { return }
        let index = dice.roll(pair.leavings.errands.count)
        let errand = pair.leavings.errands[index]
        if dice.chance(85) { pair.leavings.errands.remove(at: index) }
        let command = SettleChannel(errand, outcome(of: errand), now: now, dice: dice.fraction())
        try await pair.run("settle channel", command)
    }

    private mutating func outcome(of errand: ChannelErrand) -> SettleChannel.Outcome {
        guard dice.chance(30) else {
            return errand.flight.kind == .create ? .created(channelID()) : .done
        }
        let reason: BroadcastReason.Known = dice.pick([
            .featureNotEnabled, .channelNotRegistered, .cannotCreateChannelConfig, .tooManyRequests,
            .internalServerError,
            .invalidProviderToken, .payloadTooLarge,
        ])
        return dice.pick([
            .failed(BroadcastError(.refused(status: reason.status, reason: .known(reason)), "")),
            .failed(BroadcastError(.unknownFate, "lost")), .failed(BroadcastError(.cannotConnect, "down")),
            .failed(BroadcastError(.notSentInTime, "late")), .notBuilt(.missingAlertTitle),
        ])
    }

    private mutating func listChannels() async throws {
        let route = dice.pick(routes)
        if dice.chance(20) {
            let command = RefuseChannels(route, BroadcastError(.cannotConnect, "down"), now: now)
            try await pair.run("refuse channels", command)
            return
        }
        let own = pair.model.rows.channels.values.filter { $0.route == route }.compactMap(\.id)
        var ids = own.sorted { $0.text < $1.text }
        for _ in 0..<dice.roll(3) { ids.append(channelID()) }
        var seen: Set<ChannelID> = []
        let command = TakeChannelList(route, ids.filter { seen.insert($0).inserted }, now: now)
        try await pair.run("list channels", command)
    }

    mutating func channelID() -> ChannelID {
        ChannelID("AAAA\(1000 + dice.roll(9000))").unsafelyUnwrapped
    }
}

extension Pair {
    /// Compares the list of channels, which is read by pages, and their numbers with the model's rows.
    func compareChannels() async throws {
        let rows = model.rows
        let expected = rows.channels.values.sorted { $1.key < $0.key }
            .map { ChannelPage.Row(record: $0, activity: rows.activities[$0.key.activity]) }
        var found: [ChannelPage.Row] = []
        var after: ChannelKey?
        repeat {
            let page = try await engine.channels(of: nil, after: after, limit: 3)
            found += page.rows
            after = page.next
        } while after != nil
        guard found == expected else {
            throw Difference(description: "after step \(steps), the channels: \(expected) | \(found)")
        }
        var numbers: [PushRoute: ChannelCounts] = [:]
        for channel in rows.channels.values where channel.id != nil {
            numbers[channel.route, default: ChannelCounts()].own += 1
        }
        for stranger in rows.strangers { numbers[stranger.route, default: ChannelCounts()].foreign += 1 }
        let counts = try await engine.channelCounts(of: nil)
        guard counts == numbers else {
            throw Difference(description: "after step \(steps), numbers of channels: \(numbers) | \(counts)")
        }
    }
}

extension ChannelErrand {
    fileprivate func isSame(as other: Self) -> Bool {
        channel == other.channel && flight == other.flight && fence == other.fence && plan == other.plan
            && desired == other.desired && content == other.content
    }
}
