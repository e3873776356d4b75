package import APNSModel

/// Way in which a card gets its states. It is decided when the card starts, and stays.
package enum CardRoute: Sendable, Hashable {
    /// The card has an update token of its own. The cause is `nil` if the type's `delivery` is `token`.
    case token(TokenCause?)
    /// The card shows what is sent to the channel.
    case channel(ChannelID)
    /// The card waits until APNs has a channel for it.
    case pending
}

/// Cause for which a card has an update token although the `delivery` of its type takes channels.
///
/// The raw values are arguments of stored reasons.
package enum TokenCause: String, Sendable, CaseIterable {
    /// The phone's system or its app cannot show cards on channels.
    case phone = "phone-cannot"
    case provider = "provider"
    case olderContracts = "older-contracts"
    case oneDevice = "one-device"
    /// `auto` takes no channel for so few phones.
    case fewPhones = "few-phones"
    /// `auto` does not wait for a channel that cannot be made now.
    case noChannel = "no-channel"
    /// `auto` leaves the rest of the app's channels to others.
    case channelsInUse = "channels-in-use"

    /// Words for a person, to follow "because".
    package var text: String {
        switch self {
        case .phone: "the phone's iOS or app cannot follow a broadcast channel"
        case .provider: "a provider computes what each person sees"
        case .olderContracts: "builds of the app decode different states"
        case .oneDevice: "the activity is for one device alone"
        case .fewPhones: "the activity has fewer than \(DesiredSituation.channelAudience) phones"
        case .noChannel: "no broadcast channel can be made now"
        case .channelsInUse: "8,000 of the app's 10,000 broadcast channels are in use"
        }
    }
}

/// Cause for which a card is on a channel.
///
/// The raw values are arguments of stored reasons.
package enum ChannelCause: String, Sendable, CaseIterable {
    /// The type's `delivery` is `channel`.
    case delivery = "delivery-channel"
    /// `auto` takes a channel for so many phones.
    case manyPhones = "many-phones"
    /// `auto` takes a channel where everybody may join.
    case openJoin = "open-join"
    /// `auto` keeps to the channel that the run has already.
    case hasChannel = "has-channel"

    /// Words for a person, to follow "because".
    package var text: String {
        switch self {
        case .delivery: "its type says so"
        case .manyPhones: "the activity has at least \(DesiredSituation.channelAudience) phones"
        case .openJoin: "everybody may join the activity"
        case .hasChannel: "the activity has a channel already"
        }
    }
}

extension Reason {
    /// Cause for which the started card is on a channel; `nil` if the reason names none.
    package var channelCause: ChannelCause? {
        guard code == .firstOnChannel, arguments.count > 1 else { return nil }
        return ChannelCause(rawValue: arguments[1])
    }

    /// Cause for which the started card has an update token; `nil` if the reason names none.
    package var tokenCause: TokenCause? {
        guard code == .firstState, let word = arguments.first else { return nil }
        return TokenCause(rawValue: word)
    }

    /// `true` if `auto` makes no channel because too many of the app's are in use.
    var isOfChannelsInUse: Bool {
        guard code == .channelRefused, let word = arguments.first else { return false }
        return word.hasSuffix(ClaimChannels.inUseSuffix)
    }
}

/// Way in which the states of a type reach the phones.
package enum DeliveryMode: String, Sendable, CaseIterable {
    /// Each card has an update token.
    case token
    /// Cards are on a channel wherever the phone can.
    case channel
    /// The server chooses for each activity.
    case auto
}

/// Way in which an activity's alert reaches people whose card is on its channel. APNs cannot alert one of them alone.
package enum ChannelAlerts: String, Sendable, CaseIterable {
    /// The broadcast alerts everybody who has a card.
    case broadcast
    /// Each phone of the audience that has a card gets an ordinary notification. The broadcast is silent.
    case notification
    /// The broadcast is silent.
    case none
}

extension DesiredSituation {
    /// Least number of phones for which `auto` takes a channel. Fewer are cheaper by token, because a channel has to be
    /// made and deleted.
    package static let channelAudience = 50

    /// Returns `true` if cards of the activity that start now may be on a channel.
    var takesChannels: Bool { type.policy.delivery != .token && causeOfActivity == nil }

    /// Cause for which a card that starts now is on a channel, if it is on one.
    var channelCause: ChannelCause {
        if !isAutomatic { return .delivery }
        if phones >= Self.channelAudience { return .manyPhones }
        return type.policy.join.isOpen ? .openJoin : .hasChannel
    }

    /// Cause for which no card of the activity that starts now is on a channel; `nil` if cards may be on one.
    private var causeOfActivity: TokenCause? {
        // What each person or each build sees differs, so one broadcast cannot carry it.
        if type.isProvided { return .provider }
        if !type.olderContracts.isEmpty { return .olderContracts }
        if activity.devices.isOne { return .oneDevice }
        guard isAutomatic, phones < Self.channelAudience, !type.policy.join.isOpen else { return nil }
        return channels.contains { $0.key.run == activity.run && $0.id != nil } ? nil : .fewPhones
    }

    /// Returns the way in which a card that a push starts now gets its states.
    ///
    /// A start carries the alert of its state. While a broadcast of that alert is due or on its way, the start waits.
    /// Otherwise the phone would get the alert twice.
    package func route(of phone: PhoneSituation, now: UnixTime) -> CardRoute {
        route(of: phone.device, in: phone.pushToStartToken?.environment, now: now)
    }

    /// Returns the way in which a card that the app starts now gets its states.
    package func routeOfApp(on device: DeviceFacts) -> CardRoute {
        // The app shows no alert of the server's, so it need not wait for one.
        route(of: device, in: device.environment ?? .production, now: .distantFuture)
    }

    /// Returns the way in which a card that an app starts now gets its states, on a phone that can show cards on
    /// channels.
    package func routeOfApp(in environment: APNSEnvironment) -> CardRoute {
        route(in: environment, now: .distantFuture)
    }

    private func route(of device: DeviceFacts, in environment: APNSEnvironment?, now: UnixTime) -> CardRoute {
        guard type.policy.delivery != .token else { return .token(nil) }
        guard device.takesChannels, let environment else { return .token(.phone) }
        return route(in: environment, now: now)
    }

    private func route(in environment: APNSEnvironment, now: UnixTime) -> CardRoute {
        guard type.policy.delivery != .token else { return .token(nil) }
        if let cause = causeOfActivity { return .token(cause) }
        guard let channel = channel(in: environment) else { return .pending }
        switch channel.life {
        case .open(let id): return channel.dueAlert(activity, now) == 0 ? .channel(id) : .pending
        case .wanted, .lost:
            return channel.tries >= Self.channelPatience && isAutomatic ? .token(.noChannel) : .pending
        case .refused:
            guard isAutomatic else { return .pending }
            return .token(channel.reason?.isOfChannelsInUse == true ? .channelsInUse : .noChannel)
        }
    }

    /// Number of failures after which `auto` starts cards with update tokens.
    static let channelPatience = 3

    private var isAutomatic: Bool { type.policy.delivery == .auto }

    /// Returns the channel of the present run; `nil` if no card has needed one.
    package func channel(in environment: APNSEnvironment) -> ChannelRecord? {
        channels.first { $0.key.run == activity.run && $0.key.environment == environment }
    }

    /// Returns the channel with this id, of whichever run; `nil` if the server has no such channel.
    package func channel(_ id: ChannelID) -> ChannelRecord? { channels.first { $0.id == id } }
}

extension DeviceFacts {
    /// `true` if the phone's system and app can show cards on channels.
    package var takesChannels: Bool { channels == true && osVersion.map { $0 >= .channels } ?? false }
}

extension ActivityRecord.DeviceSelection {
    fileprivate var isOne: Bool { if case .one = self { true } else { false } }
}

extension OSVersion {
    /// First system with broadcast channels (ActivityKit, `PushType.channel`).
    package static let channels = Self(18, 0)
}
