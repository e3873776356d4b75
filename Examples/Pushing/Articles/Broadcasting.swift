import APNSClient
import APNSModel
import JSONText

struct Score: Codable {
    var home: Int
    var guest: Int
}

func makeChannel(client: APNSClient, app: BundleID) async throws -> BroadcastChannel {
    // article: channel
    let channels = client.channels(of: app, in: .production)
    let channel = try await channels.create(storing: .mostRecent)
    // end
    return channel
}

// article: broadcast
func announce(_ score: Score, on channel: BroadcastChannel, over client: APNSClient) async throws {
    let now = APNSClient.liveTime.wall()
    let goal = try BroadcastPayload.update(timestamp: now, contentState: EncodedObject(encoding: score))
    try await client.broadcast(BroadcastRequest(goal, to: channel, storedUntil: now + .seconds(3_600)))
}
// end

func tidyUp(client: APNSClient, app: BundleID, kept: Set<ChannelID>) async throws {
    // article: clean-up
    let channels = client.channels(of: app, in: .production)
    for id in try await channels.list() where !kept.contains(id) {
        try await channels.delete(id)
    }
    // end
}
