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

        /// Serves as the main service of a process. The given signals stop it, and SIGHUP reloads the certificates.
        package func run(signals: [UnixSignal], onListening: @escaping @Sendable (String) -> Void) async throws {
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
            serving.companions = []
            serving.desk = desk
            let seen = NodesLastSeen()
            serving.nodes = { seen.list }
            let ownership = NodeOwnership(
                parts: serving, database: .postgres(url: url), node: node, commands: commands.stream,
                role: role, threads: threads, logger: parts.logger, look: { looks.continuation.yield() })
            let membership = NodeMembership(
                me: me, url: url, memory: node.memory, seen: seen, desk: desk, looks: looks.stream, tls: trust,
                role: role, threads: threads, logger: parts.logger,
                command: { commands.continuation.yield($0) })
            let listeners = NodeListeners(
                parts.listening, peers: (settings.host, settings.port), secret: me.secret, servesMetrics: parts.metrics,
                desk: desk,
                time: parts.time, logger: parts.logger, onListening: { onListening($0.description) })
            var services: [any Service] = parts.companions + [membership, listeners.peers, listeners.api]
            if let watchers = listeners.watchers { services.append(watchers) }
            if let watch = parts.certificateWatch { services.append(watch) }
            if !signals.isEmpty, let watch = parts.certificateWatch { services.append(HangUps(watch: watch)) }
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
