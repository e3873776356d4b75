#if PostgreSQL
    import LiveActivityServer
    import Logging
    import NIOPosix
    import ServiceLifecycle

    /// Owns the database when it is told to.
    struct NodeOwnership: Service {
        enum Command: Sendable {
            case open
            case resign
        }

        let configuration: NodeConfiguration
        let database: DatabaseLocation
        let node: DatabaseNode
        let desk: NodeDesk
        let commands: AsyncStream<Command>
        let role: NodeRole
        /// Threads for waiting on the database.
        let threads: NIOThreadPool
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
                    var failures = 0
                    for await _ in openings {
                        let isTaken = try await own(until: resignations)
                        failures = isTaken ? 0 : failures + 1
                        // What keeps this node from owning the database must not keep another.
                        if failures > 1 {
                            try? await cancelWhenGracefulShutdown { [failures] in
                                try await ContinuousClock().sleep(for: Self.pause(after: failures))
                            }
                        }
                        role.change { $0.closed() }
                        look()
                    }
                }
                try await group.waitForAll()
            }
        }

        private static func pause(after failures: Int) -> Duration { .seconds(min(1 << min(failures - 2, 5), 30)) }

        /// Owns the database as long as it can.
        ///
        /// - Returns: `false` if it was not opened.
        private func own(until resignations: AsyncStream<Void>) async throws -> Bool {
            let server: IsletServer
            let changes = configuration.changes
            do {
                server = try await threads.runIfActive { [configuration, database, node, desk] in
                    try IsletServer(parts: configuration.parts, database: database, node: node, desk: desk)
                }
            } catch {
                logger.notice("the database is not taken over", metadata: ["reason": "\(error)"])
                return false
            }
            logger.notice("this node owns the database")
            role.change { $0.opened() }
            defer { configuration.closed() }
            // A change that came while the database was opened.
            async let _: Void = configuration.opened(server, after: changes)
            try await server.run(until: resignations)
            return true
        }
    }
#endif
