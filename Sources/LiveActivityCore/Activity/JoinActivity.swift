package import APNSModel

/// Caller whose app wants to start a card of an activity itself.
package enum Joiner: Sendable, Hashable {
    /// The app's backend, for whomever it asks.
    case backend
    /// A person, on a phone that the call does not name.
    case person(UserID)
    /// A phone, for the person who is signed in there.
    case phone(DeviceKey, UserID)
    /// Somebody without a credential.
    case anybody

    /// Person who wants to join; `nil` if the caller names nobody.
    var user: UserID? {
        switch self {
        case .backend, .anybody: nil
        case .person(let user), .phone(_, let user): user
        }
    }
}

/// Everything that an app needs to start a card of an activity itself.
package struct JoinOffer: Sendable, Equatable {
    package let activity: ActivityRecord
    package let content: ContentRecord
    package let policy: TypePolicy
    /// Card of the phone that called; `nil` if it has none, or if no phone called.
    package fileprivate(set) var card: CardMachine?
    /// `true` if the app may start a card now.
    package fileprivate(set) var mayStart = false
    /// Broadcast channel for the card; `nil` if the card gets an update token.
    package fileprivate(set) var channel: ChannelID?
    /// Newest timestamp of the channel, in seconds; 0 if there is none.
    package fileprivate(set) var timestamp: Int64 = 0
    /// Time after which the app may ask again for the channel that is being made; `nil` if none is.
    package fileprivate(set) var retryAfter: Duration?

    init(_ activity: ActivityRecord, _ content: ContentRecord, _ policy: TypePolicy) {
        self.activity = activity
        self.content = content
        self.policy = policy
    }
}

/// Tells an app what it needs to start a card of an activity itself.
///
/// The command changes something in two cases only. The first caller of a run and environment has the channel made,
/// and the first who is given the channel has its broadcasts begin. So whoever may join can have one channel made for
/// each run and environment, however often they ask.
///
/// An activity that the caller may not join is refused like one that does not exist.
package struct JoinActivity: Command {
    /// Time in which APNs mostly has made a channel.
    package static let channelPause = Duration.seconds(2)

    package let app: AppSettings
    package let id: ActivityID
    package let joiner: Joiner
    /// Environment of the app's build, if no phone says it; `nil` for the app's default.
    package let environment: APNSEnvironment?
    package let now: UnixTime

    package init(
        app: AppSettings, id: ActivityID, joiner: Joiner, environment: APNSEnvironment? = nil, now: UnixTime
    ) {
        self.app = app
        self.id = id
        self.joiner = joiner
        self.environment = environment
        self.now = now
    }

    package var rank: CommandRank { .write }
    package var keys: [SnapshotKey] {
        let activity = SnapshotKey.activity(app.bundleID, id)
        guard let user = joiner.user else { return [activity] }
        return [activity, .audience(app.bundleID, id, [user])]
    }

    package func decide(_ draft: inout Draft) throws(Refusal) -> JoinOffer {
        guard let activity = draft.activity(app.bundleID, id), activity.phase != .announced,
            let content = draft.snapshot.contents[activity.number], let type = app.types[activity.type],
            mayJoin(activity, type, draft)
        else { throw .unknownActivity(id) }
        let phone = try phone(draft)
        guard activity.phase == .active else { throw .activityEnded(id) }
        var offer = JoinOffer(activity, content, type.policy)
        if let phone, let card = draft.snapshot.cards[.init(activity.number, phone.key)], card.isWanted {
            offer.card = card
        }
        offer.mayStart = mayStart(activity, phone, offer.card)
        guard offer.mayStart else { return offer }
        let desired = DesiredSituation(activity, type, content, draft)
        let environment = phone.map { $0.environment ?? .production } ?? self.environment ?? app.defaultEnvironment
        switch phone.map({ desired.routeOfApp(on: $0.facts) }) ?? desired.routeOfApp(in: environment) {
        case .token:
            guard case .anybody = joiner else { break }
            // Nobody could report the update token of this card, so nobody could change it or end it.
            offer.mayStart = false
            if desired.takesChannels { offer.retryAfter = pause(before: desired.channel(in: environment)) }
        case .channel(let channel):
            offer.channel = channel
            offer.timestamp = desired.channel(channel)?.timestamp ?? 0
            draft.giveOut(channel, of: activity)
        case .pending:
            // Without a key for the environment, nobody would make the channel.
            guard app.environments.contains(environment) else { break }
            offer.retryAfter = pause(before: desired.channel(in: environment))
            draft.awaitChannel(desired, in: environment, at: now)
        }
        return offer
    }

    // MARK: - Who may join

    private func mayJoin(_ activity: ActivityRecord, _ type: ActivityType, _ draft: Draft) -> Bool {
        switch joiner {
        case .backend: true
        case .person(let user), .phone(_, let user):
            type.policy.join.isOpen || isMember(user, of: activity, draft)
        case .anybody: type.policy.join == .anonymous
        }
    }

    private func isMember(_ user: UserID, of activity: ActivityRecord, _ draft: Draft) -> Bool {
        guard let number = draft.snapshot.users[.init(app.bundleID, user)] else { return false }
        return draft.snapshot.members[activity.number]?.contains(number) == true
    }

    /// Returns the phone that called; `nil` if none did.
    ///
    /// - Throws: `unknownActivity` if its person is no longer signed in there. The call was let in a moment before.
    private func phone(_ draft: Draft) throws(Refusal) -> DeviceRecord? {
        guard case .phone(let key, let user) = joiner else { return nil }
        guard let device = draft.snapshot.devices[key], device.userID == user, device.signedOutAt == nil else {
            throw .unknownActivity(id)
        }
        return device
    }

    // MARK: - What the app may do

    /// Returns `true` if the app may start a card: no other is there, and the backend has not ruled it out.
    ///
    /// With `lastActive`, the person's other devices make no difference, because this one asks by itself.
    private func mayStart(_ activity: ActivityRecord, _ phone: DeviceRecord?, _ card: CardMachine?) -> Bool {
        guard activity.start != .never else { return false }
        if let card, card.run == activity.run, card.state.mayHaveCard { return false }
        if case .backend = joiner { return true }
        return switch activity.devices {
        case .lastActive, .all: true
        case .only(let ids): phone.map { ids.contains($0.id) } ?? false
        case .one(let id): phone?.id == id
        }
    }

    private func pause(before channel: ChannelRecord?) -> Duration {
        guard let until = channel?.waitsUntil(at: now) else { return Self.channelPause }
        return max(Self.channelPause, until - now)
    }
}
