#if PostgreSQL
    import AsyncHTTPClient
    import NIOCore
    import NIOPosix

    /// Whether a node can be reached over the network, as a pure machine.
    ///
    /// A connection whose packets are lost looks like one whose answer takes long. So a node opens another connection
    /// from time to time, which needs no more than the other machine.
    struct PeerReach {
        /// Time for which no connection could be opened, after which the node counts as out of reach.
        static let patience = Duration.seconds(3)

        private var failing: (node: Int64, since: ContinuousClock.Instant)?

        /// Takes the result of an attempt.
        ///
        /// - Returns: `true` if the node counts as within reach.
        mutating func tried(_ node: Int64, isOpened: Bool, at now: ContinuousClock.Instant) -> Bool {
            guard !isOpened else {
                failing = nil
                return true
            }
            guard let failing, failing.node == node else {
                failing = (node, now)
                return true
            }
            return now - failing.since < Self.patience
        }

        /// Opens a connection to the listener for other nodes, and closes it again.
        ///
        /// - Returns: `false` if it was not opened within a second.
        static func opens(_ address: String) async -> Bool {
            guard let request = try? HTTPClient.Request(url: address) else { return false }
            let channel = try? await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .connectTimeout(.seconds(1)).connect(host: request.host, port: request.port).get()
            guard let channel else { return false }
            try? await channel.close()
            return true
        }
    }
#endif
