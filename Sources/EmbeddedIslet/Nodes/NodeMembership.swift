#if PostgreSQL
    import AsyncHTTPClient
    import LiveActivityServer
    import Logging
    import NIOCore
    import NIOPosix
    import NIOSSL
    import ServiceLifecycle
    import StoragePostgreSQL

    /// Looks at the other nodes again and again, and follows the owner.
    struct NodeMembership: Service {
        let me: NodeSighting
        let url: String
        let desk: NodeDesk
        /// Elements for looks before the next beat.
        let looks: AsyncStream<Void>
        let tls: TLSConfiguration
        let role: NodeRole
        let logger: Logger
        let command: @Sendable (NodeOwnership.Command) -> Void

        func run() async throws {
            let register = Register(url)
            await cancelWhenGracefulShutdown {
                await withDiscardingTaskGroup { group in
                    let (beats, beat) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
                    group.addTask {
                        while (try? await ContinuousClock().sleep(for: NodeMachine.beat)) != nil { beat.yield() }
                    }
                    group.addTask { for await _ in looks { beat.yield() } }
                    beat.yield()
                    for await _ in beats { await look(register) }
                    group.cancelAll()
                }
            }
            _ = try? await register.use { [me] in try $0.forget(me.number) }
            await drop(desk.follow(nil))
        }

        private func look(_ register: Register) async {
            do {
                let before = role.state
                let seen = try await register.use { [me] in try $0.look(as: me) }
                for action in role.change({ $0.saw(seen, before: before) }) { try await perform(action, register) }
            } catch {
                // The owner may still be there, and answers if it is.
                logger.warning("the register of nodes does not answer", metadata: ["error": "\(error)"])
            }
        }

        private func perform(_ action: NodeMachine.Action, _ register: Register) async throws {
            switch action {
            case .open: command(.open)
            case .resign:
                logger.error("this node has lost the database's lock: it stops serving, and follows")
                command(.resign)
            case .expel(let node):
                logger.error("the owner is silent: its sessions are ended", metadata: ["owner": "\(node)"])
                try await register.use { try $0.expel(node) }
            case .follow(let owner):
                guard desk.peer?.number != owner?.number else { return }
                if let owner {
                    logger.notice("follows the owner", metadata: ["owner": "\(owner.address)"])
                }
                await drop(desk.follow(owner.map(peer)))
            }
        }

        private func peer(_ owner: NodeSighting) -> NodePeer {
            var options = HTTPClient.Configuration(tlsConfiguration: tls)
            options.redirectConfiguration = .disallow
            options.timeout = .init(connect: .seconds(1), read: .seconds(75))
            options.connectionPool.retryConnectionEstablishment = false
            options.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = Self.maximumConnections
            return NodePeer(
                number: owner.number, address: owner.address, secret: owner.secret,
                client: HTTPClient(eventLoopGroupProvider: .singleton, configuration: options))
        }

        /// Connections to the owner: one for each request that it is answering.
        private static let maximumConnections = 4096

        private func drop(_ peer: NodePeer?) async {
            // Requests that it had fail, and streams end.
            try? await peer?.client.shutdown()
        }

        /// The register, on a thread of its own at a time.
        private final class Register: @unchecked Sendable {
            private let nodes: PostgresNodes

            init(_ url: String) {
                nodes = PostgresNodes(of: url)
            }

            func use<Value: Sendable>(
                _ body: @escaping @Sendable (PostgresNodes) throws -> Value
            ) async throws -> Value {
                try await NIOThreadPool.singleton.runIfActive { [self] in try body(nodes) }
            }
        }
    }
#endif
