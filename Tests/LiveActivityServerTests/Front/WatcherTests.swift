import APNSModel
import HTTPTypes
import Hummingbird
import LiveActivityCore
import LiveActivityStorage
import Synchronization
import Testing

@testable import LiveActivityServer

/// Calls that need no key: the cost of many at once, and the threads that answer them.
@Suite struct WatcherTests {
    // MARK: - Shared readings

    /// Counts readings, and holds them until it is opened.
    private final class Source: Sendable {
        private let counted = Mutex(0)
        private let (opened, door) = AsyncStream.makeStream(of: Void.self)
        var readings: Int { counted.withLock(\.self) }

        func read() async -> Int {
            counted.withLock { $0 += 1 }
            for await _ in opened { break }
            return readings
        }

        func open() { door.finish() }
    }

    private static func at(_ milliseconds: Int64) -> MonotonicTime {
        MonotonicTime(nanoseconds: milliseconds * 1_000_000)
    }

    @Test(.timeLimit(.minutes(1))) func `however many ask at once, the store is read once`() async throws {
        let source = Source()
        let census = SharedReading<Int, Never>(freshness: .seconds(1))
        let answers = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<300 { group.addTask { await census.value(at: Self.at(0), source.read) } }
            source.open()
            return await group.reduce(into: [Int: Int]()) { $0[$1, default: 0] += 1 }
        }
        #expect(answers == [1: 300] && source.readings == 1)
        #expect(await census.value(at: Self.at(999), source.read) == 1)
        #expect(await census.value(at: Self.at(1000), source.read) == 2)
    }

    @Test func `a reading that fails is told to those who wait, and is not kept`() async throws {
        struct Failure: Error {}
        let shared = SharedReading<Int, Failure>(freshness: .seconds(1))
        await #expect(throws: Failure.self) {
            try await shared.value(at: Self.at(0)) { () async throws(Failure) in throw Failure() }
        }
        let value = try await shared.value(at: Self.at(0)) { () async throws(Failure) in 7 }
        #expect(value == 7)
    }

    @Test func `whoever asks for metrics within a second gets the same page`() async throws {
        try await withServer { fixture in
            let pages = try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<20 { group.addTask { try await fixture.call(.get, "/metrics", key: nil).text } }
                return try await group.reduce(into: Set<String>()) { $0.insert($1) }
            }
            #expect(pages.count == 1)
            fixture.clock.advance(.milliseconds(999))
            let same = try await fixture.call(.get, "/metrics", key: nil).text
            #expect(pages == [same])
            fixture.clock.advance(.milliseconds(1))
            let next = try await fixture.call(.get, "/metrics", key: nil).text
            #expect(next != same && next.contains(#"route="/metrics",method="GET",status="200"} 21"#))
        }
    }

    // MARK: - Admission

    @Test func `calls without a key that find no room are told so`() async throws {
        var limits = LiveActivityServer.Limits.unhurried
        limits.keylessRequests = 0
        try await withServer(limits: limits) { fixture in
            for path in ["/healthz", "/readyz", "/metrics", "/openapi.json"] {
                let reply = try await fixture.call(.get, path, key: nil)
                #expect(reply.status == 503 && reply.code == "overloaded", "\(path)")
                #expect(reply.headers[.retryAfter] == "1")
            }
            #expect(try await fixture.call(.get, "/v1/activities").status == 200)
        }
    }

    /// Limits with one place for callers, and one for each call without a key.
    private static let narrow: LiveActivityServer.Limits = {
        var limits = LiveActivityServer.Limits.unhurried
        (limits.openRequests, limits.keylessRequests) = (1, 1)
        return limits
    }()

    @Test(.timeLimit(.minutes(1))) func `calls without a key have a room of their own, and leave callers theirs`()
        async throws
    {
        try await withServer(limits: Self.narrow) { fixture in
            let page = fixture.server.application.responder.services.metricsPage
            let (begun, begins) = AsyncStream.makeStream(of: Void.self)
            let (released, releases) = AsyncStream.makeStream(of: Void.self)
            // A caller of metrics meanwhile waits for this page and keeps the only place.
            async let reading = page.value(at: fixture.clock.source.monotonic()) {
                begins.yield()
                for await _ in released { break }
                return "a page"
            }
            for await _ in begun { break }
            try await withThrowingTaskGroup(of: Reply.self) { group in
                defer { releases.finish() }
                for _ in 1...2 { group.addTask { try await fixture.call(.get, "/metrics", key: nil) } }
                let refused = try #require(try await group.next())
                #expect(refused.status == 503 && refused.code == "overloaded")
                for path in ["/healthz", "/readyz", "/openapi.json"] {
                    #expect(try await fixture.call(.get, path, key: nil).status == 200, "\(path)")
                }
                #expect(try await fixture.call(.get, "/v1/activities").status == 200)
                releases.finish()
                let answered = try #require(try await group.next())
                #expect(answered.status == 200 && answered.text == "a page")
            }
            _ = await reading
            #expect(try await fixture.call(.get, "/metrics", key: nil).status == 200)
        }
    }

    @Test(.timeLimit(.minutes(1))) func `a caller who has all the room leaves calls without a key theirs`() async throws
    {
        let (begun, begins) = AsyncStream.makeStream(of: Void.self)
        let (released, releases) = AsyncStream.makeStream(of: Void.self)
        let trials = TrialRecorder().trials(during: {
            begins.yield()
            for await _ in released { break }
        })
        try await withServer(limits: Self.narrow, configure: { $0.trials = trials }) { fixture in
            try await withThrowingTaskGroup(of: Int.self) { group in
                group.addTask {
                    try await fixture.call(
                        .post, "/v1/types/Order/what-if", #"{"policy":{"coalescingWindow":"30s"}}"#
                    ).status
                }
                for await _ in begun { break }
                let refused = try await fixture.call(.get, "/v1/activities", key: fixture.keys[.read]?.text)
                #expect(refused.status == 503 && refused.code == "overloaded")
                for path in ["/healthz", "/readyz", "/metrics", "/openapi.json"] {
                    #expect(try await fixture.call(.get, path, key: nil).status == 200, "\(path)")
                }
                releases.finish()
                #expect(try await group.next() == 200)
            }
            #expect(try await fixture.call(.get, "/v1/activities").status == 200)
        }
    }

    @Test func `metrics may need a key that reads`() async throws {
        try await withServer(configure: { $0.metrics?.needsKey = true }) { fixture in
            let nobody = try await fixture.call(.get, "/metrics", key: nil)
            #expect(nobody.status == 401 && nobody.code == "key_missing")
            let revoked = try await fixture.call(.get, "/metrics", key: fixture.revoked.text)
            #expect(revoked.status == 401)
            for (scope, key) in fixture.keys {
                let reply = try await fixture.call(.get, "/metrics", key: key.text)
                #expect(reply.status == (scope.covers(.read) ? 200 : 403), "\(scope)")
            }
            #expect(try await fixture.call(.get, "/healthz", key: nil).status == 200)
        }
    }

    @Test(.timeLimit(.minutes(1))) func `metrics on an address of their own are there and nowhere else, and alone`()
        async throws
    {
        let (addresses, found) = AsyncStream.makeStream(of: LiveActivityServer.Address.self)
        try await withStoppingServer(configure: {
            $0.metricsListener = .init(host: "127.0.0.1", port: 0) { found.yield($0) }
        }) { _, api, stop in
            let metrics = try #require(await addresses.first { _ in true })
            #expect(metrics.port != api.port)
            for (address, path, status) in [
                (api, "/metrics", 404), (metrics, "/metrics", 200), (metrics, "/healthz", 200), (api, "/healthz", 200),
                (metrics, "/readyz", 200), (metrics, "/v1/activities", 404), (metrics, "/", 404),
                (metrics, "/console/session", 404), (api, "/v1/activities", 401), (api, "/", 200),
            ] {
                try await RawConnection.open(address) { connection in
                    await connection.send("GET \(path) HTTP/1.1\r\nHost: x\r\n\r\n")
                    let head = await connection.heard(until: "\r\n")
                    #expect(head.hasPrefix("HTTP/1.1 \(status) "), "\(address) \(path)")
                }
            }
            await stop()
        }
    }
}
