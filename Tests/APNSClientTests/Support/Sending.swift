import APNSClient
import APNSModel
import HTTP2TestServer

/// Helpers shared by tests with a real client and a real server.
protocol Sending {}

extension Sending {
    func push(
        _ number: Int = 1, within seconds: Double = 60, answerWithin answer: Double? = nil,
        bundleID: String = "com.example.pizza", priority: PushPriority = .high, fill: Int = 10
    ) throws -> Push {
        let now = APNSClient.liveTime.monotonic()
        return Push(
            try Make.request(number, bundleID: bundleID, priority: priority, fill: fill),
            sendBefore: now + .milliseconds(Int(seconds * 1_000)),
            answerBy: now + .milliseconds(Int((answer ?? seconds) * 1_000)))
    }

    func route(
        _ server: TestServer, roots: [UInt8]? = nil, keyID: String = "ABC123DEFG",
        bundleID: String = "com.example.pizza"
    ) throws -> APNSClient.Route {
        APNSClient.Route(
            bundleID: try Make.bundleID(bundleID), environment: .sandbox, key: try Make.key(keyID: keyID),
            endpoint: try APNSClient.Endpoint("https://127.0.0.1:\(server.port)"),
            trustRoots: .pem(roots ?? server.authority.rootPEM))
    }

    func withClient(
        _ server: TestServer, roots: [UInt8]? = nil, options: APNSClient.Options = APNSClient.Options(),
        grace: Duration = .seconds(5), _ body: (APNSClient) async throws -> Void
    ) async throws {
        let client = try APNSClient(routes: [route(server, roots: roots)], options: options)
        do {
            try await body(client)
        } catch {
            await client.end(within: .zero)
            throw error
        }
        await client.end(within: grace)
    }

    func submit(_ client: APNSClient, _ pushes: [Push]) -> Outcomes {
        let outcomes = Outcomes()
        client.submit(pushes) { index, result in outcomes.record(index, result) }
        return outcomes
    }

    func sendAll(_ client: APNSClient, _ pushes: [Push]) async -> Outcomes {
        let outcomes = submit(client, pushes)
        await outcomes.wait(for: pushes.count)
        return outcomes
    }

    func failure(_ client: APNSClient, _ push: Push) async -> PushFailure? {
        do throws(PushFailure) {
            _ = try await client.send(push)
            return nil
        } catch {
            return error
        }
    }

    /// Returns why no connection can be made. On a busy machine the first attempt may take longer than the first push.
    /// With `reason`, an attempt that ended for another reason, such as a late answer of TCP, is followed by the next.
    func connectFailure(_ client: APNSClient, naming reason: String = "") async throws -> PushFailure? {
        for number in 1...30 {
            let failure = await failure(client, try push(number, within: 1))
            if failure?.code != .cannotConnect { return failure }
            guard let failure, failure.detail == client.status.first?.lastError else { continue }
            if reason.isEmpty || failure.detail.contains(reason) { return failure }
        }
        return nil
    }

    func sendForStatus(_ client: APNSClient, _ number: Int) async throws -> Int {
        try await client.send(push(number)).status
    }

    func failureCode(_ client: APNSClient, _ number: Int) async throws -> PushFailure.Code? {
        await failure(client, try push(number))?.code
    }
}
