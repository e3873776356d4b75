/// Port for broadcasts and for the channels that they go to.
///
/// Source: Apple, "Sending broadcast push notification requests to APNs" and "Sending channel management requests to
/// APNs".
public protocol ChannelSender: Sendable {
    /// Sends one push to every Live Activity of a channel. A broadcast of unknown fate is not repeated.
    ///
    /// - Parameter limit: Maximum duration of the call, with all waits and retries.
    /// - Throws: `BroadcastError`.
    func send(_ request: BroadcastRequest, within limit: Duration) async throws(BroadcastError)

    /// Creates a channel and returns its id. After `BroadcastError.mayHaveHappened`, the list shows whether it exists.
    ///
    /// - Throws: `BroadcastError`.
    func createChannel(
        of bundleID: BundleID, in environment: APNSEnvironment, storing policy: MessageStoragePolicy,
        within limit: Duration
    ) async throws(BroadcastError) -> ChannelID

    /// Deletes a channel permanently.
    ///
    /// - Throws: `BroadcastError`. Its `isChannelGone` is `true` if the channel does not exist.
    func deleteChannel(_ channel: BroadcastChannel, within limit: Duration) async throws(BroadcastError)

    /// Returns the ids of all channels of an app.
    ///
    /// - Throws: `BroadcastError`.
    func listChannels(
        of bundleID: BundleID, in environment: APNSEnvironment, within limit: Duration
    ) async throws(BroadcastError) -> [ChannelID]
}
