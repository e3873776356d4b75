import APNSClient
import APNSModel
import APNSSimulator
import Testing

/// GOAWAY from a simulated APNs that has not answered every push.
@Suite(.timeLimit(.minutes(5))) struct GoAwayEndToEndTests {
    @Test func `a GOAWAY costs nothing, although slow answers are still owed`() async throws {
        let key = SimulatedAPNS.Key()
        try await SimulatedAPNS.run([key]) { apns in
            let route = try apns.route(key)
            var specification = PhoneSpecification(user: "ann", bundleID: try SimulatedAPNS.bundleID())
            specification.environment = .sandbox
            let phone = try apns.simulator.addPhone(specification)
            let device = try #require(try apns.simulator.tokens(of: phone).device)
            var slow = FaultRule(.slow(.milliseconds(50)))
            slow.every = 41
            var goAway = FaultRule(.goAway(reason: "Shutdown", last: .this))
            goAway.every = 300
            apns.simulator.faults = [slow, goAway]
            let end = APNSClient.liveTime.monotonic() + .seconds(120)
            let pushes = try (0..<1_000).map { number in
                let payload = try AlertPayload(NotificationContent(title: .text("\(number)"), body: "On its way"))
                return Push(.alert(payload, to: device, route.envelope()), sendBefore: end, answerBy: end)
            }
            try await apns.withClient([route]) { client in
                let outcomes = Outcomes()
                client.submit(pushes) { outcomes.record($0, $1) }
                await outcomes.wait(for: pushes.count)
                #expect(outcomes.accepted == pushes.count && outcomes.areCompleteOnce, "\(outcomes.failures)")
            }
        }
    }
}
