package import APNSModel

/// Status of an endpoint in words: its state, since when, why, and what a person should do.
package struct WebhookStanding: Sendable, Equatable {
    /// State of an endpoint. The raw values are part of the API.
    package enum State: String, Sendable, CaseIterable {
        /// The endpoint gets events as they happen.
        case on
        /// The last calls failed. They are retried automatically.
        case failing
        /// The endpoint gets nothing until a person turns it on.
        case off
        /// No server has run with the endpoint yet.
        case new
        /// The configuration no longer contains the endpoint.
        case removed
    }

    package var state: State
    package var since: UnixTime?
    /// Description of the last failure.
    package var reason: String?
    /// Advice on what to do; `nil` if nothing has to be done.
    package var fix: String?

    /// Creates the status of an endpoint.
    ///
    /// - Parameters:
    ///   - place: The endpoint's progress; `nil` if no server has run with it yet.
    ///   - dead: Number of events that were given up. They are sent only if they are replayed.
    package init(_ place: WebhookPlace?, isConfigured: Bool, dead: Int) {
        guard let place else {
            state = .new
            fix = "start a server that has this webhook configured"
            return
        }
        let name = place.key.name
        guard isConfigured else {
            state = .removed
            fix = "to continue where delivery stopped, configure the webhook again under this name"
            return
        }
        if let time = place.disabledAt {
            (state, since, reason) = (.off, time, place.failure)
            fix =
                "repair the endpoint, then re-enable it: `islet webhooks enable \(name)`, or in the console. Delivery "
                + "continues where it stopped, as far as the events are still stored"
            return
        }
        if let time = place.failingSince {
            (state, since, reason) = (.failing, time, place.failure)
            fix = "check the endpoint: the server retries it, and disables it when it has accepted nothing for days"
        } else {
            state = .on
        }
        guard dead > 0 else { return }
        let replay = "given up: `islet webhooks replay \(name)`, or the console, delivers them again"
        fix = (fix.map { $0 + ". " } ?? "") + "\(dead) \(dead == 1 ? "event was" : "events were") \(replay)"
    }
}
