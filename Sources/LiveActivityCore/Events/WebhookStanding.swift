package import APNSModel

/// How an endpoint does, in words for people: since when, why, and what is to be done.
package struct WebhookStanding: Sendable, Equatable {
    /// The raw values are part of the API.
    package enum State: String, Sendable, CaseIterable {
        /// It is told as things happen.
        case on
        /// Its last calls failed; it is tried again by itself.
        case failing
        /// It is told nothing until somebody turns it on.
        case off
        /// No server has run with it yet.
        case new
        /// The configuration does not have it any more.
        case removed
    }

    package var state: State
    package var since: UnixTime?
    /// The last failure.
    package var reason: String?
    /// What somebody has to do; `nil`: nothing.
    package var fix: String?

    /// - Parameters:
    ///   - place: `nil`: no server has run with it yet.
    ///   - dead: How many events it was not told and will not be, unless they are replayed.
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
