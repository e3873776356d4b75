import Foundation
import HTTPTypes
import IsletBasics
import LiveActivityServer
import Synchronization
import Testing

/// Two of the invariants at the HTTP API, with a thousand calls each.
struct InvariantTests {
    private static let cases = 1000
    private static let marker = "for-pizza-alone"

    /// Returns a call of any kind about ids of another app.
    private static func call(
        _ dice: inout SplitMix64, token: String
    ) -> (method: HTTPRequest.Method, path: String, body: String?) {
        let id = "order-\(dice.next() % 4)"
        let device = "phone-\(dice.next() % 4)"
        let user = ["ada", "bob"][Int(dice.next() % 2)]
        let calls: [(HTTPRequest.Method, String, String?)] = [
            (.get, "/v1/activities/\(id)", nil), (.get, "/v1/activities/\(id)/timeline", nil),
            (.get, "/v1/activities?user=\(user)", nil), (.get, "/v1/users/\(user)/refresh", nil),
            (.get, "/v1/devices/\(device)/diagnosis?activity=\(id)", nil),
            (
                .put, "/v1/activities/\(id)",
                #"{"type":"Order","state":{"status":"\#(token)"},"audience":{"users":["\#(user)"]},"reopen":true}"#
            ),
            (.patch, "/v1/activities/\(id)", #"{"state":{"status":"taken"}}"#),
            (.post, "/v1/activities/\(id)/end", #"{"dismissNow":true}"#), (.delete, "/v1/activities/\(id)", nil),
            (.post, "/v1/activities/\(id)/audience", #"{"remove":["\#(user)"]}"#),
            (.post, "/v1/users/\(user)/notifications", #"{"id":"\#(token)","alert":{"title":"Hello"}}"#),
            (.post, "/v1/users/\(user)/refresh", nil),
            (.put, "/v1/devices/\(device)", #"{"user":"\#(user)","deviceToken":"\#(token)"}"#),
            (.put, "/v1/devices/\(device)/push-to-start-tokens/Order", #"{"token":"\#(token)"}"#),
            (
                .put, "/v1/devices/\(device)/instances/card",
                #"{"type":"Order","activity":"\#(id)","state":"active","token":"\#(token)"}"#
            ),
            (.put, "/v1/devices/\(device)/instances", #"{"sequence":9,"instances":[]}"#),
            (.delete, "/v1/devices/\(device)", nil),
        ]
        return calls[Int(dice.next() % UInt64(calls.count))]
    }

    private static func prepare(_ fixture: Fixture) async throws {
        for number in 0..<4 {
            try await fixture.registerPhone("phone-\(number)", user: number < 2 ? "ada" : "bob")
            let reply = try await fixture.put(
                "/v1/activities/order-\(number)",
                #"{"type":"Order","state":{"note":"\#(marker)"},"audience":{"users":["ada","bob"]}}"#)
            #expect(reply.status == 200)
        }
    }

    /// Returns everything that the app itself can read.
    private static func view(_ fixture: Fixture) async throws -> [String] {
        var texts: [String] = []
        for number in 0..<4 {
            for path in [
                "/v1/activities/order-\(number)", "/v1/activities/order-\(number)/timeline",
                "/v1/devices/phone-\(number)/diagnosis?activity=order-\(number)",
            ] {
                let reply = try await fixture.call(.get, path)
                #expect(reply.status == 200, "\(path): \(reply.text)")
                texts.append(reply.text)
            }
        }
        return texts
    }

    @Test func `Invariant 7: a thousand calls with another app's key read nothing and change nothing of this one's`()
        async throws
    {
        try await withServer { fixture in
            try await Self.prepare(fixture)
            let before = try await Self.view(fixture)
            var dice = SplitMix64(seed: 7)
            var accepted = 0
            for number in 0..<Self.cases {
                let call = Self.call(&dice, token: token("other-\(number % 50)"))
                let reply = try await fixture.call(call.method, call.path, call.body, key: fixture.otherApp.text)
                #expect(!reply.text.contains(Self.marker), "case \(number): \(call.method) \(call.path)")
                #expect(reply.status < 500, "case \(number): \(call.method) \(call.path): \(reply.text)")
                accepted += reply.status < 300 ? 1 : 0
            }
            // The other app may have objects under the same names. They are separate.
            #expect(accepted > 100)
            #expect(try await Self.view(fixture) == before)
        }
    }

    @Test func `Invariant 8: a thousand calls, good and bad, are answered without more than a token's beginning`()
        async throws
    {
        try await withServer { fixture in
            try await Self.prepare(fixture)
            var dice = SplitMix64(seed: 8)
            for number in 0..<Self.cases {
                let secret = token("mine-\(number % 50)")
                // The secret whole, cut short, in uppercase, and with a character that is not a digit.
                let forms = [secret, String(secret.dropLast()), secret.uppercased(), secret + "zz"]
                var call = Self.call(&dice, token: forms[Int(dice.next() % 4)])
                if call.body?.contains("\"status\":") == true { call.body = #"{"type":"Order","state":{}}"# }
                if call.body?.contains("\"id\":") == true { call.body = #"{"id":"n","background":true}"# }
                let reply = try await fixture.call(call.method, call.path, call.body)
                let text = reply.text.lowercased()
                #expect(!text.contains(secret.prefix(9)), "case \(number): \(call.method) \(call.path)")
                #expect(!text.contains(secret.suffix(9)), "case \(number): \(call.method) \(call.path)")
                #expect(reply.status < 500, "case \(number): \(call.method) \(call.path): \(reply.text)")
            }
        }
    }
}
