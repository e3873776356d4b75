public import APNSModel

extension PushID {
    /// A new id, from the system's random numbers.
    public static func random() -> Self {
        Self(random: .random(in: 0 ... .max), .random(in: 0 ... .max))
    }
}

extension APNSClient.Route {
    /// The route of an app whose bundle id is text.
    ///
    /// - Throws: `APNSClientError` (`invalidBundleID`) for a text that cannot be one.
    public init(
        _ bundleID: String, _ environment: APNSEnvironment, key: ProviderKey, endpoint: APNSClient.Endpoint? = nil,
        trustRoots: APNSClient.TrustRoots = .system, broadcast: APNSClient.BroadcastEndpoints? = nil
    ) throws(APNSClientError) {
        guard let id = BundleID(bundleID) else {
            throw APNSClientError(.invalidBundleID, "a bundle id has letters, digits, hyphens and dots")
        }
        self.init(
            bundleID: id, environment: environment, key: key, endpoint: endpoint, trustRoots: trustRoots,
            broadcast: broadcast)
    }

    /// What a push to this app needs besides payload and token, with an id of its own.
    ///
    /// - Parameters:
    ///   - priority: At once, unless said otherwise.
    ///   - expiration: As APNs sees fit, up to 30 days, unless said otherwise. Live Activities want one: an update is
    ///     of no use after its stale date.
    public func envelope(
        priority: PushPriority = .high, expiration: PushExpiration = .unspecified, collapseID: CollapseID? = nil,
        id: PushID = .random()
    ) -> PushRequest.Envelope {
        PushRequest.Envelope(
            bundleID: bundleID, environment: environment, priority: priority, expiration: expiration,
            collapseID: collapseID, id: id)
    }
}

extension APNSClient {
    /// Sends one push and waits for APNs's answer, at the longest for `limit`.
    ///
    /// A refusal is an answer: look at its `verdict`. Cancelling the task does not take the push back.
    ///
    /// - Throws: `PushFailure` when there is no answer; only `unknownFate` leaves open whether APNs has the push.
    @discardableResult
    public func send(
        _ request: PushRequest, within limit: Duration = .seconds(30)
    ) async throws(PushFailure) -> PushAnswer {
        let end = time.monotonic() + limit
        return try await send(Push(request, sendBefore: end, answerBy: end))
    }

    /// Ends in order, as `shutdown(within:)` does with `Options.shutdownGrace`.
    public func shutdown() async {
        await shutdown(within: options.shutdownGrace)
    }
}
