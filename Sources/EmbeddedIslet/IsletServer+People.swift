import APNSModel
public import JSONText
import LiveActivityProviders
import LiveActivityServer

extension IsletServer {
    /// Sign-in of an app's people, so that their phones can call the server directly.
    ///
    /// A phone presents a signed token (JWT, RFC 7519) of the app's identity provider. Without this setting, only
    /// holders of API keys can call.
    public struct People: Sendable, Hashable {
        /// Keys that verify tokens. A key has one algorithm, whatever the header of a token says.
        public enum Keys: Sendable, Hashable {
            /// The https URL of a key set (JWKS, RFC 7517).
            ///
            /// The server fetches the set again when its `max-age` is over: after 1 minute to 1 day, or 10 minutes
            /// without `max-age`. A token with an unknown key also causes a fetch, at most once a minute.
            case keySet(url: String)
            /// Public keys in PEM form: RSA of 2,048 bits or more for RS256, P-256 for ES256, Ed25519 for EdDSA.
            case publicKeys([String])
            /// Secrets shared with the issuer, of 32 bytes or more each, for HS256.
            case secrets([String])
        }

        /// Accepted issuers. The `iss` of a token must equal one of them.
        public var issuers: [String]
        /// Accepted audience. The `aud` of a token must equal it or contain it.
        ///
        /// Issuer and audience together identify one app.
        public var audience: String
        /// Keys that verify the tokens.
        public var keys: Keys
        /// Claim that holds the person's id, as the backend names people.
        public var user = JSONPointer(tokens: ["sub"])
        /// Maximum difference between the clocks of issuer and server, up to ten minutes.
        public var leeway = Duration.seconds(60)

        /// Creates a sign-in with tokens of these issuers for this audience.
        public init(issuers: [String], audience: String, keys: Keys) {
            self.issuers = issuers
            self.audience = audience
            self.keys = keys
        }
    }
}

extension IsletServer.Configuration {
    /// Returns the sign-in of each app as a part of the server.
    ///
    /// - Throws: `IsletServer.Failure` in three cases:
    ///   - The app is not served.
    ///   - No token can satisfy the settings.
    ///   - Two apps have a common issuer and the same audience.
    func appPeople() throws -> [BundleID: ServerParts.AppPeople] {
        for (app, people) in people {
            guard apps[app] != nil else { throw IsletServer.Failure("people: there is no app \(app)") }
            let others = self.people.filter { $0.key != app && $0.value.audience == people.audience }
            if let other = others.first(where: { !Set($0.value.issuers).isDisjoint(with: people.issuers) }) {
                throw IsletServer.Failure(
                    "people of \(app) and \(other.key): both have the same issuer and audience, so a token would not "
                        + "say which app it is for")
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
            throw failure("issuers and an audience are required, and none may be empty")
        }
        guard Self.leeways.contains(leeway) else { throw failure("the leeway must be from 0 to 600 seconds") }
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
                // The message quotes nothing of a key.
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
    /// Kind and number of the keys, without any key material.
    public var description: String {
        switch self {
        case .keySet(let url): "the key set at \(url)"
        case .publicKeys(let keys): "\(keys.count) public keys"
        case .secrets(let secrets): "\(secrets.count) secrets"
        }
    }

    /// A mirror with only the description, so that `dump` and debuggers show no key material.
    public var customMirror: Mirror { Mirror(self, children: ["keys": description]) }
}
