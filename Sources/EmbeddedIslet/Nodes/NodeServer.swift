#if PostgreSQL
    import APNSModel
    import AsyncHTTPClient
    import LiveActivityAPI
    import LiveActivityServer
    import LiveActivityStorage
    import Logging
    import NIOCore
    import NIOPosix
    import NIOSSL
    import ServiceLifecycle
    import StoragePostgreSQL
    import StorageSQL
    import Synchronization
    package import UnixSignals

    /// A server as one of several processes on a PostgreSQL database.
    ///
    /// One of them owns the database and does all the work. The others pass requests on to it, and one of them takes
    /// over when it has gone.
    package final class NodeServer: Sendable {
        private let parts: ServerParts
        private let url: String
        private let settings: NodeSettings

        /// - Throws: `IsletServer.Failure` if the database cannot be used, or if the token keys do not open it.
        package init(parts: ServerParts, database: DatabaseLocation, settings: NodeSettings) throws {
            guard case .postgres(let url) = database else {
                throw IsletServer.Failure("several nodes need a PostgreSQL database, not \(database)")
            }
            guard let tokenKeys = parts.tokenKeys else {
                throw IsletServer.Failure("several nodes need the keys that seal push tokens: no file lies beside them")
            }
            // Whatever is wrong with this node is told now, not when it is needed.
            let look = database.look(tokenKeys: tokenKeys, time: parts.time.wall)
            if let problem = look.problem { throw IsletServer.Failure("the database cannot be opened: \(problem)") }
            if let problem = look.tokenKeys { throw IsletServer.Failure("\(problem)") }
            if abs(look.clockAhead / .seconds(1)) > Self.maximumSkew {
                throw IsletServer.Failure(
                    "this machine's clock is \(Int(abs(look.clockAhead / .seconds(1)))) s off the database server's: "
                        + "synchronize both with NTP")
            }
            self.parts = parts
            self.url = url
            self.settings = settings
        }

        /// Difference of clocks, in seconds, from which a node does not start.
        private static let maximumSkew = 10.0

        /// Serves as the main service of a process. The given signals stop it.
        ///
        /// SIGHUP reloads the certificates, and the configuration if there is a reload.
        package func run(
            signals: [UnixSignal], reload: Reload? = nil, onListening: @escaping @Sendable (String) -> Void
        ) async throws {
            let me = NodeSighting(
                number: .random(in: 1 ... .max), address: settings.address, version: parts.version,
                secret: String(UInt64.random(in: 0 ... .max), radix: 36)
                    + String(
                        UInt64.random(in: 0 ... .max), radix: 36), age: .zero, silence: .zero, isOwner: false)
            let looks = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
            let desk = NodeDesk { looks.continuation.yield() }
            let commands = AsyncStream.makeStream(of: NodeOwnership.Command.self, bufferingPolicy: .bufferingNewest(2))
            let role = NodeRole(me: me.number)
            // One waits for the register, and one opens the database.
            let threads = NIOThreadPool(numberOfThreads: 2)
            threads.start()
            let node = DatabaseNode(number: me.number)
            var serving = parts
            let seen = NodesLastSeen()
            serving.nodes = { seen.list }
            let configuration = NodeConfiguration(serving)
            let ownership = NodeOwnership(
                configuration: configuration, database: .postgres(url: url), node: node, desk: desk,
                commands: commands.stream, role: role, threads: threads, logger: parts.logger,
                look: { looks.continuation.yield() })
            let membership = NodeMembership(
                me: me, url: url, memory: node.memory, seen: seen, desk: desk, looks: looks.stream, tls: trust,
                role: role, threads: threads, logger: parts.logger,
                command: { commands.continuation.yield($0) })
            let listeners = NodeListeners(
                parts.listening, peers: (settings.host, settings.port, me.secret), servesMetrics: parts.metrics,
                desk: desk, time: parts.time, logger: parts.logger, onListening: { onListening($0.description) })
            var services: [any Service] = parts.companions + [membership] + listeners.all
            if let watch = parts.certificateWatch { services.append(watch) }
            if !signals.isEmpty {
                services.append(
                    HangUps(
                        watch: parts.certificateWatch, logger: parts.logger, reload: reload,
                        parts: { configuration.parts }, change: configuration.change, note: configuration.note))
            }
            // Stops first: the listeners pass what comes meanwhile on to the next owner.
            services.append(ownership)
            let group = ServiceGroup(
                configuration: .init(
                    services: services.map { .init(service: $0) }, gracefulShutdownSignals: signals,
                    logger: parts.logger))
            let ended: Result<Void, any Error>
            do { ended = .success(try await group.run()) } catch { ended = .failure(error) }
            try await threads.shutdownGracefully()
            try ended.get()
        }

        /// The configuration of connections to other nodes, whose certificates are checked like any server's.
        private var trust: TLSConfiguration {
            var tls = TLSConfiguration.makeClientConfiguration()
            if let file = settings.trustRoots { tls.additionalTrustRoots = [.file(file)] }
            return tls
        }
    }

    /// The nodes as this one has last seen them.
    final class NodesLastSeen: Sendable {
        private let seen = Mutex<(nodes: NodesSeen, at: ContinuousClock.Instant)?>(nil)

        /// The nodes now. Adds the time since the last look to each node's age and silence.
        var list: NodeList {
            guard let (found, at) = seen.withLock(\.self) else { return NodeList(nodes: []) }
            var nodes = found
            let age = ContinuousClock.now - at
            for index in nodes.nodes.indices {
                nodes.nodes[index].silence += age
                nodes.nodes[index].age += age
            }
            return NodeList(nodes)
        }

        func take(_ nodes: NodesSeen) { seen.withLock { $0 = (nodes, .now) } }
    }

    /// The configuration of this node, whether it owns the database or not.
    final class NodeConfiguration: Sendable {
        private struct State {
            var parts: ServerParts
            var changes = 0
            var isRefused = false
            /// Server of this node while it owns the database.
            var server: IsletServer?
        }

        private let state: Mutex<State>

        init(_ parts: ServerParts) {
            state = Mutex(State(parts: parts))
        }

        var parts: ServerParts { state.withLock(\.parts) }
        /// Number of changes so far.
        var changes: Int { state.withLock(\.changes) }

        /// Goes on with a changed configuration, now if this node owns the database, else when it does.
        ///
        /// - Throws: `APNSClientError` for an invalid route. Then nothing has changed.
        func change(to parts: ServerParts) async throws {
            _ = try parts.makeClient()
            let server = state.withLock { state in
                state.parts = parts
                state.changes += 1
                return state.server
            }
            try await server?.change(to: parts)
        }

        /// Notes the server that has opened the database, and brings it to the changes since.
        ///
        /// - Parameter changes: Number of changes that the server was made with.
        func opened(_ server: IsletServer, after changes: Int) async throws {
            let (missed, isRefused) = state.withLock { state in
                state.server = server
                return (state.changes == changes ? nil : state.parts, state.isRefused)
            }
            server.note(isRefused: isRefused)
            if let missed { try await server.change(to: missed) }
        }

        /// Notes whether the last configuration was refused.
        func note(isRefused: Bool) {
            let server = state.withLock { state in
                state.isRefused = isRefused
                return state.server
            }
            server?.note(isRefused: isRefused)
        }

        func closed() { state.withLock { $0.server = nil } }
    }

    /// The role of this node, which its services share.
    final class NodeRole: Sendable {
        private let machine: Mutex<NodeMachine>

        init(me: Int64) {
            machine = Mutex(NodeMachine(me: me))
        }

        var state: NodeMachine.State { machine.withLock(\.state) }

        func change<Value>(_ body: (inout NodeMachine) -> Value) -> Value { machine.withLock { body(&$0) } }
    }
#endif
