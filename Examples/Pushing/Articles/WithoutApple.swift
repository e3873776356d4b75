import APNSClient
import APNSModel
import APNSSimulator

func notifyWithoutApple(_ payload: AlertPayload) async throws -> [ShownAlert] {
    // article: without-apple
    let (key, p8) = simulatedKey()
    var configuration = APNSSimulator.Configuration()
    configuration.keys = [key]
    let simulator = try APNSSimulator(configuration)
    async let _: Void = simulator.run()  // until this function returns
    let apns = try await simulator.started

    let pizza = try APNSClient.Route(
        "com.example.pizza", .sandbox, key: .init(keyID: key.keyID, teamID: key.teamID, p8: p8),
        endpoint: APNSClient.Endpoint(host: apns.host, port: apns.ports[.sandbox] ?? 0),
        trustRoots: .pem(Array(apns.caPEM.utf8)))
    let client = try APNSClient(routes: [pizza])
    let phone = try simulator.addPhone(PhoneSpecification(user: "ada", bundleID: pizza.bundleID))
    if let token = try simulator.tokens(of: phone).device {
        try await client.send(.alert(payload, to: token, pizza.envelope()))
    }
    let screen = try await simulator.wait(for: phone) { !$0.notifications.isEmpty }
    await client.shutdown()
    // end
    return screen.notifications
}
