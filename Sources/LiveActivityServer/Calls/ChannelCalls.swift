import APNSModel
import LiveActivityAPI
import LiveActivityCore
import LiveActivityStorage

/// The calls about broadcast channels.
enum ChannelCalls {
    private static let standard = 100
    private static let maximum = 1000

    /// `GET /v1/channels`: returns the app's broadcast channels, and their number in each environment.
    @Sendable static func list(_ call: Call) async throws(Problem) -> Answer {
        let (app, store) = (call.app, call.services.store)
        let limit = try call.query.limit(default: standard, maximum: maximum)
        var after: ChannelKey?
        if let text = call.query["after"] {
            guard let key = ChannelKey(cursor: text) else {
                throw Problem(.invalidQuery, "`after` is the `next` of an earlier answer")
            }
            after = key
        }
        let from = after
        let page = try await call.ask { () async throws(StorageError) in
            try await store.channels(of: app.bundleID, after: from, limit: limit)
        }
        let counts = try await call.ask { () async throws(StorageError) in
            try await store.channelCounts(of: app.bundleID)
        }
        return try Answer(ChannelList(page, counts, of: [app], now: call.now))
    }
}
