package import APNSModel
package import JSONText
package import LiveActivityCore

/// Settings that prove who an app's people are: by tokens of the app's identity provider.
package struct PeopleSettings: Sendable {
    package enum Keys: Sendable {
        /// Keys in the configuration.
        case fixed([PersonTokenKey])
        /// Keys of a key set, which is fetched regularly.
        case set(KeySet)
    }

    /// The issuers whose tokens are accepted (`iss`).
    package var issuers: [String]
    /// The required audience of a token (`aud`).
    package var audience: String
    package var algorithms: Set<TokenAlgorithm>
    package var keys: Keys
    /// The claim that holds the person's id.
    package var user: JSONPointer
    /// Tolerated difference between clocks.
    package var leeway: Duration

    package static let standardUser = JSONPointer(tokens: ["sub"])
    package static let standardLeeway = Duration.seconds(60)

    package init(
        issuers: [String], audience: String, algorithms: Set<TokenAlgorithm> = Set(TokenAlgorithm.allCases), keys: Keys,
        user: JSONPointer = standardUser, leeway: Duration = standardLeeway
    ) {
        self.issuers = issuers
        self.audience = audience
        self.algorithms = algorithms
        self.keys = keys
        self.user = user
        self.leeway = leeway
    }
}

/// The verifier of people's tokens, for all apps.
package struct People: Sendable {
    private let apps: [BundleID: PeopleSettings]

    package init(_ apps: [BundleID: PeopleSettings]) {
        self.apps = apps
    }

    package var isEmpty: Bool { apps.isEmpty }

    /// The key sets that must be fetched regularly.
    var keySets: [KeySet] {
        apps.values.compactMap { settings in if case .set(let set) = settings.keys { set } else { nil } }
    }

    /// Verifies a token, and returns its person and app.
    ///
    /// - Issuer and audience select the app.
    /// - `kid` selects among the app's keys.
    /// - The key determines the algorithm, and the token's header must name the same.
    /// - Times and the person are checked only after the signature is proven.
    package func person(
        of text: String, at now: UnixTime, _ monotonic: MonotonicTime
    ) async throws(TokenRejection) -> (app: BundleID, user: UserID) {
        let token = try PersonToken(text)
        let takers = apps.filter { _, settings in
            token.audiences.contains(settings.audience) && token.issuer.map(settings.issuers.contains) == true
        }
        // A token for two apps does not say which one is meant.
        guard takers.count == 1, let (app, settings) = takers.first else { throw .nobodys }
        guard settings.algorithms.contains(token.algorithm) else { throw .algorithm }
        let keys = try keys(for: token, of: settings, at: monotonic)
        var isProven = false
        for key in keys where await key.verifies(token.signature, of: token.signedBytes) { isProven = true }
        guard isProven else { throw .signature }
        try token.checkTimes(at: now, leeway: settings.leeway)
        return (app, try token.user(at: settings.user))
    }

    private func keys(
        for token: PersonToken, of settings: PeopleSettings, at now: MonotonicTime
    ) throws(TokenRejection) -> [PersonTokenKey] {
        let all: [PersonTokenKey]
        switch settings.keys {
        case .fixed(let keys): all = keys
        case .set(let set): all = try set.keys(for: token.keyID, at: now)
        }
        let fit = all.filter { $0.algorithm == token.algorithm }
        guard !fit.isEmpty else { throw .algorithm }
        return fit
    }
}
