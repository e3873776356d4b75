/// The answer of `GET /v1/webhooks`: the endpoints that receive the app's events, and the state of each.
public struct WebhookList: Sendable, Hashable, Codable {
    /// The endpoints, sorted by name. Endpoints that are no longer configured are included.
    public var webhooks: [Row]

    /// One endpoint.
    public struct Row: Sendable, Hashable, Codable {
        /// The endpoint's name in the configuration.
        public var name: String
        /// The scheme, host and port of its URL. The rest of the URL may be a secret.
        ///
        /// `nil` if the endpoint is no longer configured.
        public var origin: String?
        /// The kinds of events that it receives. `nil` if it receives every kind.
        public var kinds: [String]?
        /// The state of the endpoint.
        ///
        /// - `on`: events are sent as they happen.
        /// - `failing`: the last calls failed. The server retries by itself.
        /// - `off`: nothing is sent until somebody enables the endpoint.
        /// - `new`: no server has run with it yet.
        /// - `removed`: it is no longer configured.
        public var state: String
        /// The time since which the endpoint has been failing or off.
        public var since: Instant?
        /// The last failure.
        public var reason: String?
        /// The action that somebody must take. `nil` if none is needed.
        public var fix: String?
        /// The number of failures in a row.
        public var failures: Int
        /// The number of events, of all apps, that are newer than the newest one sent to this endpoint.
        public var behind: Int
        /// The number of events that failed, or that wait behind one that failed.
        public var waiting: Int
        /// The number of events that were given up.
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

/// The answer of `GET /v1/webhooks/{webhook}/dead`: the events that were given up for an endpoint.
///
/// They are sent only if somebody replays them.
public struct DeadDeliveryList: Sendable, Hashable, Codable {
    /// The events in the order in which they happened.
    public var dead: [Row]
    /// The value of `after` for the next page. `nil` if this is the last page.
    public var next: String?

    /// One event that was given up.
    public struct Row: Sendable, Hashable, Codable {
        /// The event's number.
        public var id: String
        /// The event. `nil` if it has been erased.
        public var event: Event?
        /// The number of times that it was sent.
        public var tries: Int
        /// The time of the first attempt.
        public var firstTriedAt: Instant?
        /// The time when it was given up.
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

/// The answer of `POST /v1/webhooks/{webhook}/replay`.
public struct ReplayedAnswer: Sendable, Hashable, Codable {
    /// The number of given-up events that are sent again. `nil` if the call had `since`.
    public var replayed: Int?

    package init(replayed: Int?) {
        self.replayed = replayed
    }
}

/// The answer of `POST /v1/webhooks/{webhook}/discard`.
public struct DiscardedAnswer: Sendable, Hashable, Codable {
    /// The number of given-up events that were removed from the list.
    public var discarded: Int

    package init(discarded: Int) {
        self.discarded = discarded
    }
}

/// The answer of `POST /v1/webhooks/{webhook}/enable`.
public struct WebhookEnabledAnswer: Sendable, Hashable, Codable {
    /// `true` if the endpoint was off before the call.
    public var changed: Bool

    package init(changed: Bool) {
        self.changed = changed
    }
}
