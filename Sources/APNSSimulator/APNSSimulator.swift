public import APNSModel
public import Logging
internal import NIOCore
internal import ServiceLifecycle
internal import Synchronization

/// A local APNs with virtual phones behind it.
///
/// The simulator speaks HTTP/2 over TLS on a port of this machine and answers as Apple's pages describe. Its phones
/// treat a push as iOS does, including everything that iOS does silently.
///
/// Add phones, act on them, look at their lock screens and device logs, advance the clock, and cause faults. Everything
/// except `run()` works before and while the simulator runs.
public final class APNSSimulator: Sendable {
    /// The settings of a simulator.
    public struct Configuration: Sendable {
        /// Address that the simulator listens on. By default only this machine reaches it.
        public var host = "127.0.0.1"
        /// Port of each served environment. 0 takes a free port.
        public var ports: [APNSEnvironment: Int] = [.sandbox: 0]
        /// Port of each environment's channel management; `nil` takes a free port for each entry of `ports`.
        public var managementPorts: [APNSEnvironment: Int]?
        /// The rules for broadcast channels at the start. The simulator's `channelRules` changes them.
        public var channelRules = ChannelRules()
        /// Port of the control API. 0 takes a free port, `nil` serves none.
        public var controlPort: Int?
        /// Token that each call of the control API has to carry as `Authorization: Bearer`; `nil` asks for none. It is
        /// required if `host` is not an address of the loopback interface, because the control API hands out tokens and
        /// keys.
        public var controlToken: String?
        /// Host names of the server certificate, besides `localhost`, `127.0.0.1` and `::1`.
        public var certificateHosts: [String] = []
        /// Keys whose provider tokens the simulator accepts. `add(_ key:)` adds more.
        public var keys: [ProviderKey] = []
        /// Activity types that apps may have on phones made through the control API.
        public var activityTypes: [InstalledActivityType] = []
        /// Seed of the random numbers behind tokens, ids and probabilities.
        public var seed: UInt64 = 1
        /// Limits of iOS on phones that name none of their own.
        public var deviceLimits = DeviceLimits()
        /// Number of phones that may call their backend at the same time.
        public var concurrentCalls = 32
        /// Concurrent streams of a connection after its first valid provider token. Before it there is one stream.
        public var streams = 1000
        /// `true` if a 4xx other than 410 limits its connection to one stream until its next success.
        public var dropsStreamsAfterErrors = false
        /// `true` to refuse a key of the other environment with `BadEnvironmentKeyIdInToken`, as Apple's page spells
        /// it. `false` uses the spelling that is seen in the field.
        public var spellsAsDocumented = false
        /// Number of received pushes that are remembered.
        public var rememberedPushes = 10_000
        /// Maximum number of phones.
        public var phones = 200_000
        /// Maximum number of members of all crowds together.
        public var crowdMembers = 1_000_000
        /// Number of pushes that a token takes in a minute of the clock before `TooManyRequests`. `nil` sets no limit,
        /// because Apple publishes none.
        public var pushesPerTokenAndMinute: Int?
        /// Source of time; `nil` uses this machine's clocks.
        public var time: TimeSource?

        /// Creates the standard configuration: sandbox on a free port of the loopback interface, and no control API.
        public init() {}
    }

    /// The addresses of a running simulator.
    public struct Addresses: Sendable, Hashable {
        /// Address that the simulator listens on.
        public let host: String
        /// Port of each environment.
        public let ports: [APNSEnvironment: Int]
        /// Port of each environment's channel management.
        public let managementPorts: [APNSEnvironment: Int]
        /// Port of the control API; `nil` if it is not served.
        public let controlPort: Int?
        /// Certificate that a client has to trust, as PEM text.
        public let caPEM: String
    }

    let configuration: Configuration
    let engine: Engine
    let connections = FrontConnections()
    let logger: Logger
    /// Certificate that a client has to trust, as PEM text.
    public let caPEM: String
    private let authority: CertificateAuthority
    private let startup = OneShot<Addresses>()
    private let hasRun = Mutex(false)
    private let bound = Mutex<[APNSEnvironment: Int]?>(nil)

    /// Interval in real time at which the simulator looks for work that is due.
    private static let tick = Duration.milliseconds(20)

    /// Creates a simulator that does not listen yet.
    ///
    /// - Parameters:
    ///   - backend: Receiver of the calls of the apps on the phones; `nil` for none.
    ///   - logger: Receives lines at level `debug`, without tokens, keys or payloads.
    /// - Throws: An error if the certificates cannot be created.
    public init(
        _ configuration: Configuration = Configuration(), backend: (any PhoneBackend)? = nil,
        logger: Logger = Logger(label: "apns-simulator", factory: { _ in SwiftLogNoOpLogHandler() })
    ) throws {
        self.configuration = configuration
        self.logger = logger
        authority = try CertificateAuthority(hosts: configuration.certificateHosts)
        caPEM = authority.caPEM
        var limits = World.Limits()
        limits.phones = configuration.phones
        limits.crowdMembers = configuration.crowdMembers
        limits.pushesPerTokenAndMinute = configuration.pushesPerTokenAndMinute
        limits.received = max(1, configuration.rememberedPushes)
        limits.hasBackend = backend != nil
        limits.usesWireSpelling = !configuration.spellsAsDocumented
        var world = World(seed: configuration.seed, limits: limits, channelRules: configuration.channelRules)
        for key in configuration.keys { world.directory.keys[key.keyID] = key }
        engine = Engine(
            clock: SimulatorClock(configuration.time ?? .machine), world: world, backend: backend,
            concurrentCalls: max(1, configuration.concurrentCalls), logger: logger)
    }

    // MARK: Running

    /// The addresses of the simulator, once it listens.
    ///
    /// - Throws: The error that kept it from starting. `SimulatorError` with the code `notRunning` if it has stopped
    ///   before.
    public var started: Addresses {
        get async throws { try await startup.value }
    }

    /// Listens, advances time and delivers the phones' reports, until the task is canceled or shut down gracefully.
    ///
    /// - Throws: An error if a port is not available or the simulator ran before.
    public func run() async throws {
        let isSecond = hasRun.withLock { hasRun in
            defer { hasRun = true }
            return hasRun
        }
        guard !isSecond else { throw SimulatorError(.notRunning, "a simulator can run only once") }
        let access: ControlAccess
        do throws(SimulatorError) { access = try ControlAccess(configuration) } catch {
            startup.settle(.failure(error))
            throw error
        }
        defer {
            engine.finish()
            startup.settle(.failure(SimulatorError(.notRunning, "the simulator has stopped")))
        }
        var listeners: [any Channel] = []
        do {
            let ports = try await listen(&listeners)
            try await cancelWhenGracefulShutdown { try await self.serve(ports, access) }
            await close(listeners)
        } catch is CancellationError {
            await close(listeners)
        } catch {
            startup.settle(.failure(error))
            await close(listeners)
            throw error
        }
    }

    /// The ports of pushes and of channel management.
    private struct Ports {
        var push: [APNSEnvironment: Int] = [:]
        var management: [APNSEnvironment: Int] = [:]
    }

    private func listen(_ listeners: inout [any Channel]) async throws -> Ports {
        let server = FrontServer(engine: engine, tls: try authority.serverContext(), connections: connections)
        var ports = Ports()
        for (environment, port) in configuration.ports {
            let channel = try await bind(server, environment, port, isManagement: false)
            listeners.append(channel)
            ports.push[environment] = channel.localAddress?.port
        }
        for (environment, port) in configuration.managementPorts ?? configuration.ports.mapValues({ _ in 0 }) {
            let channel = try await bind(server, environment, port, isManagement: true)
            listeners.append(channel)
            ports.management[environment] = channel.localAddress?.port
        }
        let push = ports.push
        bound.withLock { $0 = push }
        return ports
    }

    private func bind(
        _ server: FrontServer, _ environment: APNSEnvironment, _ port: Int, isManagement: Bool
    ) async throws -> any Channel {
        try await server.bind(
            host: configuration.host, port: port,
            settings: FrontConnection.Settings(
                environment: environment, streams: max(1, configuration.streams),
                punishesErrors: configuration.dropsStreamsAfterErrors, isManagement: isManagement))
    }

    private func serve(_ ports: Ports, _ access: ControlAccess) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.engine.keepTime(every: Self.tick) }
            group.addTask {
                await self.engine.carryCalls()
                try Task.checkCancellation()
            }
            if let port = configuration.controlPort {
                let control = ControlServer(
                    simulator: self, host: configuration.host, port: port, access: access)
                group.addTask {
                    try await control.run { self.announce(ports, controlPort: $0) }
                }
            } else {
                announce(ports, controlPort: nil)
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    /// The ports of pushes; `nil` before the simulator listens.
    var boundPorts: [APNSEnvironment: Int]? { bound.withLock { $0 } }

    private func announce(_ ports: Ports, controlPort: Int?) {
        startup.settle(
            .success(
                Addresses(
                    host: configuration.host, ports: ports.push, managementPorts: ports.management,
                    controlPort: controlPort, caPEM: caPEM)))
    }

    private func close(_ listeners: [any Channel]) async {
        for listener in listeners { try? await listener.close() }
        await connections.closeAll()
    }
}
