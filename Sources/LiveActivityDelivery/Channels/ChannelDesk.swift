import APNSModel
import LiveActivityCore
import Synchronization

/// Memory of the channel loop while it runs: operations under way, and the lists of routes.
final class ChannelDesk: Sendable {
    private struct Line {
        /// Number of channels that APNs has; `nil` before the first list.
        var count: Int?
        var isListing = false
        /// `true` if a claim has asked for a list while one was under way.
        var isAwaited = false
        var tries = 0
        var listAgainAt: MonotonicTime?
        /// Number of consecutive failures of lists, whoever asked for them.
        var watchTries = 0
        /// Time of the next list that no claim asks for; `nil` before the first list.
        var watchAt: MonotonicTime?
        /// `true` if another list follows the one that is under way.
        var isToRepeat = false
        var endedAt: MonotonicTime?
    }

    private struct State {
        /// Fence of the operation that each channel has under way.
        var underWay: [ChannelKey: Int64] = [:]
        var managing = 0
        var deleting = 0
        var deletions = 0
        /// Time from which a creation of an earlier process cannot be on its way any more.
        let startCertainAt: MonotonicTime
        /// Time for each route from which no creation of this process, with a lost answer, can be on its way any more.
        var certainAt: [PushRoute: MonotonicTime] = [:]
        var lines: [PushRoute: Line] = [:]
    }

    private let state: Mutex<State>
    private let limits: ChannelService.Limits

    /// - Parameter now: Start of the process. A process before it may have sent a creation a moment ago.
    init(_ limits: ChannelService.Limits, at now: MonotonicTime) {
        self.limits = limits
        state = Mutex(State(startCertainAt: now + ClaimChannels.lease))
    }

    /// Number of operations that may begin.
    var room: Int { state.withLock { max(0, limits.open - $0.underWay.count) } }
    /// Channels with an operation that has not ended.
    var underWay: Set<ChannelKey> { state.withLock { Set($0.underWay.keys) } }
    /// Number of creations and deletions that may begin. They take half of the room, so that broadcasts have the rest.
    var managementRoom: Int { state.withLock { max(0, limits.open / 2 - $0.managing) } }
    /// Number of deletions that ended; `nil` while one is under way. A list that overlaps one may have its channel.
    var deletions: Int? { state.withLock { $0.deleting == 0 ? $0.deletions : nil } }

    /// Number of channels of each route that was listed.
    var inUse: [PushRoute: Int] { state.withLock { $0.lines.compactMapValues(\.count) } }

    func began(_ errand: ChannelErrand) {
        state.withLock { state in
            state.underWay[errand.channel.key] = errand.fence
            if !errand.flight.isBroadcast { state.managing += 1 }
            if errand.flight.kind == .delete { state.deleting += 1 }
        }
    }

    func ended(_ errand: ChannelErrand) {
        state.withLock { state in
            // The next operation of the channel may have begun already.
            if state.underWay[errand.channel.key] == errand.fence { state.underWay[errand.channel.key] = nil }
            if !errand.flight.isBroadcast { state.managing -= 1 }
            if errand.flight.kind == .delete {
                state.deleting -= 1
                state.deletions += 1
            }
        }
    }

    /// Records that a creation claimed at this time may still be on its way although nobody waits for it any more.
    func doubt(_ route: PushRoute, _ claimedAt: MonotonicTime) {
        state.withLock { state in
            state.certainAt[route] = max(state.certainAt[route] ?? claimedAt, claimedAt + ClaimChannels.lease)
        }
    }

    /// Returns the time until no creation whose answer was lost can be on its way any more; zero if that has come.
    func certainIn(_ route: PushRoute, at now: MonotonicTime) -> Duration {
        state.withLock { state in
            max(.zero, max(state.startCertainAt, state.certainAt[route] ?? state.startCertainAt) - now)
        }
    }

    /// Begins a list that a claim asks for, unless one is under way or failed a moment ago.
    func mayList(_ route: PushRoute, at now: MonotonicTime) -> Bool {
        state.withLock { state in
            var line = state.lines[route] ?? Line()
            defer { state.lines[route] = line }
            if line.isListing { line.isAwaited = true }
            guard !line.isListing, line.listAgainAt.map({ $0 <= now }) ?? true else { return false }
            line.isListing = true
            return true
        }
    }

    // MARK: - Lists that no claim asks for

    /// Begins such a list if it is due and there is room for it. It takes the room of a creation.
    func mayWatch(_ route: PushRoute, at now: MonotonicTime) -> Bool {
        state.withLock { state in
            var line = state.lines[route] ?? Line()
            guard state.managing < limits.open / 2, !line.isListing, line.watchAt.map({ $0 <= now }) ?? true else {
                return false
            }
            line.isListing = true
            state.managing += 1
            state.lines[route] = line
            return true
        }
    }

    /// Returns the time until the next such list; `nil` while the end of an operation or of a list comes first.
    func watchIn(_ routes: [PushRoute], at now: MonotonicTime) -> Duration? {
        state.withLock { state in
            guard state.managing < limits.open / 2 else { return nil }
            let waits = routes.compactMap { route -> Duration? in
                let line = state.lines[route] ?? Line()
                if line.isListing { return nil }
                return line.watchAt.map { max(.zero, $0 - now) } ?? .zero
            }
            return waits.min()
        }
    }

    /// Puts a list off that `mayWatch` has begun and that was not sent.
    func postpone(_ route: PushRoute, until time: MonotonicTime) {
        state.withLock { state in
            state.managing -= 1
            state.lines[route]?.isListing = false
            state.lines[route]?.watchAt = time
        }
    }

    /// Asks for a list of the route soon. No more than one a minute follows from this.
    func watchSoon(_ route: PushRoute, at now: MonotonicTime) {
        state.withLock { state in
            var line = state.lines[route] ?? Line()
            line.isToRepeat = line.isListing
            let soon = line.endedAt.map { max(now, $0 + ClaimChannels.listingPause) } ?? now
            line.watchAt = min(line.watchAt ?? soon, soon)
            state.lines[route] = line
        }
    }

    // MARK: - The end of a list

    /// Records the number of channels in a list.
    func found(_ count: Int, on route: PushRoute) { state.withLock { $0.lines[route, default: Line()].count = count } }

    /// Ends a list. A failed one is repeated after a pause, or when the next claim asks for one.
    ///
    /// - Parameter isAsked: `true` if a claim has asked for the list. If it failed, the number of channels is unknown,
    ///   and a claim's next list waits for a pause too.
    func listed(_ route: PushRoute, isTaken: Bool, isAsked: Bool, at now: MonotonicTime, dice: Double) {
        state.withLock { state in
            if !isAsked { state.managing -= 1 }
            var line = state.lines[route] ?? Line()
            if isTaken {
                (line.tries, line.listAgainAt) = (0, nil)
                line.watchTries = 0
                line.watchAt = line.isToRepeat ? now + ClaimChannels.listingPause : now + limits.relist
                line.isToRepeat = false
            } else {
                line.watchTries += 1
                // A channel that was claimed during the list may have missed its failure, and waits for another list.
                let pause =
                    line.isAwaited
                    ? RetryDelay.lane(tries: line.watchTries, dice: dice)
                    : RetryDelay.service(tries: line.watchTries, dice: dice)
                line.watchAt = now + pause
            }
            if !isTaken, isAsked {
                (line.count, line.tries) = (nil, line.tries + 1)
                line.listAgainAt = now + RetryDelay.lane(tries: line.tries, dice: dice)
            }
            line.isListing = false
            line.isAwaited = false
            line.endedAt = now
            state.lines[route] = line
        }
    }

    /// Keeps the number of channels, without a list after each change.
    func settled(_ errand: ChannelErrand, _ outcome: SettleChannel.Outcome, _ reply: SettleChannel.Reply) {
        let change: Int
        if case .created = outcome { change = 1 } else if reply.isDeleted { change = -1 } else { return }
        state.withLock { state in
            guard let count = state.lines[errand.channel.route]?.count else { return }
            state.lines[errand.channel.route]?.count = max(0, count + change)
        }
    }
}
