public import APNSModel
import JSONText

extension APNSClient {
    /// Where broadcasts are sent to, and where channels are managed.
    public struct BroadcastEndpoints: Sendable, Hashable {
        /// Where broadcasts go.
        public var send: Endpoint
        /// Where they go if `send` cannot be reached or answers 404: Apple's own pages disagree about the host.
        public var sendFallback: Endpoint?
        /// Where channels are created, read, deleted and listed.
        public var management: Endpoint

        /// Endpoints of one's own: of a simulator, for instance.
        public init(send: Endpoint, sendFallback: Endpoint? = nil, management: Endpoint) {
            self.send = send
            self.sendFallback = sendFallback
            self.management = management
        }

        /// Apple's: `api.push.apple.com`, or else `api-broadcast.push.apple.com`, and
        /// `api-manage-broadcast.push.apple.com:2196`; in the sandbox `api.sandbox.push.apple.com`,
        /// `api-broadcast.sandbox.push.apple.com`, `api-manage-broadcast.sandbox.push.apple.com:2195`.
        public static func apple(_ environment: APNSEnvironment) -> Self {
            Self(
                send: .apple(environment), sendFallback: .appleBroadcast(environment),
                management: .appleManagement(environment))
        }
    }

    /// Sends one push to every Live Activity that subscribed to a channel.
    ///
    /// Success means that APNs took it, not that anybody saw it. A broadcast whose fate is unknown is not sent again.
    /// Source: Apple, "Sending broadcast push notification requests to APNs".
    ///
    /// - Parameter limit: How long it may take, with all waits and retries.
    /// - Returns: `apns-request-id` of the answer, for Apple's support.
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

    /// The channels of an app: at most 10,000 in each environment.
    ///
    /// The app id needs the Broadcast Capability, in the developer portal.
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

        /// Makes a channel. Keep its id: a call whose fate is unknown may have made one that `list()` shows.
        ///
        /// - Throws: `BroadcastError`; `cannotCreateChannelConfig` when there are 10,000 already.
        public func create(
            storing policy: MessageStoragePolicy, within limit: Duration = .seconds(30)
        ) async throws(BroadcastError) -> BroadcastChannel {
            let body: JSONValue = .object([
                "message-storage-policy": .number(JSONNumber(policy.rawValue)), "push-type": "LiveActivity",
            ])
            // 201 without a body: the id is in a header.
            let answer = try await call(.post, body: body.bytes, within: limit).accepted(201)
            guard let id = answer.channelID.flatMap({ ChannelID($0) }) else {
                throw answer.unexpected("there is no channel's id in its headers")
            }
            return BroadcastChannel(id: id, bundleID: bundleID, environment: environment, policy: policy)
        }

        /// What APNs knows of a channel.
        ///
        /// - Throws: `BroadcastError`; `isChannelGone` for one that is not there.
        public func read(
            _ id: ChannelID, within limit: Duration = .seconds(30)
        ) async throws(BroadcastError) -> BroadcastChannel {
            let answer = try await call(.get, id, within: limit).accepted(200)
            let object = (try? JSONValue(parsing: answer.body))?.object
            guard let policy = object?["message-storage-policy"]?.int.flatMap(MessageStoragePolicy.init) else {
                throw answer.unexpected("there is no message storage policy in its body")
            }
            return BroadcastChannel(id: id, bundleID: bundleID, environment: environment, policy: policy)
        }

        /// Deletes a channel for good; a message that is stored may still go out.
        ///
        /// - Throws: `BroadcastError`; `isChannelGone` for one that is not there.
        public func delete(_ id: ChannelID, within limit: Duration = .seconds(30)) async throws(BroadcastError) {
            _ = try await call(.delete, id, within: limit).accepted(204, 200)
        }

        /// The ids of all channels, in the order in which APNs lists them.
        public func list(within limit: Duration = .seconds(30)) async throws(BroadcastError) -> [ChannelID] {
            let answer = try await call(.get, path: "all-channels", within: limit).accepted(200)
            // Apple's words say that the body is empty, its table says what is in it.
            if answer.body.isEmpty { return [] }
            let limits = JSONLimits(bytes: CallStream.maximumBodyBytes)
            guard let texts = (try? JSONValue(parsing: answer.body, limits: limits))?.object?["channels"]?.array else {
                throw answer.unexpected("there is no list of channels in its body")
            }
            let ids = texts.compactMap { $0.string.flatMap { ChannelID($0) } }
            guard ids.count == texts.count else { throw answer.unexpected("its list has what is no channel's id") }
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
