import APNSModel

extension Draft {
    /// Returns the loaded channels of an activity, of every run.
    package func channels(of activity: ActivityNumber) -> [ChannelRecord] {
        guard !snapshot.channels.isEmpty else { return [] }
        return snapshot.channels.values.filter { $0.key.activity == activity }.sorted { $0.key < $1.key }
    }

    package mutating func put(_ channel: ChannelRecord) {
        guard snapshot.channels[channel.key] != channel else { return }
        write(channel, at: channel.key, \.channels, \.channels, removed: \.removedChannels)
    }

    package mutating func removeChannel(_ key: ChannelKey) {
        erase(key, \.channels, \.channels, removed: \.removedChannels)
    }

    package mutating func put(_ stranger: StrangerKey) {
        guard snapshot.strangers.insert(stranger).inserted else { return }
        if !unmark(stranger, \.removedStrangers) { mark(stranger, \.strangers) }
        onRefusal { draft in draft.snapshot.strangers.remove(stranger) }
    }

    package mutating func remove(_ stranger: StrangerKey) {
        guard snapshot.strangers.remove(stranger) != nil else { return }
        if !unmark(stranger, \.strangers) { mark(stranger, \.removedStrangers) }
        onRefusal { draft in draft.snapshot.strangers.insert(stranger) }
    }

    /// Records that a card of the activity waits for a channel before it starts.
    mutating func awaitChannel(_ desired: DesiredSituation, for phone: PhoneSituation, at now: UnixTime) {
        guard let environment = phone.pushToStartToken?.environment else { return }
        awaitChannel(desired, in: environment, at: now)
    }

    /// Asks for a channel if the card that the app is about to start could be on one.
    mutating func awaitChannel(
        ofApp device: DeviceRecord, _ activity: ActivityRecord, _ app: AppSettings, at now: UnixTime
    ) {
        guard app.hasChannels, activity.phase == .active, let desired = desired(activity.number, app),
            desired.routeOfApp(on: device.facts) == .pending
        else { return }
        let environment = device.environment ?? .production
        if let channel = desired.channel(in: environment), channel.life != .wanted { return }
        awaitChannel(desired, in: environment, at: now)
    }

    /// Records that an app was given a channel to start a card on. Nobody may ever report that card.
    mutating func giveOut(_ id: ChannelID, of activity: ActivityRecord) {
        guard var channel = channels(of: activity.number).first(where: { $0.id == id }), !channel.hasCards else {
            return
        }
        channel.start(activity.revision, timestamp: channel.timestamp)
        put(channel)
    }

    /// Records that the app's card is on a channel of the server.
    mutating func seeCard(_ card: CardMachine, at now: UnixTime) {
        guard let id = card.channel, var channel = channels(of: card.activity).first(where: { $0.id == id }) else {
            return
        }
        channel.seeCard(showing: card.heldRevision, at: now)
        put(channel)
    }

    /// Asks for the channel of the present run in an environment.
    mutating func awaitChannel(_ desired: DesiredSituation, in environment: APNSEnvironment, at now: UnixTime) {
        let (activity, type) = (desired.activity, desired.type)
        let key = ChannelKey(activity.number, environment, run: activity.run)
        var channel =
            snapshot.channels[key] ?? ChannelRecord(key, app: activity.app, storage: type.policy.channelStorage)
        channel.await(at: now)
        put(channel)
        guard let known = snapshot.activities[activity.number], !known.hasChannels else { return }
        var marked = known
        marked.hasChannels = true
        put(marked)
    }

    /// Looks at the phones that waited for a channel, once it is decided how their cards start.
    mutating func callWaiting(_ channel: inout ChannelRecord, at now: UnixTime) {
        guard channel.isAwaited else { return }
        channel.callWaiting()
        guard let activity = snapshot.activities[channel.key.activity], activity.run == channel.key.run else { return }
        beginLap(of: activity, at: now)
    }

    /// Looks at the phones whose cards of an earlier run the channel's end concerned. The present run may begin there.
    mutating func beginLap(after channel: ChannelRecord, at now: UnixTime) {
        guard let activity = snapshot.activities[channel.key.activity], activity.run != channel.key.run else { return }
        beginLap(of: activity, at: now)
    }

    /// Begins a lap that waits for no coalescing window, because its state is not new.
    private mutating func beginLap(of activity: ActivityRecord, at now: UnixTime) {
        guard activity.phase == .active else { return }
        var activity = activity
        activity.lap += 1
        activity.begunLap = activity.lap
        activity.wakeAt = now
        put(activity)
    }

    /// Makes the activity's channels due, because something about the activity has changed.
    mutating func lookAtChannels(of activity: ActivityRecord) {
        for var channel in channels(of: activity.number) {
            channel.look(at: activity.wakeAt ?? activity.changedAt)
            put(channel)
        }
    }

    /// Records the loss of an operation in the timeline.
    mutating func recordRescue(of channel: ChannelRecord, at now: UnixTime) {
        guard let activity = snapshot.activities[channel.key.activity], let flight = channel.flight else { return }
        record(
            HistoryEntry(
                flight.kind.historyKind, at: now, revision: flight.revision, timestamp: flight.timestamp,
                carriesAlert: flight.alertRevision > 0, outcome: Reason(.rescued),
                detail: channel.key.environment.rawValue),
            of: activity)
    }

    /// Records in the timeline that no channel is made now, without a call to APNs.
    mutating func recordRefusal(of channel: ChannelRecord, _ reason: Reason, at now: UnixTime) {
        guard let activity = snapshot.activities[channel.key.activity] else { return }
        record(
            HistoryEntry(
                .channelMade, at: now, revision: 0, outcome: reason, detail: channel.key.environment.rawValue),
            of: activity)
    }

    /// Returns the number of an activity's phones, by its loaded lanes.
    func phoneCount(of activity: ActivityNumber) -> Int {
        (snapshot.lanes[activity] ?? []).reduce(0) { $0 + $1.counts.total }
    }

    /// Returns the desired state of an activity; `nil` if it is not there, or its type is not configured.
    func desired(_ number: ActivityNumber, _ app: AppSettings) -> DesiredSituation? {
        guard let activity = snapshot.activities[number], activity.app == app.bundleID,
            let type = app.types[activity.type], let content = snapshot.contents[number]
        else { return nil }
        return DesiredSituation(activity, type, content, self)
    }

    /// `true` if the commit leaves an operation on a channel that no process has claimed, due now or later.
    package var makesChannelDue: Bool {
        changes.channels.contains { key in
            guard let channel = snapshot.channels[key] else { return false }
            return channel.flight == nil && channel.dueAt != nil
        }
    }
}

extension DesiredSituation {
    /// Adds what the draft knows of the activity's channels and of the number of its phones.
    mutating func take(_ draft: Draft) {
        guard type.policy.delivery != .token || activity.hasChannels else { return }
        channels = draft.channels(of: activity.number)
        phones = draft.phoneCount(of: activity.number)
    }
}

extension DesiredSituation {
    /// Creates the situation with what the draft knows of the activity's channels.
    package init(_ activity: ActivityRecord, _ type: ActivityType, _ content: ContentRecord, _ draft: Draft) {
        self.init(activity, type, content)
        take(draft)
    }

    /// Returns the newest alert that may have come to the phone's last card by its channel; 0 if none did.
    func alerted(onChannelOf phone: PhoneSituation) -> Revision {
        guard (activity.alert?.onChannels ?? .broadcast) == .broadcast else { return 0 }
        let card = phone.card
        let last = card.lastChannel.flatMap(channel)?.alertedRevision ?? 0
        // The app may have started its card on the run's channel, and the report of it may be lost.
        guard card.state == .requesting, card.run == activity.run, phone.device.takesChannels,
            let asked = channel(in: phone.device.environment ?? .production)
        else { return last }
        return max(last, asked.alertedRevision)
    }
}

extension Draft {
    /// Records a start on a channel. Its timestamp is not less than that of a broadcast before, so a message that APNs
    /// has stored does not replace what the start shows.
    mutating func claimStart(on id: ChannelID, of activity: ActivityRecord, _ plan: PushPlan, _ timestamp: inout Int64)
    {
        guard var channel = channels(of: activity.number).first(where: { $0.id == id }) else { return }
        timestamp = max(timestamp, channel.timestamp)
        channel.start(plan.revision, timestamp: timestamp)
        put(channel)
    }
}
