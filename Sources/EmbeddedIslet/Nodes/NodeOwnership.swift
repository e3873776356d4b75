#if PostgreSQL
    import Logging
    import NIOPosix
    import ServiceLifecycle

    /// Owns the database when it is told to.
    struct NodeOwnership: Service {
        enum Command: Sendable {
            case open
            case resign
        }

        let parts: ServerParts
        let database: DatabaseLocation
        let node: Int64
        let commands: AsyncStream<Command>
        let role: NodeRole
        let logger: Logger
        /// Looks at the other nodes at once.
        let look: @Sendable () -> Void

        func run() async throws {
            defer { role.change { $0.leave() } }
            try await withThrowingTaskGroup(of: Void.self) { group in
                let (resignations, resign) = AsyncStream.makeStream(
                    of: Void.self, bufferingPolicy: .bufferingNewest(1))
                let (openings, open) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
                group.addTask {
                    for await command in commands.cancelOnGracefulShutdown() {
                        switch command {
                        case .open: open.yield()
                        case .resign: resign.yield()
                        }
                    }
                    open.finish()
                }
                group.addTask {
                    for await _ in openings {
                        try await own(until: resignations)
                        role.change { $0.closed() }
                        look()
                    }
                }
                try await group.waitForAll()
            }
        }

        private func own(until resignations: AsyncStream<Void>) async throws {
            let server: IsletServer
            do {
                server = try await NIOThreadPool.singleton.runIfActive { [parts, database, node] in
                    try IsletServer(parts: parts, database: database, node: node)
                }
            } catch {
                logger.notice("the database is not taken over", metadata: ["reason": "\(error)"])
                return
            }
            logger.notice("this node owns the database")
            role.change { $0.opened() }
            try await server.run(until: resignations)
        }
    }
#endif
