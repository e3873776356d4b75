import APNSModel
import JSONText
import LiveActivityCore
import LiveActivityDelivery
import LiveActivityStorage
import TestSupport

/// Apple's broadcast channels, and what was sent to them.
struct VirtualChannels {
    struct Channel {
        var app: BundleID
        var environment: APNSEnvironment
        var policy: MessageStoragePolicy
        /// Newest message, for phones that are offline, and who subscribes late.
        var stored: BroadcastRequest?
    }

    /// A broadcast, by its channel and timestamp. A channel uses no timestamp twice.
    struct Key: Hashable {
        var channel: ChannelID
        var timestamp: Int64
    }

    var all: [ChannelID: Channel] = [:]
    var claimed: [Key: ChannelErrand] = [:]
    private var made = 0

    mutating func make(_ app: BundleID, _ environment: APNSEnvironment, _ policy: MessageStoragePolicy) -> ChannelID {
        made += 1
        let id = ChannelID("MADE\(1000 + made)").unsafelyUnwrapped
        all[id] = Channel(app: app, environment: environment, policy: policy)
        return id
    }
}

// MARK: - Apple's side

extension World {
    private static let unknown = BroadcastError(.refused(status: 400, reason: .known(.channelNotRegistered)), "")

    /// Takes a broadcast as APNs does, and passes it on to the phones.
    func broadcast(_ request: BroadcastRequest) -> Result<Void, BroadcastError> {
        guard channels.all[request.channelID] != nil else { return .failure(Self.unknown) }
        count(.broadcast)
        note("APNs", "takes a broadcast to \(request.channelID)")
        if let until = request.storedUntil, until > trueTime { channels.all[request.channelID]?.stored = request }
        for phone in phones where phone.isOnline && phone.subscribes(to: request.channelID) {
            // APNs promises no delivery, and no order.
            if chance(200, in: 1000) {
                count(.broadcastLost)
                continue
            }
            let delay: Int64 = isCalm ? 5 : pick([5, 5, 20, 200, 3000])
            after(delay) { [self] in arrive(request, at: phone) }
        }
        return .success(())
    }

    private func arrive(_ request: BroadcastRequest, at phone: Phone) {
        guard phone.isOnline, let aps = (try? JSONValue(parsing: request.payload.bytes))?.object?["aps"]?.object,
            let timestamp = aps["timestamp"]?.int,
            let errand = channels.claimed[.init(channel: request.channelID, timestamp: Int64(timestamp))]
        else { return }
        for index in phone.cards.indices where phone.cards[index].channel == request.channelID {
            let effect = phone.change(index, aps, revision: errand.flight.revision, in: self)
            see(.broadcastArrived(errand, phone, effect))
            note(phone.name, "broadcast r\(errand.flight.revision) ts \(timestamp): \(effect)")
        }
    }

    /// Delivers what APNs has stored for the phone's channels.
    func deliverStored(to phone: Phone, of channel: ChannelID? = nil) {
        for id in Set(phone.cards.filter { !$0.isOver }.compactMap(\.channel)).sorted(by: { $0.text < $1.text })
        where channel == nil || channel == id {
            guard let stored = channels.all[id]?.stored, let until = stored.storedUntil, until > trueTime else {
                continue
            }
            arrive(stored, at: phone)
        }
    }

    /// Returns the newest timestamp of the broadcasts that were claimed for a channel, in seconds; 0 for none.
    func newestTimestamp(on channel: ChannelID) -> Int64 {
        channels.claimed.keys.lazy.filter { $0.channel == channel }.map(\.timestamp).max() ?? 0
    }

    func make(_ app: BundleID, _ environment: APNSEnvironment, _ policy: MessageStoragePolicy) -> ChannelID {
        let id = channels.make(app, environment, policy)
        note("APNs", "makes channel \(id)")
        return id
    }

    func delete(_ channel: BroadcastChannel) -> Result<Void, BroadcastError> {
        guard channels.all.removeValue(forKey: channel.id) != nil else { return .failure(Self.unknown) }
        note("APNs", "deletes channel \(channel.id)")
        return .success(())
    }

    func list(_ app: BundleID, _ environment: APNSEnvironment) -> [ChannelID] {
        channels.all.filter { $0.value.app == app && $0.value.environment == environment }.keys
            .sorted { $0.text < $1.text }
    }

    /// Returns the channel that the answer names for a card which the app is about to start.
    func channelForApp(_ subject: Scenery.Subject, on phone: Phone) -> ChannelID? {
        guard let activity = activity(subject), let content = store.rows.contents[activity.number],
            let device = store.rows.devices[phone.key]
        else { return nil }
        let part = store.load([.activity(activity.app, activity.id)])
        let desired = DesiredSituation(activity, scenery.type(of: subject), content, Draft(part))
        if case .channel(let id) = desired.routeOfApp(on: device.facts) { return id }
        return nil
    }

    /// Wakes the channel loops if a commit made an operation due.
    func wakeChannels() {
        let isDue = store.lastChanges.channels.contains { key in
            store.rows.channels[key].map { $0.flight == nil && $0.dueAt != nil } ?? false
        }
        guard isDue else { return }
        for node in nodes where node.isAlive { node.channelWakeUp?.yield() }
    }

    /// Records claimed operations, so that a broadcast is known when it arrives.
    func watch(_ reply: ClaimChannels.Reply, _ node: Node) {
        if reply.rescued > 0 { count(.channelRescued) }
        for errand in reply.errands {
            note(
                node.name,
                "claims \(errand.flight.kind) r\(errand.flight.revision) ts \(errand.flight.timestamp) of channel "
                    + "\(errand.channel.id?.text ?? "-") run \(errand.channel.key.run)")
            if let id = errand.channel.id, errand.flight.isBroadcast {
                channels.claimed[.init(channel: id, timestamp: errand.flight.timestamp)] = errand
            }
            see(.claimedChannel(errand, node))
        }
    }
}

extension Phone {
    func subscribes(to channel: ChannelID) -> Bool { cards.contains { $0.channel == channel && !$0.isOver } }

    /// Ends cards on the server's channels that are duplicates. The app does it when it sees its cards, so it mostly
    /// never reports such a card as running.
    func endDuplicates(in world: World) {
        for index in cards.indices where !cards[index].isOver && isDuplicate(index) {
            world.note(name, "ends \(cards[index].local), beside which another card stays")
            close(index, in: world)
            report(index, .duplicate, in: world)
        }
    }

    /// Returns `true` if the card is on a channel of the server's, and another card of its activity stays.
    func isDuplicate(_ index: Int) -> Bool {
        guard let channel = cards[index].channel, channel != Sample.channel else { return false }
        return cards.indices.contains { other in
            other != index && !cards[other].isOver && cards[other].activity == cards[index].activity
                && stays(other, before: index)
        }
    }

    /// Returns `true` if the first of two cards of an activity stays. As in `LiveActivityClient` that is one with a
    /// token, then one that the app started, then the newer one.
    ///
    /// A card on a channel of the app's own is apart. The server itself ends a card of an earlier run.
    private func stays(_ one: Int, before other: Int) -> Bool {
        guard cards[one].run == cards[other].run, cards[one].channel != Sample.channel else { return one > other }
        if (cards[one].token != nil) != (cards[other].token != nil) { return cards[one].token != nil }
        if cards[one].isApps != cards[other].isApps { return cards[one].isApps }
        return one > other
    }

    /// Applies what the server's answers say about cards on its channels, as `LiveActivityClient` does.
    func applyAnswer(in world: World) {
        for index in cards.indices where !cards[index].isOver {
            guard let channel = cards[index].channel, channel != Sample.channel else { continue }
            let subject = world.subjects.first { $0.app == app.bundleID && $0.id == cards[index].activity }
            guard let subject, let activity = world.activity(subject) else { continue }
            let row = world.store.rows.cards[.init(activity.number, key)]
            let answer = row?.contactAnswer(of: activity, on: Sample.device(device)) ?? .nothing
            let isDuplicate = isDuplicate(index)
            if answer == .nothing, !isDuplicate { continue }
            guard answer != .end, activity.phase == .active, !isDuplicate else {
                world.note(name, "ends \(cards[index].local), as the answer says")
                world.count(.endedAtContact)
                close(index, in: world)
                report(index, isDuplicate ? .duplicate : .ended, in: world)
                continue
            }
            // A state of the app's own stays for a minute.
            let isOwnOver =
                cards[index].step < 0 && (cards[index].ownTimestamp ?? 0) + 60 < time(in: world).seconds
            // Also a card of an earlier run shows the state, until the next run's card takes its place.
            guard cards[index].revision < activity.revision || isOwnOver else { continue }
            world.count(.caughtUpAtContact)
            world.note(name, "shows r\(activity.revision) on \(cards[index].local), as the answer says")
            cards[index].step = world.step(of: subject)
            cards[index].revision = activity.revision
            // The answer names the newest timestamp of a broadcast (`lastTimestamp`), which the app's own exceeds.
            let sent = row?.subscription == channel ? world.newestTimestamp(on: channel) : 0
            cards[index].timestamp = max(max(cards[index].timestamp, sent) + 1, time(in: world).seconds)
        }
    }
}

// MARK: - The server's side

extension Node {
    /// Returns the loop of broadcast channels, as in the server.
    func channelLoop() -> ChannelService? {
        guard world.scenery.apps.contains(where: \.hasChannels) else { return nil }
        return ChannelService(
            store: NodeStore(node: self), sender: NodeSender(node: self), apps: world.scenery.apps, time: time,
            clock: VirtualClock(node: self), node: number, dice: { [world] in world.dice.next() },
            faultPoints: FaultPoints { [unowned self] in self.reach($0) }, logger: logger)
    }
}

extension NodeStore: ChannelStore {
    var channelWakeUps: AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        node.channelWakeUp = continuation
        return stream
    }

    func nextChannelAt() async throws(StorageError) -> UnixTime? {
        try await read()
        return node.world.store.nextChannelAt
    }
}

/// Calls of a process about channels. Each is answered, refused, or lost on the way there or back.
extension NodeSender: ChannelSender {
    func send(_ request: BroadcastRequest, within limit: Duration) async throws(BroadcastError) {
        try await call(within: limit) { $0.broadcast(request) }
    }

    func createChannel(
        of bundleID: BundleID, in environment: APNSEnvironment, storing policy: MessageStoragePolicy,
        within limit: Duration
    ) async throws(BroadcastError) -> ChannelID {
        try await call(within: limit) { .success($0.make(bundleID, environment, policy)) }
    }

    func deleteChannel(_ channel: BroadcastChannel, within limit: Duration) async throws(BroadcastError) {
        try await call(within: limit) { $0.delete(channel) }
    }

    func listChannels(
        of bundleID: BundleID, in environment: APNSEnvironment, within limit: Duration
    ) async throws(BroadcastError) -> [ChannelID] {
        try await call(within: limit) { .success($0.list(bundleID, environment)) }
    }

    private enum Fate { case works, refused(BroadcastReason.Known), lostThere, lostBack, late, notConnected }

    private func fate() -> Fate {
        let world = node.world
        guard !world.isCalm else { return .works }
        switch world.apns.weather {
        case .errors where world.dice.chance(60): return .refused(.serviceUnavailable)
        case .silence where world.dice.chance(60): return world.dice.chance(50) ? .lostThere : .lostBack
        case .crowded where world.dice.chance(60): return .refused(.tooManyRequests)
        case .refusing where world.dice.chance(60): return .notConnected
        case .keyRefused where world.dice.chance(90): return .refused(.invalidProviderToken)
        default: break
        }
        return switch world.dice.roll(100) {
        case 0..<3: .lostThere
        case 3..<7: .lostBack
        case 7..<9: .late
        case 9..<11: .refused(.tooManyRequests)
        case 11..<13: .refused(.internalServerError)
        case 13..<15: .notConnected
        case 15..<16: .refused(.featureNotEnabled)
        default: .works
        }
    }

    private func call<Value>(
        within limit: Duration, _ perform: @escaping (World) -> Result<Value, BroadcastError>
    ) async throws(BroadcastError) -> Value {
        let (world, fate) = (node.world, fate())
        let until = world.now + limit.wholeMilliseconds
        await wait(until: world.now + Int64(world.isCalm ? 1 : 1 + world.dice.roll(60)))
        let arrives = node.isAlive || world.chance(50)
        switch fate {
        case .works:
            guard arrives else { throw BroadcastError(.stopping, "the process is gone") }
            let result = perform(world)
            await wait(until: min(until, world.now + (world.isCalm ? 5 : world.pick([5, 20, 300, 4000]))))
            return try result.get()
        case .refused(let reason):
            world.count(.channelCallRefused)
            throw BroadcastError(.refused(status: reason.status, reason: .known(reason)), "")
        case .notConnected: throw BroadcastError(.cannotConnect, "refused")
        case .lostThere: world.count(.channelCallLost)
        case .lostBack:
            world.count(.channelCallLost)
            if arrives { _ = perform(world) }
        case .late:
            world.count(.channelCallLost)
            if arrives { world.after(world.pick([1000, 9000, 25_000])) { _ = perform(world) } }
        }
        await wait(until: until)
        throw BroadcastError(.unknownFate, "no answer")
    }

    private func wait(until time: Int64) async { try? await node.rest(until: time) }
}
