import APNSModel
import Foundation
import HTTPTypes
import JSONText
import LiveActivityAPI
import LiveActivityCore
import LiveActivityProviders
import LiveActivityWebhooks
import LoopbackServer
import TestSupport
import Testing

/// Real calls to a real endpoint on loopback.
struct WebhookTargetTests {
    private static let secretText = "whsec_" + Data((0..<32).map { UInt8($0) }).base64EncodedString()

    private static func message() -> WebhookMessage {
        var record = EventRecord(.dismissed, app: Sample.bundleID, at: Sample.now)
        record.activity = 3
        record.revision = 2
        return WebhookMessage(
            event: StoredEvent(number: 17, record: record, activity: Sample.activityID("order-1")), at: Sample.now)
    }

    private static func send(
        _ address: String, allowPrivate: Bool = true, timeout: Duration = .seconds(60)
    ) async throws -> WebhookQueue.Outcome {
        let connections = ProviderConnections()
        let secret = try #require(WebhookSecret(secretText))
        let target = try #require(
            WebhookTarget(
                .init(url: address + "/hook", secret: secret, timeout: timeout, allowPrivate: allowPrivate),
                connections))
        let outcome = await target.send(message())
        connections.close()
        return outcome
    }

    @Test func `a call is signed so that the API's own verification takes it`() async throws {
        try await withLoopbackServer({ _ in httpAnswer(.noContent) }) { address, asked in
            let outcome = try await Self.send(address)
            #expect(outcome == .taken)
            let call = try #require(asked().first)
            #expect(asked().count == 1 && call.path == "/hook")
            #expect(call.fields["content-type"] == "application/json")
            #expect(call.fields["webhook-id"] == Self.message().event.messageID)
            let verification = try #require(WebhookVerification(secret: Self.secretText))
            let now = try #require(Instant(milliseconds: Int(Sample.now.milliseconds) + 4000))
            let event = try verification.event(headers: call.fields, body: call.body, now: now)
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
        try await withLoopbackServer({ _ in httpAnswer(.init(code: status), "secret words", [.location: "/elsewhere"]) }
        ) {
            address, asked in
            let found = try await Self.send(address)
            #expect(found == outcome)
            #expect(asked().map(\.path) == ["/hook"])
        }
    }

    @Test func `when to come again is heeded where it is a number`() async throws {
        for (text, wait) in [("120", Duration.seconds(120)), ("-5", .zero), ("Fri, 01 Jan 2027", nil)] {
            try await withLoopbackServer({ _ in httpAnswer(.tooManyRequests, "", [.retryAfter: text]) }) { address, _ in
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
        try await withLoopbackServer({ _ in httpAnswer(.ok) }) { address, asked in
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
            #expect(words.contains("private") && asked().isEmpty)
            connections.close()
        }
        guard case .failed(let words, nil) = try await Self.send("http://127.0.0.1:1") else {
            Issue.record("nobody is there")
            return
        }
        #expect(words.hasPrefix("the call failed: "))
    }
}
