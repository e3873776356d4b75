public import APNSModel
public import Logging
internal import NIOCore
internal import ServiceLifecycle
internal import Synchronization

/// An APNs of your own with phones behind it: HTTP/2 over TLS on a port of this machine, lock screens to look at.
///
/// It answers as Apple's pages say APNs answers, and its phones do with a push what iOS does, in silence too. Add
/// phones, act on them, look at their lock screens and device logs, let hours pass, order faults. Everything but `run`
/// works before and while it runs.
public final class APNSSimulator: Sendable {
    /// Everything a simulator can be told before it starts.
    public struct Configuration: Sendable {
        /// Where it listens; nothing beyond this machine unless changed.
        public var host = "127.0.0.1"
        /// One port for each environment that is served; 0 takes a free one.
        public var ports: [APNSEnvironment: Int] = [.sandbox: 0]
        /// One port for the channel management of each environment; a free one for each of `ports` when `nil`.
        public var managementPorts: [APNSEnvironment: Int]?
        /// The apps with the Broadcast Capability; every app when `nil`.
        public var broadcastApps: Set<BundleID>?
        /// How many broadcast channels an app may have in an environment.
        public var channelsPerApp = 10_000
        /// The port of the control API; 0 takes a free one, `nil` serves none.
        public var controlPort: Int?
        /// What every call of the control API carries as `Authorization: Bearer`; none when `nil`. It has to be set
        /// where `host` is no address of the loopback: the control API hands out tokens and keys.
        public var controlToken: String?
        /// Host names its certificate is for, besides `localhost`, `127.0.0.1` and `::1`.
        public var certificateHosts: [String] = []
        /// The keys whose provider tokens it takes; `add(_ key:)` adds more.
        public var keys: [ProviderKey] = []
        /// What apps on phones made through the control API may have installed.
        public var activityTypes: [InstalledActivityType] = []
        /// Tokens, ids and probabilities follow from it.
        public var seed: UInt64 = 1
        /// How generous iOS is, unless a phone says otherwise.
        public var deviceLimits = DeviceLimits()
        /// How many phones speak to their backend at the same time.
        public var concurrentCalls = 32
        /// Concurrent streams of a connection after its first valid provider token; before it there is one.
        public var streams = 1000
        /// Whether a 4xx other than 410 takes a connection down to one stream until its next success.
        public var dropsStreamsAfterErrors = false
        /// Whether a key of the other environment is refused in the spelling of Apple's page,
        /// `BadEnvironmentKeyIdInToken`, instead of the one that is seen in the field.
        public var spellsAsDocumented = false
        /// How many received pushes are remembered.
        public var rememberedPushes = 10_000
        /// How many phones there may be.
        public var phones = 200_000
        /// How many members all crowds together may have.
        public var crowdMembers = 1_000_000
        /// How many pushes a token takes in a minute of the clock before `TooManyRequests`; any number when `nil`,
        /// since Apple says none.
        public var pushesPerTokenAndMinute: Int?
        /// The clocks; this machine's when `nil`.
        public var time: TimeSource?

        /// The standard configuration: sandbox on a free port of the loopback, no control API.
        public init() {}
    }

    /// Where a running simulator is.
    public struct Addresses: Sendable, Hashable {
        /// The address it listens on.
        public let host: String
        /// The port of each environment.
        public let ports: [APNSEnvironment: Int]
        /// The port of each environment's channel management.
        public let managementPorts: [APNSEnvironment: Int]
        /// The port of the control API, if it is served.
        public let controlPort: Int?
        /// The certificate that a client has to trust, as PEM text.
        public let caPEM: String
    }

    let configuration: Configuration
    let engine: Engine
    let connections = FrontConnections()
    let logger: Logger
    /// The certificate that a client has to trust, as PEM text.
    public let caPEM: String
    private let authority: CertificateAuthority
    private let startup = OneShot<Addresses>()
    private let hasRun = Mutex(false)
    private let bound = Mutex<[APNSEnvironment: Int]?>(nil)

    /// How often due things are looked for when nobody asks, in real time.
    private static let tick = Duration.milliseconds(20)

    /// A simulator that does not listen yet.
    ///
    /// - Parameters:
    ///   - backend: Whom the apps on the phones talk to; nobody when `nil`.
    ///   - logger: Gets lines at `debug`; never a token, key or payload.
    /// - Throws: When the certificates cannot be made.
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
        limits.broadcastApps = configuration.broadcastApps
        limits.channelsPerApp = configuration.channelsPerApp
        limits.usesWireSpelling = !configuration.spellsAsDocumented
        var world = World(seed: configuration.seed, limits: limits)
        for key in configuration.keys { world.directory.keys[key.keyID] = key }
        engine = Engine(
            clock: SimulatorClock(configuration.time ?? .machine), world: world, backend: backend,
            concurrentCalls: max(1, configuration.concurrentCalls), logger: logger)
    }

    // MARK: Running

    /// Where it listens, as soon as it does.
    ///
    /// - Throws: What kept it from starting; `SimulatorError` with the code `notRunning` when it has stopped before.
    public var started: Addresses {
        get async throws { try await startup.value }
    }

    /// Listens, lets time pass and carries the phones' reports, until the task is cancelled or shut down gracefully.
    ///
    /// - Throws: When a port cannot be had, or it was run before.
    public func run() async throws {
        let isSecond = hasRun.withLock { hasRun in
            defer { hasRun = true }
            return hasRun
        }
        guard !isSecond else { throw SimulatorError(.notRunning, "a simulator runs once") }
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

    /// The ports it listens on, once it does.
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
