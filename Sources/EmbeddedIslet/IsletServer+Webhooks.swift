import APNSModel
import LiveActivityCore
import LiveActivityProviders

extension IsletServer {
    /// What happens, as ``Webhook`` tells it: docs/webhooks.md has the table.
    public enum EventKind: String, Sendable, Hashable, CaseIterable {
        /// A card came to be.
        case started
        /// A phone shows the newest state.
        case held
        /// The person swiped the card away.
        case dismissed
        /// The card is over.
        case ended
        /// A second card took the place of one whose time was over.
        case renewed
        /// APNs said that a token is dead.
        case tokenDead = "token-dead"
        /// An ordinary notification went out in place of a card.
        case fellBack = "fell-back"
        /// APNs refused a push for a fault of ours.
        case parked
        /// Nothing leaves until a person mends the key.
        case keyHalted = "key-halted"
    }

    /// An endpoint that an app's events are told to, by signed calls (Standard Webhooks).
    public struct Webhook: Sendable, Hashable {
        /// What the log calls it, of letters, digits, `-`, `_` and `.`; how far it was told is kept under this name.
        public var name: String
        /// Where events are told: https, unless ``allowPrivate`` is set.
        public var url: String
        /// What the calls are signed with: `whsec_` and 24 to 64 bytes in base64.
        public var secret: String
        /// What is told; nil: all.
        public var kinds: Set<EventKind>?
        /// How long one answer may take, at most a minute.
        public var timeout = Duration.seconds(15)
        /// Whether the URL may be plain http, and lead to this machine or a private network.
        public var allowPrivate = false

        /// An endpoint that is told everything.
        public init(name: String, url: String, secret: String) {
            self.name = name
            self.url = url
            self.secret = secret
        }
    }
}

extension IsletServer.Configuration {
    /// What the parts are made with.
    ///
    /// - Throws: `IsletServer.Failure` for what nothing could be told to.
    func appWebhooks() throws -> [ServerParts.Webhook] {
        var all: [ServerParts.Webhook] = []
        for (app, webhooks) in webhooks.sorted(by: { $0.key.text < $1.key.text }) {
            guard apps[app] != nil else { throw IsletServer.Failure("webhooks: there is no app \(app)") }
            for webhook in webhooks {
                let made = try webhook.part(of: app)
                guard !all.contains(where: { $0.key == made.key }) else {
                    throw IsletServer.Failure("webhooks of \(app): `\(webhook.name)` is there twice")
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
            throw failure("the secret of `\(name)` is not `whsec_` and 24 to 64 bytes in base64")
        }
        guard (.milliseconds(100)...(.seconds(60))).contains(timeout) else {
            throw failure("the timeout of `\(name)` is from 100 ms to 60 s")
        }
        return ServerParts.Webhook(
            key: WebhookKey(app, name),
            kinds: kinds.map { Set($0.compactMap { EventRecord.Kind(name: $0.rawValue) }) },
            target: HTTPProvider.Target(url: url, secret: secret, timeout: timeout, allowPrivate: allowPrivate))
    }
}

extension IsletServer.Webhook: CustomStringConvertible, CustomReflectable {
    /// Its name and URL, without the secret.
    public var description: String { "\(name): \(url)" }

    /// The same for debuggers.
    public var customMirror: Mirror { Mirror(self, children: ["name": name, "url": url]) }
}
