/// The answer to `GET /v1/webhooks`: the endpoints that the app's events are told to, and how each does.
public struct WebhookList: Sendable, Hashable, Codable {
    /// By name; those that were configured once are there too.
    public var webhooks: [Row]

    /// One endpoint.
    public struct Row: Sendable, Hashable, Codable {
        /// Its name in the configuration.
        public var name: String
        /// Scheme, host and port of its URL, whose rest may be a secret; absent: it is not configured any more.
        public var origin: String?
        /// What it is told; absent: everything.
        public var kinds: [String]?
        /// `on`, `failing`, `off`, `new` (no server has run with it yet) or `removed` (it is not configured any more).
        public var state: String
        /// Since when it fails, or is off.
        public var since: Instant?
        /// The last failure.
        public var reason: String?
        /// What somebody has to do; absent: nothing.
        public var fix: String?
        /// Failures in a row.
        public var failures: Int
        /// How many events, of all apps, are newer than all that it was told.
        public var behind: Int
        /// Events that failed, or wait behind one that did.
        public var waiting: Int
        /// Events that were given up.
        public var dead: Int

        package init(name: String, state: String, failures: Int, behind: Int, waiting: Int, dead: Int) {
            self.name = name
            self.state = state
            self.failures = failures
            self.behind = behind
            self.waiting = waiting
            self.dead = dead
        }
    }

    package init(webhooks: [Row]) {
        self.webhooks = webhooks
    }
}

/// The answer to `GET /v1/webhooks/{webhook}/dead`: the events that an endpoint was not told, and will not be unless
/// they are replayed.
public struct DeadDeliveryList: Sendable, Hashable, Codable {
    /// In the order in which they happened.
    public var dead: [Row]
    /// What `after` takes for the next page; absent: this is the last.
    public var next: String?

    /// One event.
    public struct Row: Sendable, Hashable, Codable {
        /// Its number.
        public var id: String
        /// The event; absent: it is erased.
        public var event: Event?
        /// How often it was sent.
        public var tries: Int
        /// When it was sent first.
        public var firstTriedAt: Instant?
        /// When it was given up.
        public var givenUpAt: Instant?
        /// The last failure.
        public var failure: String?

        package init(id: String, event: Event?, tries: Int) {
            self.id = id
            self.event = event
            self.tries = tries
        }
    }

    package init(dead: [Row], next: String?) {
        self.dead = dead
        self.next = next
    }
}

/// The answer to `POST /v1/webhooks/{webhook}/replay`.
public struct ReplayedAnswer: Sendable, Hashable, Codable {
    /// How many that were given up are told again; absent: `since` was asked for.
    public var replayed: Int?

    package init(replayed: Int?) {
        self.replayed = replayed
    }
}

/// The answer to `POST /v1/webhooks/{webhook}/discard`.
public struct DiscardedAnswer: Sendable, Hashable, Codable {
    /// How many that were given up are not on the list any more.
    public var discarded: Int

    package init(discarded: Int) {
        self.discarded = discarded
    }
}

/// The answer to `POST /v1/webhooks/{webhook}/enable`.
public struct WebhookEnabledAnswer: Sendable, Hashable, Codable {
    /// Whether it was off before.
    public var changed: Bool

    package init(changed: Bool) {
        self.changed = changed
    }
}
