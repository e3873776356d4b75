import APNSClient
import APNSModel
import JSONText

func firstPush(p8: String, token: String) async throws -> Verdict {
    // article: first-push
    let key = try ProviderKey(keyID: "ABC123DEFG", teamID: "XYZ987MNOP", p8: p8)
    let pizza = try APNSClient.Route("com.example.pizza", .production, key: key)
    let client = try APNSClient(routes: [pizza])
    let payload = try AlertPayload(PushAlert(title: "Order 1042", body: "Your pizza is on its way.", sound: "default"))
    let answer = try await client.send(.alert(payload, to: DeviceToken(hex: token), pizza.envelope()))
    await client.shutdown()
    // end
    return answer.verdict
}

struct Delivery: Codable {
    var status: String
    var minutes: Int
}

func firstStart(client: APNSClient, pizza: APNSClient.Route, token: String) async throws -> Verdict {
    // article: live-activity-start
    let now = APNSClient.liveTime.wall()
    let start = try StartPayload(
        timestamp: now, attributesType: "DeliveryAttributes", attributes: EncodedObject(["orderId": "1042"]),
        contentState: EncodedObject(encoding: Delivery(status: "preparing", minutes: 25)),
        alert: PushAlert(title: "Order 1042", body: "Follow it here."), staleDate: now + .seconds(900))
    let answer = try await client.send(
        .start(start, to: PushToStartToken(hex: token), pizza.envelope(expiration: .at(now + .seconds(300)))))
    // end
    return answer.verdict
}

func firstUpdate(client: APNSClient, pizza: APNSClient.Route, token: String) async throws -> Verdict {
    // article: live-activity
    let now = APNSClient.liveTime.wall()
    let state = try EncodedObject(encoding: Delivery(status: "delivering", minutes: 12))
    let update = try UpdatePayload(timestamp: now, contentState: state, staleDate: now + .seconds(900))
    let answer = try await client.send(
        .update(update, to: UpdateToken(hex: token), pizza.envelope(expiration: .at(now + .seconds(900)))))
    // end
    return answer.verdict
}

func firstEnd(client: APNSClient, pizza: APNSClient.Route, token: String) async throws -> Verdict {
    // article: live-activity-end
    let now = APNSClient.liveTime.wall()
    let last = try EncodedObject(encoding: Delivery(status: "delivered", minutes: 0))
    let end = try EndPayload(timestamp: now, contentState: last, dismissal: .at(now + .seconds(900)))
    let answer = try await client.send(
        .end(end, to: UpdateToken(hex: token), pizza.envelope(expiration: .at(now + .seconds(900)))))
    // end
    return answer.verdict
}

func everything(client: APNSClient, pizza: APNSClient.Route, device: DeviceToken) async throws {
    // article: notification
    var content = NotificationContent(title: "Order 1042", subtitle: "Da Mario", body: "It is at your door.")
    content.sound = .named("bell.caf")
    content.badge = 1
    content.threadID = "order-1042"
    content.interruptionLevel = .timeSensitive
    let payload = try AlertPayload(content, data: ["order": 1042])
    try await client.send(.alert(payload, to: device, pizza.envelope()))
    // end
}
