import APNSModel
import LiveActivityCore
import LiveActivityProviders

extension IsletServer {
    /// Kinds of events that a ``Webhook`` receives. The table in docs/webhooks.md describes each.
    public enum EventKind: String, Sendable, Hashable, CaseIterable {
        /// A card exists: APNs accepted its start, or a phone reported it.
        case started
        /// A phone reported that it shows the newest state.
        case held
        /// The person swiped the card away.
        case dismissed
        /// The card is over.
        case ended
        /// A second card replaced one whose 8 hours came to an end.
        case renewed
        /// APNs said that a token is dead.
        case tokenDead = "token-dead"
        /// An ordinary notification was made in place of a card.
        case fellBack = "fell-back"
        /// APNs refused a push because of a fault of the server or of the state. The server does not send it again.
        case parked
        /// No push leaves for the app and environment until somebody repairs the key or the topic.
        case keyHalted = "key-halted"
    }

    /// An endpoint that receives an app's events as signed calls (Standard Webhooks).
    public struct Webhook: Sendable, Hashable {
        /// Name of the endpoint in the log: 1 to 64 letters, digits, `-`, `_` and `.`.
        ///
        /// The database keeps the endpoint's position in the stream of events under this name.
        public var name: String
        /// URL that receives the events: https, unless ``allowPrivate`` is set.
        public var url: String
        /// Secret that signs the calls: `whsec_` followed by 24 to 64 bytes in base64.
        public var secret: String
        /// Kinds of events to send. With `nil`, all kinds.
        public var kinds: Set<EventKind>?
        /// Maximum time for one answer, from 100 ms to 60 s.
        public var timeout = Duration.seconds(15)
        /// A Boolean value that indicates whether the URL may be plain http, and may lead to this machine or a private
        /// network.
        public var allowPrivate = false

        /// Creates an endpoint that receives every kind of event.
        public init(name: String, url: String, secret: String) {
            self.name = name
            self.url = url
            self.secret = secret
        }
    }
}

extension IsletServer.Configuration {
    /// Returns the endpoints of all apps as parts of the server, sorted by bundle ID.
    ///
    /// - Throws: `IsletServer.Failure` in three cases:
    ///   - The app is not served.
    ///   - A name occurs twice in an app.
    ///   - A name, URL, secret or timeout is invalid.
    func appWebhooks() throws -> [ServerParts.Webhook] {
        var all: [ServerParts.Webhook] = []
        for (app, webhooks) in webhooks.sorted(by: { $0.key.text < $1.key.text }) {
            guard apps[app] != nil else { throw IsletServer.Failure("webhooks: there is no app \(app)") }
            for webhook in webhooks {
                let made = try webhook.part(of: app)
                guard !all.contains(where: { $0.key == made.key }) else {
                    throw IsletServer.Failure("webhooks of \(app): `\(webhook.name)` is configured twice")
                }
                all.append(made)
            }
        }
        return all
    }
}

extension IsletServer.Webhook {
    fileprivate func part(of app: BundleID) throws -> ServerParts.Webhook {
        func failure(_ text: String) -> IsletServer.Failure { .init("webhooks of \(app): \(text)") }
        guard ServerParts.Webhook.isName(name) else {
            throw failure("a name has 1 to 64 letters, digits, `-`, `_` and `.`")
        }
        guard HTTPProvider.isAllowed(url, allowPrivate: allowPrivate) else {
            throw failure("`\(name)` needs an https URL with a host and no user")
        }
        guard let secret = WebhookSecret(secret) else {
            throw failure("the secret of `\(name)` must be `whsec_` followed by 24 to 64 bytes in base64")
        }
        guard (.milliseconds(100)...(.seconds(60))).contains(timeout) else {
            throw failure("the timeout of `\(name)` must be from 100 ms to 60 s")
        }
        return ServerParts.Webhook(
            key: WebhookKey(app, name),
            kinds: kinds.map { Set($0.compactMap { EventRecord.Kind(name: $0.rawValue) }) },
            target: HTTPProvider.Target(url: url, secret: secret, timeout: timeout, allowPrivate: allowPrivate))
    }
}

extension IsletServer.Webhook: CustomStringConvertible, CustomReflectable {
    /// Name and URL of the endpoint, without the secret.
    public var description: String { "\(name): \(url)" }

    /// A mirror with name and URL only, so that debuggers do not show the secret.
    public var customMirror: Mirror { Mirror(self, children: ["name": name, "url": url]) }
}
