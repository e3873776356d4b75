package import APNSModel

/// Takes APNs's list of an app's channels. Creations of unknown fate get the ids that nobody else has.
///
/// An id that no creation of this server explains belongs to somebody else. It is remembered, and never used. Only a
/// person may have it deleted.
package struct TakeChannelList: Command {
    package struct Reply: Sendable, Equatable {
        /// Number of creations of unknown fate whose channel was found.
        package var found = 0
        /// Number of channels in the list that this server has not made.
        package var foreign = 0
        /// `false` if the list has unknown ids of which it does not tell whose they are.
        package var isJudged = true
    }

    package let route: PushRoute
    package let ids: [ChannelID]
    /// `true` if no call of a lost creation can have been on its way when the list was asked for. Otherwise the list
    /// tells nothing about those creations.
    package let isCertain: Bool
    /// `false` if a channel was deleted while the list was asked for. Its unknown ids may be of channels that are gone.
    package let isWhole: Bool
    package let now: UnixTime

    package init(
        _ route: PushRoute, _ ids: [ChannelID], isCertain: Bool = true, isWhole: Bool = true, now: UnixTime
    ) {
        self.route = route
        self.ids = ids
        self.isCertain = isCertain && isWhole
        self.isWhole = isWhole
        self.now = now
    }

    package static var mayBeRefused: Bool { false }
    package var rank: CommandRank { .write }
    package var keys: [SnapshotKey] { [.channels(route)] }

    package func decide(_ draft: inout Draft) throws(Refusal) -> Reply {
        var reply = Reply()
        let listed = Set(ids)
        let channels = draft.snapshot.channels.values.filter { $0.route == route }.sorted { $0.key < $1.key }
        let own = Set(channels.compactMap(\.id))
        let strangers = draft.snapshot.strangers.filter { $0.route == route }
        for stranger in strangers where !listed.contains(stranger.id) { draft.remove(stranger) }
        let others = ids.filter { !own.contains($0) && !strangers.contains(StrangerKey(route, $0)) }
        let unknown = isWhole ? others : []
        let lost = channels.filter { $0.life == .lost && $0.flight == nil }
        // A creation that is on its way may have made one of the unknown, or makes one after the list.
        let isSettled =
            !channels.contains { $0.flight?.kind == .create }
            && (lost.isEmpty || isCertain && !lost.contains { $0.waitsUntil(at: now) != nil })
        // If somebody else makes channels too, nobody can tell which are whose, and the lost ones are made anew. The
        // same holds if they store differently, because the list does not say which stores what.
        let isOurs =
            unknown.count <= lost.count && !strangers.contains { listed.contains($0.id) }
            && Set(lost.map(\.storage)).count <= 1
        let adopted = isSettled && isOurs ? unknown : []
        for (channel, id) in zip(lost, adopted.map(Optional.some) + Array(repeating: nil, count: lost.count)) {
            guard isSettled else { break }
            var channel = channel
            if let id {
                channel.open(id)
                draft.callWaiting(&channel, at: now)
                reply.found += 1
            } else {
                channel.missCreation()
            }
            channel.look(at: now)
            draft.put(channel)
        }
        if isSettled, adopted.isEmpty { for id in unknown { draft.put(StrangerKey(route, id)) } }
        for channel in channels where channel.life == .wanted && channel.flight == nil {
            var channel = channel
            channel.look(at: now)
            draft.put(channel)
        }
        reply.isJudged = others.isEmpty || isWhole && isSettled
        // While a creation is on its way, an unknown id may be its channel.
        reply.foreign = (isSettled ? unknown.count - reply.found : 0) + strangers.count { listed.contains($0.id) }
        return reply
    }
}

/// Key of a channel that APNs lists and that this server has not made.
package struct StrangerKey: Sendable, Hashable, Comparable {
    package let route: PushRoute
    package let id: ChannelID

    package init(_ route: PushRoute, _ id: ChannelID) {
        self.route = route
        self.id = id
    }

    package static func < (left: Self, right: Self) -> Bool {
        (left.route, left.id.text) < (right.route, right.id.text)
    }
}

/// Records that no channel of a route can be made or found now, because its list cannot be read.
///
/// Cards that `auto` would put on a channel start with update tokens: at once, or after some tries where a channel may
/// have been made.
package struct RefuseChannels: Command {
    package let route: PushRoute
    package let error: BroadcastError
    package let now: UnixTime

    package init(_ route: PushRoute, _ error: BroadcastError, now: UnixTime) {
        self.route = route
        self.error = error
        self.now = now
    }

    package static var mayBeRefused: Bool { false }
    package var rank: CommandRank { .write }
    package var keys: [SnapshotKey] { [.channels(route)] }

    package func decide(_ draft: inout Draft) throws(Refusal) -> Int {
        let waiting = draft.snapshot.channels.values
            .filter { $0.route == route && $0.id == nil && $0.flight == nil && $0.waitsUntil(at: now) == nil }
            .sorted { $0.key < $1.key }
        // A fault that passes is tried again sooner than one that a person must mend.
        let pause = error.mayRetryLater || error.mayHaveHappened ? RetryDelay.halted : ChannelReconciler.refusalPause
        let reason = Reason(.channelRefused, error.reason?.rawValue ?? "\(error.code)")
        for var channel in waiting {
            // The list is asked for again after each pause. The timeline has one entry while the answer is the same.
            if channel.reason != reason { draft.recordRefusal(of: channel, reason, at: now) }
            if channel.life == .lost {
                channel.fail(at: now + pause, reason, counts: true)
            } else {
                channel.refuse(reason, retryAt: now + pause)
            }
            if channel.life == .refused || channel.tries >= DesiredSituation.channelPatience {
                draft.callWaiting(&channel, at: now)
            }
            draft.put(channel)
        }
        return waiting.count
    }
}
