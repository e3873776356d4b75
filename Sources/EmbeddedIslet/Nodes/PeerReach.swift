#if PostgreSQL
    import AsyncHTTPClient
    import NIOCore
    import NIOPosix

    /// A pure machine that decides whether the network reaches a node.
    ///
    /// A connection whose packets are lost looks like one whose answer takes long. So another connection is opened from
    /// time to time. The other machine's kernel answers it, even if the process hangs.
    struct PeerReach {
        /// Time for which no connection could be opened, after which the node counts as out of reach.
        static let patience = Duration.seconds(3)

        private(set) var node: Int64
        private var failingSince: ContinuousClock.Instant?

        init(of node: Int64) {
            self.node = node
        }

        /// The result of an attempt to open a connection.
        enum Attempt: Sendable, Equatable {
            case opened(SocketAddress)
            /// The network or the other machine did not answer, or refused.
            case failed
            /// This machine could not try: no name was resolved, or no socket made.
            case none
        }

        /// Takes the result of an attempt.
        ///
        /// - Returns: `true` if the node counts as within reach.
        mutating func tried(_ attempt: Attempt, at now: ContinuousClock.Instant) -> Bool {
            switch attempt {
            case .opened: failingSince = nil
            case .failed: failingSince = failingSince ?? now
            case .none: break
            }
            return failingSince.map { now - $0 < Self.patience } ?? true
        }

        /// Time for one attempt.
        private static let limit = TimeAmount.seconds(1)

        /// Opens a connection to the listener for other nodes, and closes it again.
        ///
        /// - Parameter known: The address that the name has had; `nil` to resolve it.
        static func attempt(_ url: String, known: SocketAddress?) async -> Attempt {
            guard let request = try? HTTPClient.Request(url: url) else { return .none }
            // A URL has an IPv6 address in brackets.
            let host = request.host.hasPrefix("[") ? String(request.host.dropFirst().dropLast()) : request.host
            let address = known ?? (try? SocketAddress(ipAddress: host, port: request.port))
            let bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton).connectTimeout(limit)
            do {
                let channel =
                    if let address {
                        try await bootstrap.connect(to: address).get()
                    } else {
                        try await bootstrap.connect(host: host, port: request.port).get()
                    }
                let reached = channel.remoteAddress
                try? await channel.close()
                return reached.map(Attempt.opened) ?? .none
            } catch {
                // With a name, the cause may be its resolution. Calls on new connections then fail by themselves.
                return address != nil && isOfNetwork(error) ? .failed : .none
            }
        }

        private static func isOfNetwork(_ error: any Error) -> Bool {
            switch error {
            case ChannelError.connectTimeout: true
            case let error as IOError:
                [ECONNREFUSED, EHOSTUNREACH, ENETUNREACH, ETIMEDOUT, ECONNRESET].contains(error.errnoCode)
            default: false
            }
        }
    }
#endif
