package import APNSModel

/// Status of a channel for people: its state, whether its cards lack something, and what a person should do.
package struct ChannelStanding: Sendable, Equatable {
    /// State of a channel. The raw values are part of the API.
    package enum State: String, Sendable, CaseIterable {
        /// A card needs a channel, and APNs has none yet.
        case wanted
        /// The answer to a creation was lost. The channel is looked for in APNs's list.
        case lost
        /// APNs created no channel. It is tried again.
        case refused
        /// The channel exists.
        case open
        /// The channel exists, and its run is over. It is deleted when no phone can show a card of it any more.
        case ending
    }

    package var state: State
    /// Time at which the channel is deleted; `nil` unless it is `ending`.
    package var deletesAt: UnixTime?
    /// Newest revision of the channel's run; `nil` if the activity was erased or has begun another run.
    package var revision: Revision?
    /// `true` if cards of the channel lack the newest state, or the end.
    package var isBehind: Bool
    /// Advice on what to do; `nil` if nothing has to be done.
    package var fix: String?

    /// Creates the status of a channel.
    ///
    /// - Parameters:
    ///   - activity: The activity as it is now; `nil` if it was erased.
    ///   - app: The app's settings; `nil` if the app is not configured.
    package init(_ channel: ChannelRecord, of activity: ActivityRecord?, in app: AppSettings?, now: UnixTime) {
        let isOver = channel.isOver(in: activity)
        let present = activity.flatMap { $0.run == channel.key.run ? $0 : nil }
        switch channel.life {
        case .wanted: state = .wanted
        case .lost: state = .lost
        case .refused: state = .refused
        case .open: state = isOver ? .ending : .open
        }
        let isEnding = isOver && channel.id != nil
        deletesAt = isEnding ? channel.deletesAt(present, now) : nil
        revision = present?.revision
        let lacksEnd = isOver && channel.ends == 0
        isBehind =
            channel.id != nil && channel.hasCards
            && (lacksEnd || present.map { channel.sentRevision < $0.revision } ?? false)
        fix = Self.gap(channel, activity, in: app) ?? channel.reason.flatMap { Self.fix(of: $0, channel, present) }
    }

    // MARK: - What to do

    private static let key = "correct the key, its environment or its topic: `islet doctor` says which"

    /// Returns what the configuration lacks. Nothing is done with the channel until then.
    private static func gap(
        _ channel: ChannelRecord, _ activity: ActivityRecord?, in app: AppSettings?
    ) -> String? {
        let until = "until then, nothing is done with the channel"
        guard let app else { return "configure the app \(channel.app) again: \(until)" }
        let environment = channel.key.environment
        guard app.environments.contains(environment) else {
            return "configure a key for \(environment.rawValue) again: \(until)"
        }
        guard let activity, app.types[activity.type] == nil else { return nil }
        return "configure the type `\(activity.type)` again: \(until)"
    }

    private static func fix(of reason: Reason, _ channel: ChannelRecord, _ activity: ActivityRecord?) -> String? {
        switch reason.code {
        case .channelRefused where reason.isOfChannelsInUse:
            return "`auto` makes no more channels: end activities, or set `delivery` to `channel` or `token`"
        case .channelRefused: return fix(ofRefusal: reason.arguments.first ?? "")
        case .halted, .notConfigured: return key
        case .parked, .payloadRefused:
            // A refused deletion parks no state, and a state that the backend has replaced since is of no interest.
            guard let activity, activity.phase != .ended else { return nil }
            return channel.parkedRevision >= activity.revision ? "set another state" : nil
        default: return nil
        }
    }

    /// - Parameter word: APNs's reason, or the word of an error without an answer.
    private static func fix(ofRefusal word: String) -> String? {
        switch BroadcastReason.Known(rawValue: word) {
        case .featureNotEnabled?:
            return "turn on the Broadcast Capability of the App ID in Apple's developer portal, under Push "
                + "Notifications"
        case .cannotCreateChannelConfig?:
            return "the app has all the channels that APNs allows in this environment: end activities, or delete "
                + "channels that other programs made, with `islet channels delete`"
        case let known?: return known.status == 403 ? key : nil
        case nil: return word == "\(BroadcastError.Code.notConfigured)" ? key : nil
        }
    }
}

extension ChannelRecord {
    /// Returns `true` if the channel's run is over.
    ///
    /// - Parameter activity: The activity as it is now; `nil` if it was erased.
    package func isOver(in activity: ActivityRecord?) -> Bool {
        guard let activity else { return true }
        return activity.phase == .ended || activity.run != key.run
    }

    /// Returns the time at which a channel whose run is over is deleted.
    fileprivate func deletesAt(_ activity: ActivityRecord?, _ now: UnixTime) -> UnixTime? {
        if let flight, flight.kind == .delete { return flight.claimedAt }
        // Without cards, the next look deletes it.
        guard hasCards else { return waitsUntil(at: now) ?? dueAt }
        let deleteAt = min(overAt ?? activity?.endedAt ?? now, now) + ChannelReconciler.cardsRemain
        return max(deleteAt, waitsUntil(at: now) ?? deleteAt)
    }
}

extension ChannelFlight.Kind {
    /// Name of the operation, as the API shows it.
    package var name: String {
        switch self {
        case .create: "create"
        case .update: "update"
        case .end: "end"
        case .delete: "delete"
        }
    }
}

extension MessageStoragePolicy {
    /// Name of the policy, as in the configuration.
    package var name: String {
        switch self {
        case .none: "none"
        case .mostRecent: "mostRecent"
        }
    }
}

// MARK: - Lists

/// Numbers of the channels of one route.
package struct ChannelCounts: Sendable, Equatable {
    /// Maximum number of channels that APNs keeps of an app in one environment.
    package static let limit = 10_000

    /// Channels of the server that exist.
    package var own = 0
    /// Channels that APNs lists and that the server has not made.
    package var foreign = 0

    package init() {}
}

extension ChannelKey {
    /// Creates the key from its `cursor`; `nil` if the text is none.
    package init?(cursor text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let activity = ActivityNumber(parts[0], radix: 36), activity >= 0,
            let run = Int(parts[1]), run >= 0, let environment = APNSEnvironment(rawValue: String(parts[2]))
        else { return nil }
        self.init(activity, environment, run: run)
    }

    /// Text of the key, with which a list continues after the channel.
    package var cursor: String { "\(String(activity, radix: 36)).\(run).\(environment.rawValue)" }
}
