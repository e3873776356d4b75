import APNSModel
import Crypto
import Foundation
import HTTPTypes
import Hummingbird
import JSONText
import LiveActivityCore
import LiveActivityProviders
import LoopbackServer
import OutboundHTTP
import TestSupport
import Testing

/// Real calls to a real server on loopback.
struct HTTPProviderTests {
    private static let secret = "whsec_" + Data((0..<32).map { UInt8($0) }).base64EncodedString()

    private static let question = RefreshQuestion(
        app: Sample.bundleID, type: "NextUp", user: Sample.user("ann"), zone: "Europe/Berlin", day: "2026-11-21",
        now: Sample.now, devices: [Sample.device("phone")], memo: ["goal": 1])

    private static func ask(
        _ url: String, allowPrivate: Bool = true, timeout: Duration = .seconds(60)
    ) async throws -> Result<RefreshAnswer?, RefreshFailure> {
        let connections = ProviderConnections()
        let secret = try #require(WebhookSecret(Self.secret))
        let target = HTTPProvider.Target(url: url, secret: secret, timeout: timeout, allowPrivate: allowPrivate)
        let provider = try #require(HTTPProvider(target, connections))
        let result: Result<RefreshAnswer?, RefreshFailure>
        do throws(RefreshFailure) { result = .success(try await provider.answer(to: question)) } catch {
            result = .failure(error)
        }
        connections.close()
        return result
    }

    private static func failure(_ result: Result<RefreshAnswer?, RefreshFailure>) -> RefreshFailure? {
        if case .failure(let failure) = result { failure } else { nil }
    }

    @Test func `the call says what is asked, and is signed as Standard Webhooks say`() async throws {
        try await withLoopbackServer({ _ in
            httpAnswer(.ok, #"{"state": {"title": "Run"}, "memo": {"goal": 2}, "priority": "high"}"#)
        }) { url, asked in
            let answer = try #require(try await Self.ask(url + "/next-up").get())
            #expect(answer.state == ["title": "Run"])
            #expect(answer.memo == ["goal": 2])
            #expect(answer.priority == .high)
            let call = try #require(asked().first)
            #expect(call.path == "/next-up")
            let body = try JSONValue(parsing: call.body)
            #expect(
                body == [
                    "app": "com.acme.pizza", "type": "NextUp", "user": "ann", "devices": ["phone"],
                    "timeZone": "Europe/Berlin", "localDay": "2026-11-21", "now": "2026-11-21T14:32:00Z",
                    "memo": ["goal": 1],
                ])
            func header(_ name: String) -> String { HTTPField.Name(name).flatMap { call.headers[$0] } ?? "" }
            #expect(header("webhook-timestamp") == "1795271520")
            #expect(header("webhook-id").hasPrefix("msg_"))
            var signed = Data("\(header("webhook-id")).\(header("webhook-timestamp")).".utf8)
            signed.append(contentsOf: call.body)
            let code = HMAC<SHA256>.authenticationCode(
                for: signed, using: SymmetricKey(data: Data((0..<32).map { UInt8($0) })))
            #expect(header("webhook-signature") == "v1," + Data(code).base64EncodedString())
        }
    }

    @Test func `the signature is that of the specification's own example`() throws {
        let secret = try #require(WebhookSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))
        let signature = secret.signature(
            id: "msg_p5jXN8AQM9LWM0D4loKWxJek", timestamp: 1_614_265_330, body: Array(#"{"test": 2432232314}"#.utf8))
        #expect(signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
        #expect("\(secret)" == "whsec_…")
    }

    @Test(arguments: ["", "whsec_", "whsec_c2hvcnQ=", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_***"])
    func `a text that is no secret is refused`(text: String) {
        #expect(WebhookSecret(text) == nil)
    }

    @Test(arguments: [(204, ""), (200, #"{"state": null}"#)])
    func `nothing to show is no state`(status: Int, body: String) async throws {
        try await withLoopbackServer({ _ in httpAnswer(.init(code: status), body) }) { url, _ in
            let result = try await Self.ask(url)
            #expect(result == .success(nil))
        }
    }

    @Test(arguments: [
        (200, "{}", RefreshFailure.Code.invalid), (200, "no", .invalid), (200, #"{"state": 5}"#, .invalid),
        (200, #"{"state": {}, "sate": 1}"#, .invalid), (200, #"{"state": {}, "askAgainAt": "soon"}"#, .invalid),
        (500, "", .unavailable), (503, "", .unavailable), (429, "", .unavailable), (404, "", .refused),
        (401, "", .refused),
    ])
    func `what is no answer fails with a word, and repeats nothing of it`(
        status: Int, body: String, code: RefreshFailure.Code
    ) async throws {
        try await withLoopbackServer({ _ in httpAnswer(.init(code: status), body) }) { url, _ in
            let failure = Self.failure(try await Self.ask(url))
            #expect(failure?.code == code)
        }
    }

    @Test func `a redirect is not followed`() async throws {
        try await withLoopbackServer({ _ in httpAnswer(.ok, #"{"state": {}}"#) }) { target, asked in
            try await withLoopbackServer({ _ in httpAnswer(.found, "", [.location: target]) }) { url, _ in
                let failure = Self.failure(try await Self.ask(url))
                #expect(failure == RefreshFailure(.refused, "HTTP 302"))
            }
            #expect(asked().isEmpty)
        }
    }

    @Test func `an answer over its limit is not read to the end`() async throws {
        let body = #"{"state": {"text": ""# + String(repeating: "x", count: HTTPProvider.maximumAnswerBytes) + #""}}"#
        try await withLoopbackServer({ _ in httpAnswer(.ok, body) }) { url, _ in
            let failure = Self.failure(try await Self.ask(url))
            #expect(failure?.code == .invalid)
        }
    }

    @Test func `a private address is refused before a byte is sent, unless it is allowed`() async throws {
        for url in ["https://127.0.0.1:9", "https://localhost:9", "https://[::1]:9"] {
            let failure = Self.failure(try await Self.ask(url, allowPrivate: false))
            #expect(failure?.detail.contains("private") == true, "\(url)")
        }
    }

    @Test func `nobody there is unreachable, which is the provider's own fault`() async throws {
        let failure = Self.failure(try await Self.ask("http://127.0.0.1:1"))
        #expect(failure?.code == .unreachable)
        #expect(failure?.isOfAll == true)
    }

    @Test(arguments: [
        ("https://example.com/a", false, true), ("http://example.com", false, false), ("http://127.0.0.1", true, true),
        ("https://me@example.com", false, false), ("ftp://example.com", true, false), ("https://", false, false),
        ("example.com", true, false), ("https://example.com/#a", false, false),
    ])
    func `only https URLs are taken, and http ones where private ones are`(
        url: String, allowPrivate: Bool, isAllowed: Bool
    ) {
        #expect(HTTPProvider.isAllowed(url, allowPrivate: allowPrivate) == isAllowed)
    }

    @Test(arguments: [
        ("8.8.8.8", true), ("127.0.0.1", false), ("10.1.2.3", false), ("172.16.0.1", false), ("172.32.0.1", true),
        ("192.168.1.1", false), ("169.254.169.254", false), ("100.64.0.1", false), ("0.0.0.0", false),
        ("224.0.0.1", false), ("255.255.255.255", false), ("192.0.2.1", false), ("::1", false), ("fe80::1", false),
        ("fd00::1", false), ("2606:4700::1111", true), ("::ffff:10.0.0.1", false), ("::ffff:8.8.8.8", true),
        ("2002:0a00:0001::1", false), ("2001:db8::1", false), ("::", false),
    ])
    func `addresses that are not on the public Internet are known`(text: String, isPublic: Bool) throws {
        #expect(PublicAddress.isPublic(try #require(PublicAddress.bytes(of: text))) == isPublic)
    }
}
