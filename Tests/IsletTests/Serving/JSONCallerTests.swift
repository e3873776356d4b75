import Foundation
import HTTPTypes
import JSONText
import LoopbackServer
import Testing

@testable import islet

struct JSONCallerTests {
    @Test(arguments: [
        ("plain-1_2.3~", "plain-1_2.3~"), ("a/b", "a%2Fb"), ("a b", "a%20b"), ("?#%", "%3F%23%25"), ("+", "%2B"),
        ("é", "%C3%A9"), ("🍕", "%F0%9F%8D%95"), ("a:b", "a%3Ab"), ("\u{1}\n", "%01%0A"), ("", ""),
    ])
    func `a segment of a path may be any text`(_ text: String, _ encoded: String) {
        #expect(JSONCaller.segment(text) == encoded)
    }

    @Test func `every encoded text is the text again when it is decoded`() {
        let seed = UInt64.random(in: 0 ... .max)
        var state = seed
        func next(_ limit: UInt64) -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return (state >> 33) % limit
        }
        for _ in 0..<200 {
            var text = ""
            for _ in 0..<next(12) { text.unicodeScalars.append(Unicode.Scalar(UInt32(next(0xD000))) ?? "x") }
            let encoded = JSONCaller.segment(text)
            #expect(encoded.removingPercentEncoding == text, "seed \(seed)")
            #expect(!encoded.contains { "/?# ".contains($0) }, "seed \(seed)")
        }
    }

    private static let key = "islet_AAAAAAAAAAAA_secret-half-that-nobody-should-see"

    @Test(arguments: [
        (#"{"code":"unknown_type","detail":"no such type"}"#, "GET /v1/x: 422 unknown_type: no such type"),
        (#"{"code":"unknown_type"}"#, "GET /v1/x: 422 unknown_type"), (#"{"detail":"no"}"#, "GET /v1/x: 422: no"),
        ("", "GET /v1/x: 422"), ("[]", "GET /v1/x: 422"), ("<html>Bad Gateway</html>", "GET /v1/x: 422"),
    ])
    func `a refusal carries the status, the code and the detail, and never the key`(
        _ body: String, _ words: String
    )
        async throws
    {
        try await withLoopbackServer({ _ in httpAnswer(.init(code: 422), body) }) { address, asked in
            let caller = JSONCaller(address) { Self.key }
            let refusal = try await #require(throws: JSONCaller.Refusal.self) { try await caller.call(.GET, "/v1/x") }
            #expect(refusal.status == 422 && refusal.description == words)
            #expect(!String(reflecting: refusal).contains("secret"))
            #expect(asked().map(\.line) == ["GET /v1/x"] && asked().map(\.text) == [""])
            #expect(asked().map(\.authorization) == ["Bearer \(Self.key)"])
        }
    }

    @Test func `a base that ends in a slash, a body, an answer`() async throws {
        try await withLoopbackServer({ _ in httpAnswer(.init(code: 200), #"{"a":1}"#) }) { address, asked in
            let answer = try await JSONCaller(address + "/").call(.PUT, "/v1/x", ["b": 2])
            #expect(answer == ["a": 1])
            #expect(asked().map(\.line) == ["PUT /v1/x"] && asked().map(\.text) == [#"{"b":2}"#])
            #expect(asked().map(\.authorization) == [nil])
        }
    }

    @Test func `an answer of 2xx that is not JSON is an error, an empty one is null`() async throws {
        try await withLoopbackServer({ _ in httpAnswer(.init(code: 200), "<html>") }) { address, _ in
            await #expect(throws: JSONSyntaxError.self) { try await JSONCaller(address).call(.GET, "/") }
        }
        try await withLoopbackServer({ _ in httpAnswer(.init(code: 200), "") }) { address, _ in
            let answer = try await JSONCaller(address).call(.DELETE, "/")
            #expect(answer == .null)
        }
    }
}
