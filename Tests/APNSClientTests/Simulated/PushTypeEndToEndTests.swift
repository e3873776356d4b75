import APNSClient
import APNSModel
import APNSSimulator
import JSONText
import Testing

/// Every push type over real TLS and HTTP/2, judged by a simulated APNs that checks topic, type, priority, size and
/// token.
@Suite(.timeLimit(.minutes(5))) struct PushTypeEndToEndTests {
    private static func phone(
        _ bundleID: String = "com.example.pizza", _ environment: APNSEnvironment = .sandbox
    ) throws
        -> PhoneSpecification
    {
        var phone = PhoneSpecification(user: "ann", bundleID: try SimulatedAPNS.bundleID(bundleID))
        phone.environment = environment
        return phone
    }

    @Test func `every push type is accepted as it is made`() async throws {
        let key = SimulatedAPNS.Key()
        try await SimulatedAPNS.run([key]) { apns in
            let (simulator, route) = (apns.simulator, try apns.route(key))
            let phone = try simulator.addPhone(Self.phone())
            let device = try #require(try simulator.tokens(of: phone).device)
            func hex(_ type: PushType) throws -> String { try simulator.addToken(for: type, on: phone) }
            let own: JSONObject = ["own": 1]
            var content = NotificationContent(title: "Order", body: "On its way", sound: .standard)
            content.badge = 1
            let requests: [PushRequest] = [
                .alert(try AlertPayload(content, data: own), to: device, route.envelope(priority: .lowest)),
                .background(BackgroundPayload(), to: device, route.envelope()),
                .voip(try VoIPPayload(data: own), to: try VoIPToken(hex: hex(.voip)), route.envelope()),
                .pushToTalk(
                    try PushToTalkPayload(data: own), to: try PushToTalkToken(hex: hex(.pushtotalk)), route.envelope()),
                .complication(
                    try ComplicationPayload(data: own), to: try ComplicationToken(hex: hex(.complication)),
                    route.envelope()),
                .fileProvider(
                    try FileProviderPayload(), to: try FileProviderToken(hex: hex(.fileprovider)), route.envelope()),
                .location(try LocationPayload(), to: try LocationToken(hex: hex(.location)), route.envelope()),
                .widgets(WidgetPayload(), to: try WidgetToken(hex: hex(.widgets)), route.envelope()),
                .control(ControlPayload(), to: try ControlToken(hex: hex(.controls)), route.envelope()),
            ]
            try await apns.withClient([route]) { client in
                for request in requests {
                    let answer = try await client.send(request)
                    #expect(answer.status == 200 && answer.id == request.id, "\(request)")
                }
            }
            let received = simulator.received
            #expect(received.map(\.pushType) == requests.map(\.topic.pushType.rawValue))
            #expect(received.map(\.topic) == requests.map(\.topic.text))
            #expect(received.first { $0.pushType == "background" }?.priority == "5")
            #expect(received.first { $0.pushType == "pushtotalk" }?.expiration == "0")
            #expect(received.first { $0.pushType == "alert" }?.expiration == nil)
            #expect(received.first { $0.pushType == "alert" }?.priority == "1")
        }
    }

    @Test func `a token of one type is not for another`() async throws {
        let key = SimulatedAPNS.Key()
        try await SimulatedAPNS.run([key]) { apns in
            let route = try apns.route(key)
            let phone = try apns.simulator.addPhone(Self.phone())
            let hex = try apns.simulator.addToken(for: .voip, on: phone)
            try await apns.withClient([route]) { client in
                let answer = try await client.send(
                    .widgets(WidgetPayload(), to: try WidgetToken(hex: hex), route.envelope()))
                #expect(answer.verdict == .tokenDead(.wrongTopic))
            }
        }
    }

    @Test func `keys of several teams, and both environments, go side by side, each over connections of its own`()
        async throws
    {
        let pizza = SimulatedAPNS.Key(keyID: "PIZZA00001", teamID: "TEAMPIZZA1")
        let pasta = SimulatedAPNS.Key(keyID: "PASTA00001", teamID: "TEAMPASTA1")
        try await SimulatedAPNS.run([pizza, pasta], { $0.ports = [.sandbox: 0, .production: 0] }) { apns in
            let places: [(SimulatedAPNS.Key, String, APNSEnvironment)] = [
                (pizza, "com.example.pizza", .sandbox), (pizza, "com.example.pizza", .production),
                (pizza, "com.example.calzone", .sandbox), (pasta, "com.example.pasta", .sandbox),
            ]
            let routes = try places.map { try apns.route($0.0, $0.1, $0.2) }
            let observer = RecordingObserver()
            try await apns.withClient(routes, observer: observer) { client in
                for (route, place) in zip(routes, places) {
                    let phone = try apns.simulator.addPhone(Self.phone(place.1, place.2))
                    let token = try #require(try apns.simulator.tokens(of: phone).device)
                    let payload = try AlertPayload(PushAlert(title: "Hello"))
                    let answer = try await client.send(.alert(payload, to: token, route.envelope()))
                    #expect(answer.status == 200, "\(place.1) in \(place.2)")
                }
                // Two apps of one team in one environment share a connection. All others have their own.
                #expect(client.status.map(\.keyID).sorted() == ["PASTA00001", "PIZZA00001", "PIZZA00001"])
                #expect(client.status.allSatisfy { $0.connections.count == 1 })
            }
            #expect(observer.heard.count { $0.hasPrefix("opened 1 ") } == 3)
        }
    }
}
