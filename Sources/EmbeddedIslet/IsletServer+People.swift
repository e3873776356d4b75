import APNSModel
public import JSONText
import LiveActivityProviders
import LiveActivityServer

extension IsletServer {
    /// How the people of an app prove who they are, so that their phones may call by themselves: by signed tokens (JWT,
    /// RFC 7519) of the app's identity provider. Without it only holders of API keys call.
    public struct People: Sendable, Hashable {
        /// What tokens are verified with. A key has one algorithm, whatever a token's header says.
        public enum Keys: Sendable, Hashable {
            /// The https URL of a key set (JWKS, RFC 7517): read again as its answers say, and for a key that is new.
            case keySet(url: String)
            /// Public keys in PEM form: RSA of 2,048 bits or more for RS256, P-256 for ES256, Ed25519 for EdDSA.
            case publicKeys([String])
            /// Secrets that are shared with whoever signs, of 32 bytes or more: HS256.
            case secrets([String])
        }

        /// Who may have issued a token: its `iss`, exactly.
        public var issuers: [String]
        /// Whom a token is for: its `aud`, or one of them. Issuer and audience together name one app.
        public var audience: String
        /// What tokens are verified with.
        public var keys: Keys
        /// The claim that is the person's id, as the backend names people.
        public var user = JSONPointer(tokens: ["sub"])
        /// By how much the clocks of issuer and server may differ, at most ten minutes.
        public var leeway = Duration.seconds(60)

        /// Tokens of these issuers for this audience.
        public init(issuers: [String], audience: String, keys: Keys) {
            self.issuers = issuers
            self.audience = audience
            self.keys = keys
        }
    }
}

extension IsletServer.Configuration {
    /// What the parts are made with.
    ///
    /// - Throws: `IsletServer.Failure` for what no token could be verified with, or what would not say which app it is.
    func appPeople() throws -> [BundleID: ServerParts.AppPeople] {
        for (app, people) in people {
            guard apps[app] != nil else { throw IsletServer.Failure("people: there is no app \(app)") }
            let others = self.people.filter { $0.key != app && $0.value.audience == people.audience }
            if let other = others.first(where: { !Set($0.value.issuers).isDisjoint(with: people.issuers) }) {
                throw IsletServer.Failure(
                    "people of \(app) and \(other.key): the same issuer and audience; a token would not say which app "
                        + "it is for")
            }
        }
        return try Dictionary(uniqueKeysWithValues: people.map { ($0, try $1.parts(of: $0)) })
    }
}

extension IsletServer.People {
    private static let leeways = Duration.zero...Duration.seconds(600)

    fileprivate func parts(of app: BundleID) throws -> ServerParts.AppPeople {
        func failure(_ text: String) -> IsletServer.Failure { .init("people of \(app): \(text)") }
        guard !issuers.isEmpty, !issuers.contains(""), !audience.isEmpty else {
            throw failure("issuers and an audience are needed")
        }
        guard Self.leeways.contains(leeway) else { throw failure("the leeway is from 0 to 600 seconds") }
        return ServerParts.AppPeople(
            issuers: issuers, audience: audience, algorithms: Set(TokenAlgorithm.allCases),
            keys: try verifying(failure),
            user: user, leeway: leeway)
    }

    private func verifying(
        _ failure: (String) -> IsletServer.Failure
    ) throws(IsletServer.Failure) -> ServerParts.AppPeople.Keys {
        let texts: [String]
        switch keys {
        case .keySet(let url):
            guard HTTPProvider.isAllowed(url, allowPrivate: false) else {
                throw failure("the key set needs an https URL with a host and no user")
            }
            return .set(url: url, refresh: nil, allowPrivate: false)
        case .publicKeys(let pems): texts = pems
        case .secrets(let secrets): texts = secrets
        }
        guard !texts.isEmpty else { throw failure("at least one key is needed") }
        var made: [PersonTokenKey] = []
        for (index, text) in texts.enumerated() {
            do throws(TokenKeyError) {
                made.append(try key(text))
            } catch {
                // Nothing of a key is quoted.
                throw failure("key \(index + 1): \(error)")
            }
        }
        return .fixed(made)
    }

    private func key(_ text: String) throws(TokenKeyError) -> PersonTokenKey {
        if case .secrets = keys { return try PersonTokenKey(secret: Array(text.utf8)) }
        return try PersonTokenKey(pem: text)
    }
}

extension IsletServer.People.Keys: CustomStringConvertible, CustomReflectable {
    /// What kind they are and how many; nothing of a key.
    public var description: String {
        switch self {
        case .keySet(let url): "the key set at \(url)"
        case .publicKeys(let keys): "\(keys.count) public keys"
        case .secrets(let secrets): "\(secrets.count) secrets"
        }
    }

    /// The same, for `dump` and debuggers.
    public var customMirror: Mirror { Mirror(self, children: ["keys": description]) }
}
