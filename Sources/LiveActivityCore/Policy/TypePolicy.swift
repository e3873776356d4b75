package import APNSModel
package import JSONText

/// What a type of activity wants, with every default.
package struct TypePolicy: Sendable, Equatable {
    /// Changes within this time of a push go out together when it is over.
    package var coalescingWindow = Duration.seconds(1)
    /// How long a start waits for a phone that was in touch within the last minute: backend and app act in one second.
    package var startGrace = Duration.seconds(15)
    /// How long a start is stored for a phone that is off; also its stale date's distance is `startStaleAfter`.
    package var startWindow = Duration.seconds(300)
    /// The stale date of a start, so that a card that cannot be updated says so.
    package var startStaleAfter = Duration.seconds(900)
    /// How long a state counts as fresh after it was last set; `nil`: no stale date.
    package var staleAfter: Duration?
    /// When an ended card leaves the lock screen where the end does not say; `nil`: when the system wants.
    package var dismissAfter: Duration?
    /// One push of priority 10 per activity and phone in this time; a second goes out at once at priority 5.
    package var highPriorityInterval = Duration.seconds(60)
    /// Our estimates of what a device's system lets through.
    package var budgets = BudgetPolicy()
    /// States that need the person at once: a pointer into the content state and the values that count.
    package var highWhen: HighWhen?
    /// What a start says when the state brings no alert.
    package var startAlert: AlertTemplate?
    /// What an ordinary notification says where a card cannot be shown; `nil`: none goes out.
    package var fallback: AlertTemplate?
    /// An ended activity may be set again without asking for `reopen`.
    package var isReusable = false
    /// An activity that nobody has set for so long is ended: by then iOS has taken its cards away. `nil`: never.
    package var endAfter: Duration? = .seconds(12 * 3600)
    package var restart: ActivityRecord.Restart = .never
    /// Starts wait in these hours of each phone's clock.
    package var quietHours: QuietHours?
    /// A card is started anew before iOS's 8 hours are over, once.
    package var renewal = false
    /// Whose state a card shows that the app has changed itself.
    package var authority: Authority = .server
    /// What happens to a start on a phone that shows as many cards of the app as `ceiling` says.
    package var atCeiling: AtCeiling = .ignore
    /// How many cards of one app a system shows. Apple tells no number; about five are reported.
    package var ceiling = 5
    package var start: ActivityRecord.StartMode = .ifPossible
    /// Whom a phone's own word lets in on an activity.
    package var join: Join = .audience

    /// Who takes part in an activity by reporting a card of it, where no backend speaks for the phone.
    package enum Join: String, Sendable, CaseIterable {
        /// The people of its audience.
        case audience
        /// Everybody who can name it.
        case open
    }

    /// Whose state a card shows after the app changed it on the phone.
    package enum Authority: String, Sendable, CaseIterable {
        /// The server's, again after a minute in which it set no newer one.
        case server
        /// The app's, until the server sets a newer one.
        case app
    }

    package enum AtCeiling: String, Sendable, CaseIterable {
        /// Cards are not counted, and the phone decides.
        case ignore
        /// It waits until a card is over.
        case wait
        /// The card that was started first is ended for it.
        case endOldest
        /// The card of the least relevance is ended for it, among equals the oldest.
        case endLeastRelevant
    }

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

/// A kind of activity, as configured.
package struct ActivityType: Sendable, Equatable {
    /// The name the API knows it by.
    package var name: String
    /// The Swift name of the app's `ActivityAttributes` type.
    package var attributesType: String
    /// Where the attributes name the activity, if they do: filled by the server.
    package var activityIDAttribute: JSONPointer?
    package var policy: TypePolicy
    /// What attributes and content state look like, when it is known; without it any object is taken.
    package var contract: Contract?
    /// What builds of the app before the newest decode, the oldest first.
    package var olderContracts: [OlderContract] = []
    /// A provider computes what it shows: each device of a person has an activity of its own.
    package var isProvided = false
    /// How the console draws it; `nil`: its fields one below the other.
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

/// An app, as configured: what a decision may look up about it.
package struct AppSettings: Sendable, Equatable {
    package var bundleID: BundleID
    package var types: [String: ActivityType]
    /// The environments a key is configured for.
    package var environments: Set<APNSEnvironment>

    package init(bundleID: BundleID, types: [ActivityType], environments: Set<APNSEnvironment>) {
        self.bundleID = bundleID
        self.types = Dictionary(types.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        self.environments = environments
    }
}
