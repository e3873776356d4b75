package import APNSModel
package import JSONText
package import LiveActivityCore

/// How an app's people prove who they are: by tokens of its identity provider.
package struct PeopleSettings: Sendable {
    package enum Keys: Sendable {
        /// As they stand in the configuration.
        case fixed([PersonTokenKey])
        /// Those that a key set names, which is fetched again and again.
        case set(KeySet)
    }

    /// Who may have issued a token (`iss`).
    package var issuers: [String]
    /// Whom it has to be for (`aud`).
    package var audience: String
    package var algorithms: Set<TokenAlgorithm>
    package var keys: Keys
    /// The claim that is the person's id.
    package var user: JSONPointer
    /// By how much clocks may differ.
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

/// Who people are, by their tokens.
package struct People: Sendable {
    private let apps: [BundleID: PeopleSettings]

    package init(_ apps: [BundleID: PeopleSettings]) {
        self.apps = apps
    }

    package var isEmpty: Bool { apps.isEmpty }

    /// The key sets that are to be kept fresh.
    var keySets: [KeySet] {
        apps.values.compactMap { settings in if case .set(let set) = settings.keys { set } else { nil } }
    }

    /// Whose token it is, and for which app.
    ///
    /// Issuer and audience choose the app, `kid` chooses among the app's keys, and the key says the algorithm: the
    /// header's must be the same. Times and the person are looked at once the signature is proven.
    package func person(
        of text: String, at now: UnixTime, _ monotonic: MonotonicTime
    ) async throws(TokenRejection) -> (app: BundleID, user: UserID) {
        let token = try PersonToken(text)
        let takers = apps.filter { _, settings in
            token.audiences.contains(settings.audience) && token.issuer.map(settings.issuers.contains) == true
        }
        // One that is for two apps says of neither that it is meant.
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
