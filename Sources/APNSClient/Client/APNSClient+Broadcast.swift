public import APNSModel
import JSONText

extension APNSClient {
    /// The endpoints for broadcasts and for channel management.
    public struct BroadcastEndpoints: Sendable, Hashable {
        /// The endpoint for broadcasts.
        public var send: Endpoint
        /// The second endpoint for broadcasts, for when `send` cannot be reached or answers 404. Apple's pages disagree
        /// about the host.
        public var sendFallback: Endpoint?
        /// The endpoint that creates, reads, deletes and lists channels.
        public var management: Endpoint

        /// Creates endpoints other than Apple's, such as those of a simulator.
        public init(send: Endpoint, sendFallback: Endpoint? = nil, management: Endpoint) {
            self.send = send
            self.sendFallback = sendFallback
            self.management = management
        }

        /// Returns Apple's endpoints for an environment.
        ///
        /// | endpoint | environment | address |
        /// |---|---|---|
        /// | `send` | production | `api.push.apple.com` |
        /// | `send` | sandbox | `api.sandbox.push.apple.com` |
        /// | `sendFallback` | production | `api-broadcast.push.apple.com` |
        /// | `sendFallback` | sandbox | `api-broadcast.sandbox.push.apple.com` |
        /// | `management` | production | `api-manage-broadcast.push.apple.com:2196` |
        /// | `management` | sandbox | `api-manage-broadcast.sandbox.push.apple.com:2195` |
        public static func apple(_ environment: APNSEnvironment) -> Self {
            Self(
                send: .apple(environment), sendFallback: .appleBroadcast(environment),
                management: .appleManagement(environment))
        }
    }

    /// Sends one push to every Live Activity that subscribed to a channel.
    ///
    /// Success means that APNs accepted the broadcast, not that anybody saw it. The client does not repeat a broadcast
    /// whose outcome is unknown. Source: Apple, "Sending broadcast push notification requests to APNs".
    ///
    /// - Parameter limit: Maximum duration of the call, with all waits and retries.
    /// - Returns: The `apns-request-id` of the answer, for Apple's support.
    /// - Throws: `BroadcastError`.
    @discardableResult
    public func broadcast(
        _ request: BroadcastRequest, within limit: Duration = .seconds(30)
    ) async throws(BroadcastError) -> PushID? {
        let route = try broadcastRoute(request.bundleID, request.environment)
        var call = Call(
            method: .post, path: "/4/broadcasts/apps/\(request.bundleID)", deadline: time.monotonic() + limit)
        call.fields = [
            .init("apns-channel-id", request.channelID), .init("apns-push-type", "liveactivity"),
            .init("apns-expiration", request.expirationValue), .init("apns-priority", request.priority.rawValue),
        ]
        if let id = request.id { call.fields.append(.init("apns-request-id", id)) }
        call.body = request.payload.bytes
        return try await route.broadcast(call).accepted(200).requestID
    }

    /// Returns the channels of an app. An app has at most 10,000 channels in each environment.
    ///
    /// The app id needs the Broadcast Capability in the developer portal.
    public func channels(of bundleID: BundleID, in environment: APNSEnvironment) -> Channels {
        Channels(client: self, bundleID: bundleID, environment: environment)
    }

    func broadcastRoute(
        _ bundleID: BundleID, _ environment: APNSEnvironment
    ) throws(BroadcastError) -> BroadcastRoute {
        guard let route = broadcastRoutes[RouteKey(bundleID: bundleID, environment: environment)] else {
            throw BroadcastError(.notConfigured, "no key is configured for \(bundleID) in \(environment.rawValue)")
        }
        return route
    }

    /// Creates, reads, deletes and lists the channels of one app in one environment.
    ///
    /// Source: Apple, "Sending channel management requests to APNs".
    public struct Channels: Sendable {
        let client: APNSClient
        let bundleID: BundleID
        let environment: APNSEnvironment

        /// Creates a channel. Keep its id.
        ///
        /// A call whose outcome is unknown may have created a channel. In that case `list()` shows it.
        ///
        /// - Throws: `BroadcastError`. The reason is `cannotCreateChannelConfig` if 10,000 channels exist.
        public func create(
            storing policy: MessageStoragePolicy, within limit: Duration = .seconds(30)
        ) async throws(BroadcastError) -> BroadcastChannel {
            let body: JSONValue = .object([
                "message-storage-policy": .number(JSONNumber(policy.rawValue)), "push-type": "LiveActivity",
            ])
            // APNs answers 201 without a body. The id is in a header.
            let answer = try await call(.post, body: body.bytes, within: limit).accepted(201)
            guard let id = answer.channelID.flatMap({ ChannelID($0) }) else {
                throw answer.unexpected("the headers contain no channel id")
            }
            return BroadcastChannel(id: id, bundleID: bundleID, environment: environment, policy: policy)
        }

        /// Returns what APNs knows about a channel.
        ///
        /// - Throws: `BroadcastError`. Its `isChannelGone` is `true` if the channel does not exist.
        public func read(
            _ id: ChannelID, within limit: Duration = .seconds(30)
        ) async throws(BroadcastError) -> BroadcastChannel {
            let answer = try await call(.get, id, within: limit).accepted(200)
            let object = (try? JSONValue(parsing: answer.body))?.object
            guard let policy = object?["message-storage-policy"]?.int.flatMap(MessageStoragePolicy.init) else {
                throw answer.unexpected("the body contains no message storage policy")
            }
            return BroadcastChannel(id: id, bundleID: bundleID, environment: environment, policy: policy)
        }

        /// Deletes a channel permanently. APNs may still deliver a stored message.
        ///
        /// - Throws: `BroadcastError`. Its `isChannelGone` is `true` if the channel does not exist.
        public func delete(_ id: ChannelID, within limit: Duration = .seconds(30)) async throws(BroadcastError) {
            _ = try await call(.delete, id, within: limit).accepted(204, 200)
        }

        /// Returns the ids of all channels, in the order of APNs's list.
        ///
        /// - Throws: `BroadcastError`.
        public func list(within limit: Duration = .seconds(30)) async throws(BroadcastError) -> [ChannelID] {
            let answer = try await call(.get, path: "all-channels", within: limit).accepted(200)
            // Apple's page says that the body is empty, but its table describes the body.
            if answer.body.isEmpty { return [] }
            let limits = JSONLimits(bytes: CallStream.maximumBodyBytes)
            guard let texts = (try? JSONValue(parsing: answer.body, limits: limits))?.object?["channels"]?.array else {
                throw answer.unexpected("the body contains no list of channels")
            }
            let ids = texts.compactMap { $0.string.flatMap { ChannelID($0) } }
            guard ids.count == texts.count else {
                throw answer.unexpected("the list contains a value that is not a channel id")
            }
            return ids
        }

        private func call(
            _ method: Call.Method, _ id: ChannelID? = nil, path: String = "channels", body: [UInt8] = [],
            within limit: Duration
        ) async throws(BroadcastError) -> CallAnswer {
            let route = try client.broadcastRoute(bundleID, environment)
            var call = Call(
                method: method, path: "/1/apps/\(bundleID)/\(path)", deadline: client.time.monotonic() + limit)
            call.fields = [.init("apns-request-id", PushID.random())]
            if let id { call.fields.append(.init("apns-channel-id", id)) }
            call.body = body
            return try await route.manage(call)
        }
    }
}
