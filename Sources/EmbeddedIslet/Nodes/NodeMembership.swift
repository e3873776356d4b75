#if PostgreSQL
    import AsyncHTTPClient
    import LiveActivityServer
    import Logging
    import NIOCore
    import NIOPosix
    import NIOSSL
    import ServiceLifecycle
    import StoragePostgreSQL
    import Synchronization

    /// Looks at the other nodes again and again, and follows the owner.
    struct NodeMembership: Service {
        let me: NodeSighting
        let url: String
        let memory: PostgresMemory
        /// Takes what was seen, for the owner's callers.
        let seen: NodesLastSeen
        let desk: NodeDesk
        /// Elements for looks before the next beat.
        let looks: AsyncStream<Void>
        let tls: TLSConfiguration
        let role: NodeRole
        /// Threads for waiting on the database.
        let threads: NIOThreadPool
        let logger: Logger
        let command: @Sendable (NodeOwnership.Command) -> Void
        private let former = Former()
        private let reach = OwnerReach()

        func run() async throws {
            let register = Register(PostgresNodes(of: url, memory: memory), threads)
            await cancelWhenGracefulShutdown {
                await withDiscardingTaskGroup { group in
                    let (beats, beat) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
                    group.addTask {
                        while (try? await ContinuousClock().sleep(for: NodeMachine.beat)) != nil { beat.yield() }
                    }
                    group.addTask { for await _ in looks { beat.yield() } }
                    group.addTask {
                        while (try? await ContinuousClock().sleep(for: NodeMachine.beat)) != nil {
                            await probe()
                        }
                    }
                    beat.yield()
                    for await _ in beats {
                        await look(register)
                        // A connection may take long to close, and the next look does not wait for it.
                        for peer in former.takeAll() { group.addTask { try? await peer.client.shutdown() } }
                        // A database that is in trouble is not asked without pause.
                        try? await ContinuousClock().sleep(for: Self.pause)
                    }
                    group.cancelAll()
                }
            }
            _ = try? await register.use { [me] in try $0.forget(me.number) }
            if let last = desk.follow(nil) { former.add(last) }
            for peer in former.takeAll() { try? await peer.client.shutdown() }
        }

        /// Least time between two looks.
        private static let pause = Duration.milliseconds(50)

        private func look(_ register: Register) async {
            do {
                let before = role.state
                var now = me
                now.calls = desk.calls
                let found = try await register.use { [now] in try $0.look(as: now) }
                seen.take(found)
                for action in role.change({ $0.saw(found, before: before) }) {
                    try await perform(action, register)
                }
                register.isSilent = false
            } catch {
                // The owner may still be there, and answers if it is.
                guard !register.isSilent else { return }
                register.isSilent = true
                logger.warning("the register of nodes does not answer", metadata: ["error": "\(error)"])
            }
        }

        /// Tries to reach the owner. If the network does not, calls in flight fail, and others wait for it.
        private func probe() async {
            guard let (owner, known) = reach.target else { return }
            let attempt = await PeerReach.attempt(owner.address, known: known)
            guard !reach.tried(owner.number, attempt), desk.peer?.number == owner.number,
                let old = desk.follow(nil)
            else { return }
            logger.warning("the network does not reach the owner", metadata: ["owner": "\(owner.address)"])
            try? await old.client.shutdown()
        }

        private func perform(_ action: NodeMachine.Action, _ register: Register) async throws {
            switch action {
            case .open: command(.open)
            case .resign:
                logger.error("this node has lost the database's lock: it stops serving, and follows")
                desk.vacate()
                command(.resign)
            case .expel(let node):
                logger.error("the owner is silent: its sessions are ended", metadata: ["owner": "\(node)"])
                try await register.use { try $0.expel(node) }
            case .follow(let found):
                let owner = reach.watch(found) ? found : nil
                guard desk.peer?.number != owner?.number else { return }
                if let owner {
                    logger.notice("follows the owner", metadata: ["owner": "\(owner.address)"])
                }
                if let old = desk.follow(owner.map(peer)) { former.add(old) }
            }
        }

        private func peer(_ owner: NodeSighting) -> NodePeer {
            var options = HTTPClient.Configuration(tlsConfiguration: tls)
            options.redirectConfiguration = .disallow
            // One connection of HTTP/2 would limit the calls at a time to its streams.
            options.httpVersion = .http1Only
            // Ends before the owner ends it, so that no call meets a connection that is being closed.
            options.connectionPool.idleTimeout = .seconds(20)
            options.timeout = .init(connect: .seconds(1), read: .seconds(75))
            options.connectionPool.retryConnectionEstablishment = false
            options.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = Self.maximumConnections
            return NodePeer(
                number: owner.number, address: owner.address, secret: owner.secret,
                client: HTTPClient(eventLoopGroupProvider: .singleton, configuration: options))
        }

        /// Connections to the owner: one for each request that it is answering.
        private static let maximumConnections = 4096

        /// Owners of before, whose clients must be shut down. Requests that they had then fail, and streams end.
        private final class Former: Sendable {
            private let peers = Mutex<[NodePeer]>([])

            func add(_ peer: NodePeer) { peers.withLock { $0.append(peer) } }

            func takeAll() -> [NodePeer] {
                peers.withLock { peers in
                    defer { peers = [] }
                    return peers
                }
            }
        }

        /// The owner and the results of its probes. The looks say who it is.
        private final class OwnerReach: Sendable {
            private struct State {
                var owner: NodeSighting?
                var address: SocketAddress?
                var reach = PeerReach(of: 0)
                var isReached = true
            }

            private let state = Mutex(State())

            /// The owner to probe, and the address that its name has had.
            var target: (owner: NodeSighting, known: SocketAddress?)? {
                state.withLock { state in state.owner.map { ($0, state.address) } }
            }

            /// Takes who the owner is; `nil`: no other node.
            ///
            /// - Returns: `true` if it counts as within reach.
            func watch(_ owner: NodeSighting?) -> Bool {
                state.withLock { state in
                    guard let owner else {
                        state.owner = nil
                        return true
                    }
                    if state.reach.node != owner.number {
                        state = State(owner: owner, reach: PeerReach(of: owner.number))
                    } else if state.owner == nil {
                        // The same one again: its address stays, and its failures of before do not count.
                        state = State(owner: owner, address: state.address, reach: PeerReach(of: owner.number))
                    }
                    return state.isReached
                }
            }

            /// Takes the result of a probe of a node.
            ///
            /// - Returns: `true` if it counts as within reach.
            func tried(_ node: Int64, _ attempt: PeerReach.Attempt) -> Bool {
                state.withLock { state in
                    guard state.owner?.number == node else { return true }
                    if case .opened(let address) = attempt { state.address = address }
                    state.isReached = state.reach.tried(attempt, at: .now)
                    return state.isReached
                }
            }
        }

        /// The register, used by one thread at a time.
        private final class Register: @unchecked Sendable {
            /// `true` since it has not answered. Only the task of the looks uses it.
            var isSilent = false
            private let nodes: PostgresNodes
            private let threads: NIOThreadPool

            init(_ nodes: PostgresNodes, _ threads: NIOThreadPool) {
                self.nodes = nodes
                self.threads = threads
            }

            func use<Value: Sendable>(
                _ body: @escaping @Sendable (PostgresNodes) throws -> Value
            ) async throws -> Value {
                try await threads.runIfActive { [self] in try body(nodes) }
            }
        }
    }
#endif
