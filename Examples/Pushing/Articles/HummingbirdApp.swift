// article: hummingbird
import APNSClient
import APNSModel
import Hummingbird
import ServiceLifecycle

/// The client as a service: it ends in order when the application does.
struct PushService: Service {
    let client: APNSClient

    func run() async throws {
        try await cancelWhenGracefulShutdown { try await client.run() }
    }
}

func makeApplication(client: APNSClient, pizza: APNSClient.Route) -> some ApplicationProtocol {
    let router = Router()
    router.post("orders/:order/ready/:token") { _, context -> HTTPResponse.Status in
        let order = try context.parameters.require("order")
        let token = try DeviceToken(hex: context.parameters.require("token"))
        let payload = try AlertPayload(PushAlert(title: .text("Order \(order)"), body: "It is ready."))
        let answer = try await client.send(.alert(payload, to: token, pizza.envelope()), within: .seconds(10))
        return answer.verdict == .accepted ? .ok : .badGateway
    }
    var application = Application(router: router)
    application.addServices(PushService(client: client))
    return application
}
// end
