import JSONText
import LiveActivityAPI
import LiveActivityWebhooks
import Testing

@Suite struct WebhookVerificationTests {
    /// The example of Standard Webhooks' own libraries.
    private static let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    private static let id = "msg_p5jXN8AQM9LWM0D4loKWxJek"
    private static let sentAt = 1_614_265_330
    private static let body = Array(#"{"test": 2432232314}"#.utf8)
    private static let signature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="

    private static var headers: [String: String] {
        ["webhook-id": id, "webhook-timestamp": String(sentAt), "webhook-signature": signature]
    }

    private static func now(_ offset: Int = 0) throws -> Instant {
        try #require(Instant(milliseconds: (sentAt + offset) * 1000))
    }

    private func outcome(
        _ secrets: [String] = [Self.secret], _ headers: [String: String] = Self.headers, _ body: [UInt8] = Self.body,
        at offset: Int = 0
    ) throws -> WebhookVerification.Failure? {
        let verification = try #require(WebhookVerification(secrets: secrets))
        let now = try Self.now(offset)
        do throws(WebhookVerification.Failure) {
            let found = try verification.verify(headers: headers, body: body, now: now)
            #expect(found == Self.id)
            return nil
        } catch {
            return error
        }
    }

    @Test func `a known signature is taken, in headers of any case`() throws {
        #expect(try outcome() == nil)
        let upper = Dictionary(uniqueKeysWithValues: Self.headers.map { ($0.key.uppercased(), $0.value) })
        #expect(try outcome([Self.secret], upper) == nil)
        #expect(try outcome([" \(Self.secret)\n"]) == nil)
    }

    @Test func `whatever is changed, it is taken no more`() throws {
        for index in Self.body.indices {
            var body = Self.body
            body[index] ^= 1
            #expect(try outcome([Self.secret], Self.headers, body) == .wrongSignature)
        }
        #expect(try outcome([Self.secret], Self.headers, []) == .wrongSignature)
        #expect(try outcome(["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSx"]) == .wrongSignature)
        var headers = Self.headers
        headers["webhook-id"] = Self.id + "x"
        #expect(try outcome([Self.secret], headers) == .wrongSignature)
        headers = Self.headers
        headers["webhook-timestamp"] = String(Self.sentAt + 1)
        #expect(try outcome([Self.secret], headers) == .wrongSignature)
        for signature in [
            "", "v1,", "v1,g0hM", "v1," + String(repeating: "A", count: 44), "v2," + Self.signature.dropFirst(3),
            String(Self.signature.dropFirst(3)), Self.signature.uppercased(), Self.signature + "=",
            String(Self.signature.dropLast()), Self.signature.replacing("/", with: "_"),
        ] {
            headers = Self.headers
            headers["webhook-signature"] = signature
            #expect(try outcome([Self.secret], headers) == .wrongSignature, "\(signature)")
        }
    }

    @Test func `one of several signatures, or of several secrets, is enough`() throws {
        var headers = Self.headers
        headers["webhook-signature"] = "v1,AAAA v1a,xyz \(Self.signature) v2,BBBB"
        #expect(try outcome([Self.secret], headers) == nil)
        // An entry that is not Base64 does not end the search.
        headers["webhook-signature"] = "v1,-- v1, \(Self.signature)"
        #expect(try outcome([Self.secret], headers) == nil)
        #expect(try outcome(["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSx", Self.secret]) == nil)
    }

    @Test func `each header is needed, and its time is the receiver's within five minutes`() throws {
        for name in Self.headers.keys {
            var headers = Self.headers
            headers[name] = nil
            #expect(try outcome([Self.secret], headers) == .missingHeader(name))
        }
        for text in ["", "x", "-5", "1614265330.5", "999999999999999999999"] {
            var headers = Self.headers
            headers["webhook-timestamp"] = text
            #expect(try outcome([Self.secret], headers) == .unreadableTimestamp, "\(text)")
        }
        for (offset, isTaken) in [(-300, true), (-301, false), (300, true), (302, false), (86_400, false)] {
            #expect(try outcome(at: offset) == (isTaken ? nil : .wrongTime), "\(offset)")
        }
    }

    @Test(arguments: [
        "", "whsec_", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS", "whsec_c2hvcnQ=",
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLa S", "whsec_" + String(repeating: "A", count: 120),
        "whsec_" + String(repeating: "=", count: 32), "whsec_A=======",
    ])
    func `a secret of another form is none`(secret: String) {
        #expect(WebhookVerification(secret: secret) == nil)
        #expect(WebhookVerification(secrets: [Self.secret, secret]) == nil)
    }

    @Test func `without a secret there is nothing to verify with`() {
        #expect(WebhookVerification(secrets: []) == nil)
    }

    @Test func `what is genuine and no event says so`() throws {
        let verification = try #require(WebhookVerification(secret: Self.secret))
        #expect(throws: WebhookVerification.Failure.notAnEvent) {
            try verification.event(headers: Self.headers, body: Self.body, now: Self.now())
        }
    }

    @Test func `an event is read with what it has, and one of a kind to come as well`() throws {
        let text = #"""
            {"id":"42","type":"token-dead","timestamp":"2026-11-21T14:45:01.500Z","app":"com.acme.pizza",
             "activity":"order-1","run":1,"revision":3,"device":"phone","reason":"token-inactive","token":"update"}
            """#
        let event = try JSONValue(parsing: text).decode(Event.self)
        #expect(event.kind == .tokenDead && event.token == "update" && event.revision == 3)
        #expect(try JSONValue(encoding: event) == JSONValue(parsing: text))
        let later = try JSONValue(
            parsing: #"{"id":"43","type":"waved","timestamp":0,"app":"a.b"}"#
        ).decode(Event.self)
        #expect(later.kind == nil && later.type == "waved" && later.activity == nil)
    }
}
