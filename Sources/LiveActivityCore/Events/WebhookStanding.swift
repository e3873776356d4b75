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
            fix = "a server that runs with it makes it known"
            return
        }
        let name = place.key.name
        guard isConfigured else {
            state = .removed
            fix = "configured again under this name, it is told from where it was"
            return
        }
        if let time = place.disabledAt {
            (state, since, reason) = (.off, time, place.failure)
            fix =
                "mend the endpoint, then turn it on: `islet webhooks enable \(name)`, or in the console. "
                + "It goes on where it was, as far as events are kept"
            return
        }
        if let time = place.failingSince {
            (state, since, reason) = (.failing, time, place.failure)
            fix = "look at the endpoint: it is tried again by itself, and turned off when it has taken nothing for days"
        } else {
            state = .on
        }
        guard dead > 0 else { return }
        let replay = "given up: `islet webhooks replay \(name)`, or the console, has them told again"
        fix = (fix.map { $0 + ". " } ?? "") + "\(dead) \(dead == 1 ? "event was" : "events were") \(replay)"
    }
}
