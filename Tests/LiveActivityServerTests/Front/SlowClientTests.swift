import JSONText
import LiveActivityServer
import LiveActivityStorage
import NIOCore
import Synchronization
import Testing

/// Slow clients against a server with short limits.
@Suite struct SlowClientTests {
    private static let limits: LiveActivityServer.Limits = {
        var limits = LiveActivityServer.Limits.unhurried
        limits.headTimeout = .milliseconds(300)
        limits.bodyTimeout = .milliseconds(300)
        limits.writeTimeout = .milliseconds(500)
        limits.closeGrace = .milliseconds(200)
        return limits
    }()

    private static let health = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"

    @Test(.timeLimit(.minutes(10)), arguments: ["GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: ", "GET /", "PUT /v1/"])
    func `a head that drips in is answered with 408 and the end`(beginning: String) async throws {
        try await withListeningServer(limits: Self.limits) { _, address in
            try await RawConnection.open(address) { connection in
                await connection.send(beginning)
                connection.drip("a", every: .milliseconds(20))
                let answer = await connection.text()
                #expect(answer.hasPrefix("HTTP/1.1 408 "))
                #expect(answer.contains("Connection: close"))
            }
            // The next client is served.
            try await RawConnection.open(address) { connection in
                await connection.send(Self.health)
                #expect(await connection.text(until: "ok").hasPrefix("HTTP/1.1 200 "))
            }
        }
    }

    @Test(.timeLimit(.minutes(10))) func `a second head that drips in is answered with 408 as well`() async throws {
        try await withListeningServer(limits: Self.limits) { _, address in
            try await RawConnection.open(address) { connection in
                await connection.send(Self.health)
                #expect(await connection.text(until: "ok").hasPrefix("HTTP/1.1 200 "))
                await connection.send("GET /hea")
                #expect(await connection.text().hasPrefix("HTTP/1.1 408 "))
            }
        }
    }

    @Test(.timeLimit(.minutes(10)), arguments: ["Content-Length: 500", "Transfer-Encoding: chunked"])
    func `a body that drips in is a problem that says so, and changes nothing`(framing: String) async throws {
        try await withListeningServer(limits: Self.limits) { fixture, address in
            let before = try fixture.contents()
            let key = fixture.keys[.backend]?.text ?? ""
            try await RawConnection.open(address) { connection in
                await connection.send(
                    "PUT /v1/activities/a HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(key)\r\n\(framing)\r\n\r\n")
                connection.drip(framing.hasPrefix("T") ? "1\r\n \r\n" : " ", every: .milliseconds(20))
                let answer = await connection.text()
                #expect(answer.hasPrefix("HTTP/1.1 408 "))
                #expect(answer.contains("request_timeout") && answer.contains("application/problem+json"))
                #expect(answer.ranges(of: "HTTP/1.1").count == 1)
            }
            #expect(try fixture.contents() == before)
        }
    }

    /// A sign-in whose content type is lines is treated like any other, because this call takes no lines.
    @Test(.timeLimit(.minutes(10))) func `who signs in slowly holds nobody up, and comes to an end`() async throws {
        var limits = Self.limits
        limits.openRequests = 1
        try await withListeningServer(limits: limits) { fixture, address in
            try await RawConnection.open(address) { slow in
                await slow.send(
                    "POST /console/session HTTP/1.1\r\nHost: x\r\nOrigin: http://x\r\n"
                        + "Content-Type: application/x-ndjson\r\nContent-Length: 500\r\n\r\n")
                slow.drip(" ", every: .milliseconds(20))
                try await RawConnection.open(address) { other in
                    let key = fixture.keys[.read]?.text ?? ""
                    await other.send(
                        "GET /v1/activities HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(key)\r\n\r\n")
                    #expect(await other.text(until: "\r\n\r\n").hasPrefix("HTTP/1.1 200 "))
                }
                #expect(await slow.text().hasPrefix("HTTP/1.1 4"))
            }
        }
    }

    @Test(.timeLimit(.minutes(10))) func `one caller does not have all the room`() async throws {
        var limits = Self.limits
        limits.bodyTimeout = .seconds(30)
        limits.openRequests = 2
        try await withListeningServer(limits: limits) { fixture, address in
            @Sendable func head(_ scope: APIKeyRecord.Scope, _ call: String) -> String {
                "\(call) HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(fixture.keys[scope]?.text ?? "")\r\n"
            }
            @Sendable func answer(_ scope: APIKeyRecord.Scope) async throws -> String {
                let heard = Mutex("")
                try await RawConnection.open(address) { connection in
                    await connection.send(head(scope, "GET /v1/activities") + "\r\n")
                    let text = await connection.text(until: "\r\n\r\n")
                    heard.withLock { $0 = text }
                }
                return heard.withLock(\.self)
            }
            // Of two calls at the same time either may get the place. If the other one is refused, both start again.
            let hasRefused = Mutex(false)
            while !hasRefused.withLock(\.self), !Task.isCancelled {
                try await RawConnection.open(address) { slow in
                    await slow.send(head(.backend, "PUT /v1/activities/a") + "Content-Length: 500\r\n\r\n ")
                    let refused = try await answer(.backend)
                    guard refused.hasPrefix("HTTP/1.1 429 ") else { return }
                    hasRefused.withLock { $0 = true }
                    #expect(refused.contains("Retry-After: 1"))
                    #expect(try await answer(.read).hasPrefix("HTTP/1.1 200 "))
                }
            }
        }
    }

    @Test(.timeLimit(.minutes(10))) func `lines that come slowly are no slow body`() async throws {
        try await withListeningServer(limits: Self.limits) { fixture, address in
            let key = fixture.keys[.backend]?.text ?? ""
            try await RawConnection.open(address) { connection in
                await connection.send(
                    "POST /v1/batch HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(key)\r\n"
                        + "Transfer-Encoding: chunked\r\n\r\n")
                // Longer than a body may take: 40 lines, one every 20 ms.
                connection.drip("3\r\n{}\n\r\n", every: .milliseconds(20))
                let answer = await connection.text(until: "\"line\":40,")
                #expect(answer.hasPrefix("HTTP/1.1 200 ") && answer.contains("\"line\":40,"))
            }
        }
    }

    @Test(.timeLimit(.minutes(10))) func `lines that drip in after the last answer end the connection`() async throws {
        var limits = Self.limits
        limits.lines = 1
        try await withListeningServer(limits: limits) { fixture, address in
            let key = fixture.keys[.backend]?.text ?? ""
            try await RawConnection.open(address) { connection in
                await connection.send(
                    "POST /v1/batch HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(key)\r\n"
                        + "Transfer-Encoding: chunked\r\n\r\n")
                connection.drip("3\r\n{}\n\r\n", every: .milliseconds(20))
                let answer = await connection.text()
                #expect(answer.contains("\"status\":413") && answer.hasSuffix("0\r\n\r\n"))
            }
        }
    }

    @Test(.timeLimit(.minutes(10))) func `answers that nobody reads end the connection`() async throws {
        var limits = Self.limits
        // A twentieth of the time that the client waits.
        limits.writeTimeout = .milliseconds(100)
        try await withListeningServer(limits: limits) { _, address in
            let request = "GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n"
            try await RawConnection.open(address) { connection in
                await connection.send(request)
                let one = await connection.text(until: "\"openapi\"").utf8.count
                #expect(one > 1000)
                let count = 1000
                await connection.send(String(repeating: request, count: count))
                // Nothing is read for two seconds. Then everything is read up to the connection's end.
                let pause = connection.channel.eventLoop.scheduleTask(in: .seconds(2)) {}
                try await pause.futureResult.get()
                let all = await connection.read()
                #expect(all.count < count * OpenAPIDocument.bytes.count)
            }
        }
    }

    @Test(.timeLimit(.minutes(10))) func `a connection without a request is closed when its time is over`() async throws
    {
        var limits = Self.limits
        limits.idleTimeout = .milliseconds(200)
        let short = limits
        try await withListeningServer(limits: short) { _, address in
            try await RawConnection.open(address) { connection in
                #expect(await connection.read().isEmpty)
            }
        }
    }

    @Test(.timeLimit(.minutes(10))) func `a refused body that does not end ends the connection`() async throws {
        var limits = Self.limits
        limits.unreadBody = 100_000
        limits.bodyTimeout = .seconds(60)
        let short = limits
        try await withListeningServer(limits: short) { _, address in
            try await RawConnection.open(address) { connection in
                await connection.send("PUT /nowhere HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
                #expect(await connection.text(until: "not_found").hasPrefix("HTTP/1.1 404 "))
                let chunk = "10000\r\n" + String(repeating: "x", count: 65_536) + "\r\n"
                for _ in 0..<20 { await connection.send(chunk) }
                _ = await connection.read()
            }
        }
    }
}
