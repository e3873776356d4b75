import LiveActivityServer
import LiveActivityStorage
import ServiceLifecycle
import Testing

/// A server that stops, with clients that do not know it.
@Suite struct StoppingTests {
    private static let health = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"

    @Test(.timeLimit(.minutes(10)))
    func `an idle connection gets its last request answered, with the word that it was the last`() async throws {
        var limits = LiveActivityServer.Limits.unhurried
        limits.stopGrace = .seconds(600)
        try await withStoppingServer(limits: limits) { _, address, stop in
            try await RawConnection.open(address) { connection in
                await connection.send(Self.health)
                let first = await connection.text(until: "ok")
                #expect(first.hasPrefix("HTTP/1.1 200 ") && !first.lowercased().contains("connection: close"))
                await stop()
                // New connections are refused. The existing one is still served.
                try await refused(address)
                await connection.send(Self.health)
                let last = await connection.text()
                #expect(last.hasPrefix("HTTP/1.1 200 ") && last.lowercased().contains("connection: close"))
                #expect(last.ranges(of: "HTTP/1.1").count == 1)
            }
        }
    }

    private func refused(_ address: LiveActivityServer.Address) async throws {
        while true {
            do {
                try await RawConnection.open(address) { _ in }
                await Task.yield()
            } catch {
                return
            }
        }
    }

    @Test(.timeLimit(.minutes(10))) func `a connection that says nothing holds nobody up`() async throws {
        var limits = LiveActivityServer.Limits.unhurried
        limits.stopGrace = .milliseconds(100)
        try await withStoppingServer(limits: limits) { _, address, stop in
            try await RawConnection.open(address) { connection in
                await connection.send(Self.health)
                _ = await connection.text(until: "ok")
                await stop()
                #expect(await connection.read().isEmpty)
            }
        }
    }

    @Test(
        .timeLimit(.minutes(10)),
        arguments: [
            "PUT /v1/activities/a HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer KEY\r\nContent-Length: 999\r\n\r\n{",
            "POST /v1/batch HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer KEY\r\nTransfer-Encoding: chunked\r\n\r\n",
            "GET /healthz HTTP/1.1\r\nHost:",
        ])
    func `a request that never ends is cut when the stop is over its time`(beginning: String) async throws {
        var limits = LiveActivityServer.Limits.unhurried
        limits.stopTimeout = .milliseconds(500)
        limits.bodyTimeout = .seconds(600)
        limits.headTimeout = .seconds(600)
        try await withStoppingServer(limits: limits) { fixture, address, stop in
            try await RawConnection.open(address) { connection in
                await connection.send(Self.health)
                _ = await connection.text(until: "ok")
                let key = fixture.keys[.backend]?.text ?? ""
                await connection.send(beginning.replacing("KEY", with: key))
                await stop()
                _ = await connection.read()
            }
        }
    }
}
