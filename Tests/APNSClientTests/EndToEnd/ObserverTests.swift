import APNSClient
import APNSModel
import Dispatch
import HTTP2TestServer
import NIOHTTP2
import NIOPosix
import Synchronization
import Testing

/// An observer that records its events as text.
final class RecordingObserver: APNSClientObserver {
    private let lines = Mutex<[String]>([])
    private let depths = Mutex<[Int]>([])
    private let isSane = Mutex(true)

    var heard: [String] { lines.withLock { $0 } }
    var queueDepths: [Int] { depths.withLock { $0 } }
    /// `true` if no duration was negative or longer than a test.
    var durationsAreSane: Bool { isSane.withLock { $0 } }

    private func hear(_ line: String, _ duration: Duration = .zero) {
        lines.withLock { $0.append(line) }
        if duration < .zero || duration > .seconds(300) { isSane.withLock { $0 = false } }
    }

    func connectionOpened(_ connection: APNSClient.ConnectionInfo, after duration: Duration) {
        hear("opened \(connection.number) \(connection.keyID)", duration)
    }

    func connectionFailed(_ connection: APNSClient.ConnectionInfo, reason: APNSClient.ConnectionEndReason) {
        hear("could not connect \(reason.code)")
    }

    func connectionClosed(
        _ connection: APNSClient.ConnectionInfo, reason: APNSClient.ConnectionEndReason, after duration: Duration
    ) {
        hear("closed \(connection.number) \(reason.code)", duration)
    }

    func providerTokenRenewed(_ connection: APNSClient.ConnectionInfo, issuedAt: UnixTime) {
        hear("token \(connection.number)")
    }

    func pushSent(_ push: APNSClient.PushInfo, after duration: Duration) {
        hear("sent \(push.id.low)", duration)
    }

    func pushAnswered(_ push: APNSClient.PushInfo, answer: PushAnswer, after duration: Duration) {
        hear("answered \(push.id.low) \(answer.verdict)", duration)
    }

    func pushFailed(_ push: APNSClient.PushInfo, failure: PushFailure, after duration: Duration) {
        hear("failed \(push.id.low) \(failure.code)", duration)
    }

    func queueChanged(_ endpoint: APNSClient.Endpoint, keyID: String, depth: Int) {
        depths.withLock { $0.append(depth) }
    }
}

/// An observer that blocks on a waiting push until that push has left.
private final class SlowObserver: APNSClientObserver {
    private let depths = Mutex<[Int]>([])
    private let isPatient = Mutex(false)
    private let hasLeft = DispatchSemaphore(value: 0)

    /// The depths in the order in which the observer finished with them. A gauge holds the last one.
    var told: [Int] { depths.withLock(\.self) }

    /// Makes the observer block once, from now on.
    func takeTime() { isPatient.withLock { $0 = true } }

    func pushSent(_ push: APNSClient.PushInfo, after duration: Duration) {
        if push.id.low == 2 { hasLeft.signal() }
    }

    func queueChanged(_ endpoint: APNSClient.Endpoint, keyID: String, depth: Int) {
        let waits = isPatient.withLock { isPatient in
            defer { isPatient = isPatient && depth == 0 }
            return isPatient && depth > 0
        }
        if waits { _ = hasLeft.wait(timeout: .now() + 60) }
        depths.withLock { $0.append(depth) }
    }
}

@Suite(.timeLimit(.minutes(5))) struct ObserverTests: Sending {
    @Test func `a life of two pushes is told in order, with verdicts and without tokens`() async throws {
        let observer = RecordingObserver()
        let script: TestServer.Script = { request in
            request.number == 1 ? [.answer(200)] : [.answer(410, body: #"{"reason":"Unregistered"}"#)]
        }
        try await TestServer.run(script: script) { server in
            var options = APNSClient.Options()
            options.maximumConnections = 1
            let client = try APNSClient(routes: [route(server)], options: options, observer: observer)
            _ = try await client.send(push(1))
            _ = try await client.send(push(2))
            await client.end(within: .seconds(5))
        }
        #expect(
            observer.heard == [
                "opened 1 ABC123DEFG", "token 1", "sent 1", "answered 1 accepted", "sent 2",
                "answered 2 tokenDead(APNSModel.Verdict.TokenDeath.inactive(since: nil))", "closed 1 drained",
            ])
        #expect(observer.durationsAreSane)
        #expect(observer.queueDepths.max() ?? 0 >= 1 && observer.queueDepths.last == 0)
        let token = try Make.request(1).destination.hex
        #expect(observer.heard.allSatisfy { !$0.contains(token.suffix(32)) })
    }

    @Test func `the last depth that is told is that of the queue, however long the observer takes over one`()
        async throws
    {
        let observer = SlowObserver()
        try await TestServer.run(script: { $0.number == 1 ? [] : [.answer(200)] }) { server in
            var options = APNSClient.Options()
            options.maximumConnections = 1
            let client = try APNSClient(routes: [route(server)], options: options, observer: observer)
            // The end of the first push makes room for the second: only one stream is open until the provider token is
            // accepted.
            var first = submit(client, [try push(1, within: 2)])
            while server.requests.isEmpty, !Task.isCancelled {
                // On a slow machine the push may time out before it has left.
                if !first.all.isEmpty { first = submit(client, [try push(1, within: 2)]) }
                await Task.yield()
            }
            let second = Outcomes()
            let waiting = try push(2)
            observer.takeTime()
            // The call blocks its thread, so it runs on a thread that may be blocked.
            try await NIOThreadPool.singleton.runIfActive {
                client.submit([waiting]) { index, result in second.record(index, result) }
            }
            await first.wait(for: 1)
            await second.wait(for: 1)
            #expect(second.accepted == 1)
            await client.end(within: .seconds(5))
        }
        #expect(observer.told.contains(1) && observer.told.last == 0, "\(observer.told)")
    }

    @Test func `a push that the client sends again is sent twice and answered once`() async throws {
        let observer = RecordingObserver()
        let script: TestServer.Script = { $0.number == 1 ? [.reset(.refusedStream)] : [.answer(200)] }
        try await TestServer.run(script: script) { server in
            let client = try APNSClient(routes: [route(server)], observer: observer)
            _ = try await client.send(push(1))
            await client.end(within: .seconds(5))
        }
        #expect(observer.heard.count { $0 == "sent 1" } == 2)
        #expect(observer.heard.count { $0.hasPrefix("answered 1") } == 1)
    }

    @Test func `what fails is told: a connection that cannot be made, and pushes that nobody takes`() async throws {
        let observer = RecordingObserver()
        let key = try Make.key()
        try await BoundSocket.whileNobodyListens { port in
            let route = APNSClient.Route(
                bundleID: try Make.bundleID(), environment: .sandbox, key: key,
                endpoint: try .init(host: "127.0.0.1", port: port))
            let client = try APNSClient(routes: [route], observer: observer)
            let failure = try await connectFailure(client)
            #expect(failure?.code == .cannotConnect)
            let stranger = await self.failure(client, try push(2, bundleID: "com.example.other"))
            #expect(stranger?.code == .notConfigured)
            await client.end(within: .zero)
        }
        #expect(observer.heard.contains("could not connect failed"))
        #expect(observer.heard.contains("failed 1 cannotConnect") && observer.heard.contains("failed 2 notConfigured"))
    }

    @Test func `an observer that wants to hear nothing writes nothing`() async throws {
        struct Deaf: APNSClientObserver {}
        try await TestServer.run(script: { _ in [.answer(200)] }) { server in
            let client = try APNSClient(routes: [route(server)], observer: Deaf())
            #expect(try await client.send(push(1)).status == 200)
            await client.end()
        }
    }
}
