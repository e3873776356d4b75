import APNSClient
import APNSModel

extension SimulatedAPNS {
    /// Returns the route of an app to this simulator.
    func route(
        _ key: Key, _ bundleID: String = "com.example.pizza", _ environment: APNSEnvironment = .sandbox
    ) throws -> APNSClient.Route {
        let push = try APNSClient.Endpoint(host: host, port: ports[environment] ?? 0)
        let management = try APNSClient.Endpoint(
            host: host, port: managementPorts[environment] ?? 0)
        return try APNSClient.Route(
            bundleID, environment,
            key: ProviderKey(keyID: key.keyID, teamID: key.teamID, p8: key.p8), endpoint: push,
            trustRoots: .pem(roots), broadcast: .init(send: push, management: management))
    }

    /// Runs a client while the body runs.
    func withClient<Value>(
        _ routes: [APNSClient.Route], observer: (any APNSClientObserver)? = nil,
        _ body: (APNSClient) async throws -> Value
    ) async throws -> Value {
        let client = try APNSClient(routes: routes, observer: observer)
        do {
            let value = try await body(client)
            await client.end()
            return value
        } catch {
            await client.end(within: .zero)
            throw error
        }
    }
}
