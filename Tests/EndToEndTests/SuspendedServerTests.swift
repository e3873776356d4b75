import APNSClient
import APNSModel
import APNSSimulator
import EmbeddedIslet
import HTTP2TestServer
import LiveActivityCore
import Logging
import Synchronization
import TestSupport
import Testing

@testable import islet

/// B9: the server makes a lease with the same clock with which its client checks it.
@Suite struct SuspendedServerTests {
    @Test(.timeLimit(.minutes(5)))
    func `B9: a push that waited while the machine was suspended does not leave after its lease`() async throws {
        let suspended = Mutex(Duration.zero)
        let machine = TimeSource(
            wall: { APNSClient.liveTime.wall() + suspended.withLock(\.self) },
            monotonic: { APNSClient.liveTime.monotonic() + suspended.withLock(\.self) })
        try await TestServer.run(script: { _ in [] }) { apns in
            let signer = try Signing.key(
                keyID: "ABC123DEFG", teamID: "XYZ987MNOP", p8: SimulatorProviderKey.fresh().p8)
            let route = APNSClient.Route(
                bundleID: Stack.bundleID, environment: .sandbox, key: signer,
                endpoint: try .init(host: "127.0.0.1", port: apns.port), trustRoots: .pem(apns.authority.rootPEM))
            let parts = ServerParts(
                apps: [], routes: [route], version: Islet.version, machine: machine,
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            let client = try parts.makeClient()
            // The dispatcher makes pushes this way, by the server's clock.
            @Sendable func push(within lease: Duration) throws -> Push {
                let end = parts.time.monotonic() + lease
                let payload = try AlertPayload(NotificationContent(title: "t", body: "b"))
                let token = try DeviceToken(hex: String(repeating: "80a1", count: 16))
                return Push(
                    .alert(payload, to: token, route.envelope()),
                    sendBefore: end, answerBy: end)
            }
            let (outcomes, told) = AsyncStream.makeStream(of: Result<PushAnswer, PushFailure>.self)
            // Nothing is answered, and the second push waits for the first push's answer.
            client.submit([try push(within: .seconds(600))]) { _, _ in }
            while apns.requests.isEmpty, !Task.isCancelled { await Task.yield() }
            client.submit([try push(within: .seconds(100))]) { _, result in told.yield(result) }
            suspended.withLock { $0 = .seconds(300) }
            let outcome = await outcomes.first { _ in true }
            guard case .failure(let failure)? = outcome, failure.code == .notSentInTime else {
                Issue.record("\(String(describing: outcome))")
                return
            }
            #expect(apns.requests.count == 1)
            await client.shutdown(within: .zero)
        }
    }
}
