package import APNSModel
package import JSONText

/// Rules of an activity type, with all their defaults.
package struct TypePolicy: Sendable, Equatable {
    /// Time after a push within which further changes are collected. They go out together when it is over.
    package var coalescingWindow = Duration.seconds(1)
    /// Time for which a start waits for a phone that was in touch within the last minute. App and backend often act on
    /// the same event.
    package var startGrace = Duration.seconds(15)
    /// Time for which APNs stores a start for a phone that is off.
    package var startWindow = Duration.seconds(300)
    /// Time after which a started card becomes stale, so that a card that cannot be updated says so.
    package var startStaleAfter = Duration.seconds(900)
    /// Time after which a state becomes stale, from the last time it was set; `nil` for no stale date.
    package var staleAfter: Duration?
    /// Time after which an ended card leaves the lock screen, if the end does not say; `nil` leaves it to the system.
    package var dismissAfter: Duration?
    /// Time in which one push of priority 10 is allowed per activity and phone. Another goes out at once at priority 5.
    package var highPriorityInterval = Duration.seconds(60)
    /// Estimates of the pushes that a device's system delivers.
    package var budgets = BudgetPolicy()
    /// States that need a high priority: a pointer into the content state, and the values that count.
    package var highWhen: HighWhen?
    /// Alert of a start whose state brings none.
    package var startAlert: AlertTemplate?
    /// Notification in place of a card that cannot be shown; `nil` if none is sent.
    package var fallback: AlertTemplate?
    /// `true` if an ended activity may be set again without `reopen`.
    package var isReusable = false
    /// Time after which an activity that nobody has set is ended; `nil` for never. After 12 hours iOS has removed its
    /// cards.
    package var endAfter: Duration? = .seconds(12 * 3600)
    package var restart: ActivityRecord.Restart = .never
    /// Hours of each phone's day in which starts wait.
    package var quietHours: QuietHours?
    /// `true` if a card is started once more before iOS ends it at 8 hours.
    package var renewal = false
    /// Side whose state a card shows after the app has changed it.
    package var authority: Authority = .server
    /// Treatment of a start on a phone that already shows `ceiling` cards of the app.
    package var atCeiling: AtCeiling = .ignore
    /// Number of cards of one app that a system shows. Apple names no number; about five are reported.
    package var ceiling = 5
    package var start: ActivityRecord.StartMode = .ifPossible
    /// People whom a phone's own word lets in on an activity.
    package var join: Join = .audience
    /// Way in which states reach the phones.
    package var delivery: DeliveryMode = .token
    /// Messages that APNs stores for phones that are offline, on the channels of the type.
    package var channelStorage: MessageStoragePolicy = .mostRecent
    /// Way in which an alert reaches people whose card is on a channel.
    package var channelAlerts: ChannelAlerts = .broadcast

    /// People who take part in an activity by reporting a card of it, without the backend.
    package enum Join: String, Sendable, CaseIterable {
        /// The people of its audience.
        case audience
        /// Everybody who can name it.
        case open
        /// Everybody who can name it. Besides, anybody learns its state and its channel without a credential.
        case anonymous

        /// `true` if a phone's own word is enough, whoever its person is.
        package var isOpen: Bool {
            switch self {
            case .audience: false
            case .open, .anonymous: true
            }
        }
    }

    /// Side whose state a card shows after the app has changed it on the phone.
    package enum Authority: String, Sendable, CaseIterable {
        /// The server's, once it has set no newer one for a minute.
        case server
        /// The app's, until the server sets a newer one.
        case app
    }

    /// Treatment of a start on a phone that shows as many cards as it may.
    package enum AtCeiling: String, Sendable, CaseIterable {
        /// Cards are not counted. The phone decides.
        case ignore
        /// The start waits until a card is over.
        case wait
        /// The card that was started first is ended for it.
        case endOldest
        /// The least relevant card is ended for it, and among equals the oldest.
        case endLeastRelevant
    }

    /// Values of the content state that need a high priority.
    package struct HighWhen: Sendable, Equatable {
        package var pointer: JSONPointer
        package var values: [JSONValue]

        package init(pointer: JSONPointer, values: [JSONValue]) {
            self.pointer = pointer
            self.values = values
        }

        package func matches(_ state: JSONObject) -> Bool {
            guard let value = JSONValue.object(state)[pointer] else { return false }
            return values.contains(value)
        }
    }

    package init() {}
}

/// A configured activity type.
package struct ActivityType: Sendable, Equatable {
    /// Name in the HTTP API.
    package var name: String
    /// Swift name of the app's `ActivityAttributes` type.
    package var attributesType: String
    /// Attribute that names the activity, if there is one. The server fills it.
    package var activityIDAttribute: JSONPointer?
    package var policy: TypePolicy
    /// Contract of attributes and content state; `nil` if unknown, and then any object is accepted.
    package var contract: Contract?
    /// Contracts of builds before the newest, the oldest first.
    package var olderContracts: [OlderContract] = []
    /// `true` if a provider computes what it shows. Each device of a person then has an activity of its own.
    package var isProvided = false
    /// Fields with which the console draws it; `nil` to list all fields.
    package var view: CardView?

    package init(
        name: String, attributesType: String, activityIDAttribute: JSONPointer? = nil,
        policy: TypePolicy = TypePolicy(), contract: Contract? = nil
    ) {
        self.name = name
        self.attributesType = attributesType
        self.activityIDAttribute = activityIDAttribute
        self.policy = policy
        self.contract = contract
    }
}

/// Configuration of an app, as far as decisions need it.
package struct AppSettings: Sendable, Equatable {
    package var bundleID: BundleID
    package var types: [String: ActivityType]
    /// Environments for which a key is configured.
    package var environments: Set<APNSEnvironment>

    package init(bundleID: BundleID, types: [ActivityType], environments: Set<APNSEnvironment>) {
        self.bundleID = bundleID
        self.types = Dictionary(types.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        self.environments = environments
    }
}

extension AppSettings {
    /// `true` if a type may use broadcast channels.
    package var hasChannels: Bool { types.values.contains { $0.policy.delivery != .token } }

    /// `true` if anybody may join activities of a type without a credential.
    package var isForAnybody: Bool { types.values.contains { $0.policy.join == .anonymous } }
}
