import APNSClient
import APNSModel
import APNSSimulator
import JSONText
import OrderTracking
import Testing

/// A service with faults while thousands of pushes are in flight. Each push has one outcome, none fails needlessly, and
/// none that may have arrived is sent again.
@Suite(.serialized, .timeLimit(.minutes(10))) struct TransportFaultTests {
    @Test func `connections that close in order, and refused streams, cost the caller nothing`() async throws {
        var faults = [fault(.goAway(reason: "Shutdown", last: .this), after: 700)]
        faults.append(fault(.goAway(reason: "Shutdown", last: .previous), after: 1_500))
        faults.append(fault(.refuseStream, after: 100, count: 40))
        faults.append(fault(.refuse(status: 503, reason: "Shutdown"), after: 2_300))
        let run = try await run(3_000, faults)
        #expect(run.accepted.count == 3_000)
        #expect(run.processed.count == 3_000)
    }

    @Test func `a connection that is lost costs what was open on it, once`() async throws {
        let run = try await run(3_000, [fault(.loseAnswer(.close), after: 1_000)])
        #expect((1...1_000).contains(run.unknown.count))
        #expect(run.accepted.count + run.unknown.count == 3_000)
    }

    @Test func `streams that are reset cost themselves alone`() async throws {
        let run = try await run(3_000, [fault(.loseAnswer(.reset), after: 500, count: 3)])
        #expect(run.unknown.count == 3 && run.accepted.count == 2_997)
        #expect(run.processed.count == 3_000)
    }

    @Test(arguments: [1, 2])
    func `streams that are cut to one and given back cost nothing`(connections: Int) async throws {
        // At the cut up to 1,000 pushes are in flight. Then they go one by one until the second rule.
        let faults = [fault(.limitStreams(1), after: 1_000), fault(.limitStreams(1_000), after: 2_600)]
        let run = try await run(4_000, faults, connections: connections)
        #expect(run.accepted.count == 4_000 && run.processed.count == 4_000)
    }

    @Test func `an answer in a thousand that is swallowed holds up no other`() async throws {
        let faults = (1...3).map { fault(.loseAnswer(.silence), after: $0 * 999) }
        let run = try await run(4_000, faults, swallowed: 3)
        #expect(run.unknown.count == 3 && run.accepted.count == 3_997)
        #expect(run.processed.count == 4_000)
    }

    // MARK: - A run

    /// Outcomes of the pushes, by their position in the batch.
    private struct Run {
        var accepted: Set<Int> = []
        var unknown: Set<Int> = []
        /// Pushes that the service received and judged.
        var processed: Set<PushID> = []
    }

    private func fault(_ effect: FaultRule.Effect, after skip: Int, count: Int = 1) -> FaultRule {
        var rule = FaultRule(effect)
        rule.skip = skip
        rule.count = count
        return rule
    }

    /// Sends this many pushes to phones whose APNs has these faults, and checks the rules of every run.
    ///
    /// - Parameter swallowed: Number of pushes that get no answer. They end when the client is closed, the others
    ///   before.
    private func run(
        _ count: Int, _ faults: [FaultRule], connections: Int = 2, swallowed: Int = 0
    ) async throws -> Run {
        let (key, p8) = SimulatorProviderKey.fresh(environments: [.sandbox], topics: nil)
        var configuration = APNSSimulator.Configuration()
        configuration.keys = [key]
        let simulator = try APNSSimulator(configuration)
        simulator.faults = faults
        let pushes = try pushes(count, simulator)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await simulator.run() }
            defer { group.cancelAll() }
            let ports = try await simulator.started
            var options = APNSClient.Options()
            options.maximumConnections = connections
            let route = APNSClient.Route(
                bundleID: Stack.bundleID, environment: .sandbox,
                key: try Signing.key(keyID: key.keyID, teamID: key.teamID, p8: p8),
                endpoint: try .init(host: ports.host, port: ports.ports[.sandbox] ?? 0),
                trustRoots: .pem(Array(ports.caPEM.utf8)))
            let client = try APNSClient(routes: [route], options: options)
            let outcomes = await outcomes(of: pushes, client, swallowed: swallowed)
            return try judge(outcomes, pushes, simulator)
        }
    }

    private typealias Outcomes = [Int: [Result<PushAnswer, PushFailure>]]

    private func outcomes(of pushes: [Push], _ client: APNSClient, swallowed: Int) async -> Outcomes {
        let (stream, continuation) = AsyncStream<(Int, Result<PushAnswer, PushFailure>)>.makeStream()
        client.submit(pushes) { index, result in continuation.yield((index, result)) }
        var outcomes: Outcomes = [:]
        var remaining = pushes.count - swallowed
        for await (index, result) in stream {
            outcomes[index, default: []].append(result)
            remaining -= 1
            if remaining == 0 { break }
        }
        await client.shutdown(within: .zero)
        continuation.finish()
        // A second outcome of any push would appear here.
        for await (index, result) in stream { outcomes[index, default: []].append(result) }
        return outcomes
    }

    private func judge(_ outcomes: Outcomes, _ pushes: [Push], _ simulator: APNSSimulator) throws -> Run {
        #expect(outcomes.count == pushes.count)
        #expect(outcomes.values.allSatisfy { $0.count == 1 }, "a push has one outcome")
        var run = Run()
        for (index, results) in outcomes {
            switch try #require(results.first) {
            case .success(let answer): if answer.status == 200 { run.accepted.insert(index) }
            case .failure(let failure): if failure.code == .unknownFate { run.unknown.insert(index) }
            }
        }
        #expect(run.accepted.count + run.unknown.count == pushes.count, "no other failure is one")
        var starts: Set<PushID> = []
        for received in simulator.received where received.status == 200 {
            #expect(run.processed.insert(received.id).inserted, "what was processed is not sent again")
            if received.event == "start" { starts.insert(received.id) }
        }
        #expect(run.accepted.allSatisfy { run.processed.contains(pushes[$0].request.id) })
        #expect(starts.count > pushes.count / 6, "starts are among them")
        return run
    }

    /// Returns starts and alerts, at both priorities, to fifty phones.
    private func pushes(_ count: Int, _ simulator: APNSSimulator) throws -> [Push] {
        let tokens = try (0..<50).map { number in
            var phone = PhoneSpecification(user: "user-\(number)", bundleID: Stack.bundleID)
            phone.installs(OrderTrackingAttributes.self)
            return try simulator.tokens(of: simulator.addPhone(phone))
        }
        let wall = APNSClient.liveTime.wall()
        let alert = PushAlert(title: .text("Your order"))
        let start = try StartPayload(
            timestamp: wall, attributesType: "OrderTrackingAttributes",
            attributes: EncodedObject(["orderId": "o1", "restaurant": "Da Mario"]),
            contentState: EncodedObject(["status": "preparing", "progress": 0.5]), alert: alert)
        let end = APNSClient.liveTime.monotonic() + .seconds(150)
        return try (0..<count).map { number in
            let envelope = PushRequest.Envelope(
                bundleID: Stack.bundleID, environment: .sandbox, priority: number.isMultiple(of: 3) ? .low : .high,
                expiration: .at(wall + .seconds(3_600)), id: PushID(high: 7, low: UInt64(number)))
            let token = tokens[number % tokens.count]
            let request: PushRequest
            if number % 5 == 0 {
                request = .start(start, to: try #require(token.pushToStart), envelope)
            } else {
                request = .alert(try AlertPayload(alert), to: try #require(token.device), envelope)
            }
            return Push(request, sendBefore: end, answerBy: end)
        }
    }
}
