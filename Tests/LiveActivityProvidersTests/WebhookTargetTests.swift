import APNSModel
import Foundation
import HTTPTypes
import Hummingbird
import JSONText
import LiveActivityAPI
import LiveActivityCore
import LiveActivityProviders
import Logging
import NIOCore
import Synchronization
import TestSupport
import Testing

/// Real calls to a real endpoint on the loopback.
struct WebhookTargetTests {
    private static let secretText = "whsec_" + Data((0..<32).map { UInt8($0) }).base64EncodedString()

    private struct Call: Sendable {
        var headers: [String: String]
        var body: [UInt8]
        var path: String
    }

    private final class Calls: Sendable {
        private let list = Mutex<[Call]>([])
        var all: [Call] { list.withLock(\.self) }
        func add(_ call: Call) { list.withLock { $0.append(call) } }
    }

    private static func with(
        _ status: HTTPResponse.Status, headers: HTTPFields = [:], body: String = "",
        _ work: @escaping @Sendable (String, Calls) async throws -> Void
    ) async throws {
        let calls = Calls()
        let (addresses, found) = AsyncStream.makeStream(of: String.self)
        let responder = CallbackResponder<BasicRequestContext> { request, _ in
            let bytes = try await request.body.collect(upTo: 1 << 20)
            calls.add(
                Call(
                    headers: Dictionary(
                        request.headers.map { ($0.name.canonicalName, $0.value) }, uniquingKeysWith: { $1 }),
                    body: Array(bytes.readableBytesView), path: request.uri.path))
            return Response(status: status, headers: headers, body: .init(byteBuffer: ByteBuffer(string: body)))
        }
        let application = Application(
            responder: responder, configuration: .init(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { found.yield("http://127.0.0.1:\($0.localAddress?.port ?? 0)") },
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await application.run() }
            defer { group.cancelAll() }
            if let address = await addresses.first(where: { _ in true }) { try await work(address, calls) }
        }
    }

    private static func message() -> WebhookMessage {
        var record = EventRecord(.dismissed, app: Sample.bundleID, at: Sample.now)
        record.activity = 3
        record.revision = 2
        return WebhookMessage(
            event: StoredEvent(number: 17, record: record, activity: Sample.activityID("order-1")), at: Sample.now)
    }

    private static func send(
        _ address: String, allowPrivate: Bool = true, timeout: Duration = .seconds(5)
    ) async throws -> WebhookQueue.Outcome {
        let connections = ProviderConnections()
        let secret = try #require(WebhookSecret(secretText))
        let target = try #require(
            WebhookTarget(
                .init(url: address + "/hook", secret: secret, timeout: timeout, allowPrivate: allowPrivate),
                connections))
        let outcome = await target.send(message())
        try await connections.close()
        return outcome
    }

    @Test func `a call is signed so that the API's own verification takes it`() async throws {
        try await Self.with(.noContent) { address, calls in
            let outcome = try await Self.send(address)
            #expect(outcome == .taken)
            let call = try #require(calls.all.first)
            #expect(calls.all.count == 1 && call.path == "/hook")
            #expect(call.headers["content-type"] == "application/json")
            #expect(call.headers["webhook-id"] == Self.message().event.messageID)
            let verification = try #require(WebhookVerification(secret: Self.secretText))
            let now = try #require(Instant(milliseconds: Int(Sample.now.milliseconds) + 4000))
            let event = try verification.event(headers: call.headers, body: call.body, now: now)
            #expect(event.id == "17" && event.kind == .dismissed && event.activity == "order-1")
            #expect(event.revision == 2 && event.timestamp.milliseconds == Int(Sample.now.milliseconds))
        }
    }

    @Test(arguments: [
        (200, WebhookQueue.Outcome.taken), (202, .taken), (299, .taken), (410, .unsubscribed),
        (301, .failed("HTTP 301")), (307, .failed("HTTP 307")), (400, .failed("HTTP 400")),
        (404, .failed("HTTP 404")), (500, .failed("HTTP 500")),
    ])
    func `what a status means`(status: Int, outcome: WebhookQueue.Outcome) async throws {
        // A redirect is not followed.
        try await Self.with(.init(code: status), headers: [.location: "/elsewhere"], body: "secret words") {
            address, calls in
            let found = try await Self.send(address)
            #expect(found == outcome)
            #expect(calls.all.map(\.path) == ["/hook"])
        }
    }

    @Test func `when to come again is heeded where it is a number`() async throws {
        for (text, wait) in [("120", Duration.seconds(120)), ("-5", .zero), ("Fri, 01 Jan 2027", nil)] {
            try await Self.with(.tooManyRequests, headers: [.retryAfter: text]) { address, _ in
                let found = try await Self.send(address)
                #expect(found == .failed("HTTP 429", retryAfter: wait))
            }
        }
    }

    @Test(arguments: [
        ("https://backend.acme.com/islet?token=x#y", "https://backend.acme.com"),
        ("https://backend.acme.com:8443/a", "https://backend.acme.com:8443"),
        ("http://[::1]:8080/hook", "http://[::1]:8080"), ("https://10.0.0.1", "https://10.0.0.1"),
    ])
    func `of a URL that is shown, what may be a secret is left out`(url: String, origin: String) throws {
        let secret = try #require(WebhookSecret(Self.secretText))
        #expect(HTTPProvider.Target(url: url, secret: secret).origin == origin)
    }

    @Test func `nothing goes to a private address, to plain http, or to nobody`() async throws {
        try await Self.with(.ok) { address, calls in
            let connections = ProviderConnections()
            let secret = try #require(WebhookSecret(Self.secretText))
            for url in [address, "https://user@example.com/x", "ftp://example.com", "https://", "x"] {
                #expect(WebhookTarget(.init(url: url, secret: secret, allowPrivate: false), connections) == nil)
            }
            let inside = try #require(
                WebhookTarget(
                    .init(url: address.replacing("http:", with: "https:"), secret: secret, allowPrivate: false),
                    connections))
            guard case .failed(let words, nil) = await inside.send(Self.message()) else {
                Issue.record("it was sent")
                return
            }
            #expect(words.contains("private") && calls.all.isEmpty)
            try await connections.close()
        }
        guard case .failed(let words, nil) = try await Self.send("http://127.0.0.1:1") else {
            Issue.record("nobody is there")
            return
        }
        #expect(words.hasPrefix("the call failed: "))
    }
}
