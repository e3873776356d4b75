import APNSModel
import HTTPTypes
import IsletBasics
import JSONText
import LiveActivityCore
import LiveActivityServer
import LiveActivityStorage
import Synchronization
import Testing

@Suite struct RateLimiterTests {
    private static func time(_ milliseconds: Int64) -> MonotonicTime {
        MonotonicTime(nanoseconds: milliseconds * 1_000_000)
    }

    @Test func `twice as many at once as in a second, then one in each of its parts`() {
        let limiter = RateLimiter(perSecond: 10, places: 1000)
        for _ in 0..<20 { #expect(limiter.take("a", at: Self.time(5000)) == nil) }
        #expect(limiter.take("a", at: Self.time(5000)) == .milliseconds(100))
        #expect(limiter.take("a", at: Self.time(5099)) == .milliseconds(1))
        #expect(limiter.take("a", at: Self.time(5100)) == nil)
        #expect(limiter.take("a", at: Self.time(5100)) == .milliseconds(100))
        // A long pause restores the whole allowance, and no more.
        for _ in 0..<20 { #expect(limiter.take("a", at: Self.time(900_000)) == nil) }
        #expect(limiter.take("a", at: Self.time(900_000)) != nil)
    }

    @Test func `over ten seconds nobody gets more than the rate and the first burst`() {
        var dice = SplitMix64(seed: 11)
        let limiter = RateLimiter(perSecond: 7, places: 10)
        var taken = 0
        for step in 0..<10_000 where limiter.take("a", at: Self.time(Int64(step))) == nil && dice.next() % 2 < 2 {
            taken += 1
        }
        #expect(taken >= 7 * 10 && taken <= 7 * 10 + 14)
    }

    @Test func `twice as many at once as in a minute, then one in each of its parts`() {
        let limiter = RateLimiter(perMinute: 30, places: 1000)
        for _ in 0..<60 { #expect(limiter.take("a", at: Self.time(5000)) == nil) }
        #expect(limiter.take("a", at: Self.time(5000)) == .seconds(2))
        #expect(limiter.take("a", at: Self.time(7000)) == nil)
        #expect(limiter.take("a", at: Self.time(7000)) == .seconds(2))
        for _ in 0..<60 { #expect(limiter.take("a", at: Self.time(900_000)) == nil) }
        #expect(limiter.take("a", at: Self.time(900_000)) != nil)
    }

    @Test func `callers have allowances of their own, in a table that does not grow`() {
        let limiter = RateLimiter(perSecond: 1, places: 65_536)
        for _ in 0..<3 { _ = limiter.take("a", at: Self.time(1)) }
        let others = (0..<100).filter { limiter.take("b\($0)", at: Self.time(1)) == nil }
        // Some addresses may share a place with another.
        #expect(others.count >= 95)
        let narrow = RateLimiter(perSecond: 1, places: 1)
        #expect((0..<10).filter { narrow.take("c\($0)", at: Self.time(1)) == nil }.count == 2)
    }
}

@Suite struct AdmissionTests {
    @Test func `a key that calls too often gets 429 with when to come back, and nothing is changed`() async throws {
        var limits = LiveActivityServer.Limits.unhurried
        limits.requestsPerSecond = 3
        try await withServer(limits: limits) { fixture in
            for step in 0..<6 {
                #expect(
                    try await fixture.put("/v1/activities/a", #"{"type":"Order","state":{"n":\#(step)}}"#).status == 200
                )
            }
            let before = try fixture.contents()
            let refused = try await fixture.put("/v1/activities/a", #"{"type":"Order","state":{"n":7}}"#)
            #expect(refused.status == 429 && refused.code == "rate_limited")
            #expect(refused.headers[.retryAfter] == "1")
            for (name, value) in [("RateLimit-Limit", "3"), ("RateLimit-Remaining", "0"), ("RateLimit-Reset", "1")] {
                #expect(HTTPField.Name(name).flatMap { refused.headers[$0] } == value)
            }
            #expect(try fixture.contents() == before)
            // Other callers, and calls that need no key, are not limited.
            #expect(try await fixture.call(.get, "/v1/activities", key: fixture.keys[.read]?.text).status == 200)
            #expect(try await fixture.call(.get, "/healthz", key: nil).status == 200)
            fixture.clock.advance(.seconds(1))
            for _ in 0..<3 { #expect(try await fixture.call(.get, "/v1/activities").status == 200) }
            #expect(try await fixture.call(.get, "/v1/activities").status == 429)
        }
    }

    @Test func `a device that is reported of too often holds back itself alone`() async throws {
        var limits = LiveActivityServer.Limits.unhurried
        limits.requestsPerSecondPerDevice = 2
        try await withServer(limits: limits) { fixture in
            let user = #"{"user":"ada"}"#
            for _ in 0..<4 {
                let taken = try await fixture.put("/v1/devices/one", user)
                #expect(taken.status == 200)
            }
            let refused = try await fixture.put("/v1/devices/one", user)
            let others = [
                try await fixture.put("/v1/devices/two", user),
                try await fixture.put("/v1/activities/a", #"{"type":"Order","state":{}}"#),
            ]
            #expect(refused.code == "rate_limited" && others.map(\.status) == [200, 200])
        }
    }

    @Test func `a person who calls too often holds back themselves alone, by the devices' allowance`() async throws {
        var limits = LiveActivityServer.Limits.unhurried
        limits.requestsPerSecondPerDevice = 2
        let people = try Minter.people()
        try await withServer(limits: limits, configure: { $0.people = [pizza.bundleID: people] }) { fixture in
            func call(_ user: String, _ phone: Int) async throws -> Reply {
                let token = try Minter().token(user, at: fixture.clock.now)
                return try await fixture.call(.put, "/v1/devices/\(user)-\(phone)", "{}", key: token)
            }
            // The person is counted, whatever the device is.
            for phone in 0..<4 { #expect(try await call("ada", phone).status == 200) }
            let refused = try await call("ada", 4)
            #expect(refused.code == "rate_limited" && refused.headers[.retryAfter] == "1")
            #expect(try await call("bob", 1).status == 200)
            fixture.clock.advance(.seconds(1))
            #expect(try await call("ada", 4).status == 200)
        }
    }

    @Test func `a wrong key is told so, however often`() async throws {
        var limits = LiveActivityServer.Limits.unhurried
        limits.requestsPerSecond = 1
        try await withServer(limits: limits) { fixture in
            for _ in 0..<10 {
                let reply = try await fixture.call(.get, "/v1/activities", key: fixture.revoked.text)
                #expect(reply.code == "key_invalid")
            }
            #expect(try await fixture.call(.get, "/v1/activities").status == 200)
        }
    }

    @Test func `without room a request is refused, and who watches the server is not`() async throws {
        var limits = LiveActivityServer.Limits.unhurried
        limits.openRequests = 0
        try await withServer(limits: limits) { fixture in
            let before = try fixture.contents()
            let reply = try await fixture.put("/v1/activities/a", #"{"type":"Order","state":{}}"#)
            #expect(reply.status == 503 && reply.code == "overloaded" && reply.headers[.retryAfter] == "1")
            #expect(try fixture.contents() == before)
            for path in ["/healthz", "/readyz", "/metrics", "/openapi.json"] {
                #expect(try await fixture.call(.get, path, key: nil).status == 200, "\(path)")
            }
        }
    }

    @Test func `room is given back`() async throws {
        var limits = LiveActivityServer.Limits.unhurried
        limits.openRequests = 1
        try await withServer(limits: limits) { fixture in
            for _ in 0..<5 {
                let (found, missing) = (
                    try await fixture.call(.get, "/v1/activities"), try await fixture.call(.get, "/v1/activities/none")
                )
                #expect(found.status == 200 && missing.status == 404)
            }
        }
    }

    @Test(.timeLimit(.minutes(10))) func `a connection over the limit waits until another one ends`() async throws {
        var limits = LiveActivityServer.Limits.unhurried
        limits.connections = 1
        try await withStoppingServer(limits: limits) { _, address, stop in
            let order = Order()
            try await RawConnection.open(address) { first in
                try await withThrowingTaskGroup(of: Void.self) { tasks in
                    try await Self.ask(first)
                    let (asked, input) = AsyncStream.makeStream(of: Void.self)
                    tasks.addTask { try await Self.askBeside(address, input, order) }
                    for await _ in asked { break }
                    // The other caller has asked, and would get its answer long before these.
                    for _ in 0..<50 { try await Self.ask(first) }
                    order.note("first")
                    first.finish()
                    try await tasks.waitForAll()
                }
            }
            #expect(order.all == ["first", "second"])
            await stop()
        }
    }

    private static func ask(_ connection: RawConnection) async throws {
        await connection.send("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
        let answer = await connection.text(until: "\r\n\r\n")
        #expect(answer.hasPrefix("HTTP/1.1 200"), "\(answer)")
    }

    private static func askBeside(
        _ address: LiveActivityServer.Address, _ asked: AsyncStream<Void>.Continuation, _ order: Order
    ) async throws {
        try await RawConnection.open(address) { second in
            await second.send("GET /healthz HTTP/1.1\r\nHost: b\r\n\r\n")
            asked.yield()
            #expect(await second.text(until: "\r\n\r\n").hasPrefix("HTTP/1.1 200"))
            order.note("second")
            second.finish()
        }
    }

    /// Records the order of events.
    private final class Order: Sendable {
        private let names = Mutex<[String]>([])

        var all: [String] { names.withLock(\.self) }
        func note(_ name: String) { names.withLock { $0.append(name) } }
    }
}
