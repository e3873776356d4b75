public import APNSModel

extension APNSClient: ChannelSender {
    /// Sends one push to every Live Activity of a channel, like ``broadcast(_:within:)``.
    public func send(_ request: BroadcastRequest, within limit: Duration) async throws(BroadcastError) {
        try await broadcast(request, within: limit)
    }

    /// Creates a channel, like ``Channels/create(storing:within:)``.
    public func createChannel(
        of bundleID: BundleID, in environment: APNSEnvironment, storing policy: MessageStoragePolicy,
        within limit: Duration
    ) async throws(BroadcastError) -> ChannelID {
        try await channels(of: bundleID, in: environment).create(storing: policy, within: limit).id
    }

    /// Deletes a channel, like ``Channels/delete(_:within:)``.
    public func deleteChannel(_ channel: BroadcastChannel, within limit: Duration) async throws(BroadcastError) {
        try await channels(of: channel.bundleID, in: channel.environment).delete(channel.id, within: limit)
    }

    /// Returns the ids of all channels, like ``Channels/list(within:)``.
    public func listChannels(
        of bundleID: BundleID, in environment: APNSEnvironment, within limit: Duration
    ) async throws(BroadcastError) -> [ChannelID] {
        try await channels(of: bundleID, in: environment).list(within: limit)
    }
}
