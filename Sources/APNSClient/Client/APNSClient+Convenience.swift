public import APNSModel

extension PushID {
    /// Returns a new id from the system's random number generator.
    public static func random() -> Self {
        Self(random: .random(in: 0 ... .max), .random(in: 0 ... .max))
    }
}

extension APNSClient.Route {
    /// Creates the route of an app whose bundle id is a string.
    ///
    /// - Throws: `APNSClientError` (`invalidBundleID`) if the string cannot be a bundle id.
    public init(
        _ bundleID: String, _ environment: APNSEnvironment, key: ProviderKey, endpoint: APNSClient.Endpoint? = nil,
        trustRoots: APNSClient.TrustRoots = .system, broadcast: APNSClient.BroadcastEndpoints? = nil
    ) throws(APNSClientError) {
        guard let id = BundleID(bundleID) else {
            throw APNSClientError(.invalidBundleID, "a bundle id contains only letters, digits, hyphens and dots")
        }
        self.init(
            bundleID: id, environment: environment, key: key, endpoint: endpoint, trustRoots: trustRoots,
            broadcast: broadcast)
    }

    /// Returns what a push to this app needs besides the payload and the token.
    ///
    /// - Parameters:
    ///   - priority: The priority of the push. The default is immediate delivery.
    ///   - expiration: The expiration of the push. By default APNs decides how long to store it, up to 30 days. Give
    ///     one for a Live Activity, because an update has no use after its stale date.
    ///   - collapseID: The value of `apns-collapse-id`, if any.
    ///   - id: The value of `apns-id`. The default is a new random id.
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
    /// Sends one push and waits for the answer of APNs, at most for `limit`.
    ///
    /// A refusal is an answer, not an error: examine its `verdict`. Canceling the task does not withdraw the push.
    ///
    /// - Throws: `PushFailure` if there is no answer. Only after `unknownFate` is it open whether APNs has the push.
    @discardableResult
    public func send(
        _ request: PushRequest, within limit: Duration = .seconds(30)
    ) async throws(PushFailure) -> PushAnswer {
        let end = time.monotonic() + limit
        return try await send(Push(request, sendBefore: end, answerBy: end))
    }

    /// Stops the client in order. Calls `shutdown(within:)` with `Options.shutdownGrace`.
    public func shutdown() async {
        await shutdown(within: options.shutdownGrace)
    }
}
