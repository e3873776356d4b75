import APNSModel
import IsletBasics
import Testing

@testable import APNSClient

@Suite struct SmallPartsTests {
    @Test(
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Thu, 29 Feb 2024 23:59:60 GMT", 1_709_251_200), ("Sun, 06 Nov 1994 08:49:37 CET", nil),
            ("Sunday, 06-Nov-94 08:49:37 GMT", nil), ("", nil), ("Sun, 06 Foo 1994 08:49:37 GMT", nil),
            ("Sun, 06 Nov 1994 24:49:37 GMT", nil), ("Sun, 0x Nov 1994 08:49:37 GMT", nil),
        ] as [(String, Int?)])
    func `a date header is an IMF-fixdate`(text: String, seconds: Int?) {
        #expect(HTTPDate.parse(text) == seconds)
    }

    @Test func `a date header reads what UnixTime prints`() {
        var dice = SplitMix64(seed: 7)
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        for _ in 0..<500 {
            let time = UnixTime(seconds: Int64.random(in: 0..<4_000_000_000, using: &dice))
            let parts = time.description.split { "-T:Z".contains($0) }.map(String.init)
            let month = months[(Int(parts[1]) ?? 1) - 1]
            #expect(
                HTTPDate.parse("Mon, \(parts[2]) \(month) \(parts[0]) \(parts[3]):\(parts[4]):\(parts[5]) GMT")
                    == Int(time.seconds))
        }
    }

    @Test(arguments: [
        ("https://127.0.0.1:2197", "127.0.0.1", 2_197), ("https://localhost", "localhost", 443),
        ("https://[::1]:8443", "::1", 8_443), ("https://api.push.apple.com:443/", "api.push.apple.com", 443),
    ])
    func `an endpoint is https, a host and a port`(text: String, host: String, port: Int) throws {
        let endpoint = try APNSClient.Endpoint(text)
        #expect(endpoint.host == host && endpoint.port == port)
    }

    @Test(arguments: [
        "http://a", "a:1", "https://", "https://a:0", "https://a:70000", "https://a:b", "https://a/b", "https://a b",
        "https://[::1]x", "https://u@a",
    ])
    func `everything else is refused with its form`(text: String) throws {
        let error = try #require(throws: APNSClientError.self) { try APNSClient.Endpoint(text) }
        #expect(error.code == .invalidEndpoint)
    }

    @Test func `authority leaves out the standard port and brackets addresses`() throws {
        #expect(APNSClient.Endpoint.apple(.production).authority == "api.push.apple.com")
        #expect(APNSClient.Endpoint.apple(.sandbox).authority == "api.sandbox.push.apple.com")
        #expect(try APNSClient.Endpoint("https://[::1]:2197").authority == "[::1]:2197")
    }

    @Test func `waits double, and dice shorten them by up to a half`() {
        var backoff = Backoff(first: .milliseconds(100), longest: .seconds(5))
        #expect(
            [0, 1, 0.5, 1].map { backoff.next(dice: $0) } == [
                .milliseconds(50), .milliseconds(200), .milliseconds(300), .milliseconds(800),
            ])
        for _ in 0..<100 { #expect(backoff.next(dice: 1) <= .seconds(5)) }
        backoff.reset()
        #expect(backoff.next(dice: 1) == .milliseconds(100))
    }

    @Test func `an idle peer's few frames never add up to a flood`() throws {
        var gauge = FloodGauge(now: Make.time(0))
        for second in 0..<10_000 { for _ in 0..<5 { try gauge.charge(now: Make.time(Double(second))) } }
    }

    @Test(arguments: [
        "", "apns", "12345678-1234-1234-1234-1234567890AB", "12345678-1234-1234-1234-1234567890abc",
        "12345678x1234-1234-1234-1234567890ab", "g2345678-1234-1234-1234-1234567890ab",
    ])
    func `the fast reader of ids agrees with the model's`(text: String) {
        #expect(PushID(ascii: text.utf8) == PushID(text))
    }

    @Test func `trust roots that are not PEM are refused`() throws {
        for roots in [APNSClient.TrustRoots.pem(Array("hello".utf8)), .file("/nonexistent/ca.pem"), .pem([])] {
            let route = APNSClient.Route(
                bundleID: try Make.bundleID(), environment: .sandbox, key: try Make.key(), trustRoots: roots)
            let error = #expect(throws: APNSClientError.self) { try APNSClient(routes: [route]) }
            #expect(error?.code == .invalidTrustRoots)
        }
    }
}
