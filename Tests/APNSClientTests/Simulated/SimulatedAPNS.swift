import APNSModel
import APNSSimulator
import Crypto

/// A simulator with its keys. It has a file of its own because the client has a `ProviderKey` too.
struct SimulatedAPNS: Sendable {
    let simulator: APNSSimulator
    private let addresses: APNSSimulator.Addresses

    var host: String { addresses.host }
    var ports: [APNSEnvironment: Int] { addresses.ports }
    var managementPorts: [APNSEnvironment: Int] { addresses.managementPorts }
    var roots: [UInt8] { Array(addresses.caPEM.utf8) }

    /// The sender's half of a key.
    struct Key: Sendable {
        var keyID = "SIMKEY0001"
        var teamID = "SIMTEAM001"
        let secret = P256.Signing.PrivateKey()
        var p8: String { secret.pemRepresentation }
        var environments = Set(APNSEnvironment.allCases)
        var topics: Set<BundleID>?
    }

    /// Runs a simulator that accepts these keys while the body runs.
    static func run<Value: Sendable>(
        _ keys: [Key], _ change: (inout APNSSimulator.Configuration) -> Void = { _ in },
        body: @escaping @Sendable (SimulatedAPNS) async throws -> Value
    ) async throws -> Value {
        var configuration = APNSSimulator.Configuration()
        configuration.keys = keys.map {
            ProviderKey(
                keyID: $0.keyID, teamID: $0.teamID, publicKey: $0.secret.publicKey, environments: $0.environments,
                topics: $0.topics)
        }
        change(&configuration)
        let simulator = try APNSSimulator(configuration)
        return try await withThrowingTaskGroup(of: Value?.self) { group in
            group.addTask {
                try await simulator.run()
                return nil
            }
            group.addTask {
                try await body(SimulatedAPNS(simulator: simulator, addresses: try await simulator.started))
            }
            defer { group.cancelAll() }
            while let value = try await group.next() {
                if let value { return value }
            }
            throw CancellationError()
        }
    }

    static func bundleID(_ text: String = "com.example.pizza") throws -> BundleID {
        guard let id = BundleID(text) else { throw SimulatedError() }
        return id
    }

    struct SimulatedError: Error {}
}
