import HTTP2TestServer
import LiveActivityServer
import LiveActivityStorage
import Testing

/// A server that stops, with HTTP/2 clients that learn of it later.
@Suite struct StoppingHTTP2Tests {
    private static func get(_ stream: UInt32) -> [UInt8] {
        RawFrame.bytes(type: 1, flags: 5, stream: stream, RawFrame.get("/healthz"))
    }

    /// Runs the body with a connection whose first request was answered, and a server that the test stops.
    private func withStoppingHTTP2(
        _ change: (inout LiveActivityServer.Limits) -> Void = { _ in },
        _ body:
            @escaping @Sendable (
                RawConnection, _ key: String, _ stop: @escaping @Sendable () async -> Void
            ) async throws -> Void
    ) async throws {
        var limits = LiveActivityServer.Limits.unhurried
        // The test waits for the other side, and must never reach these limits.
        (limits.stopGrace, limits.stopTimeout, limits.bodyTimeout) = (.seconds(600), .seconds(600), .seconds(600))
        change(&limits)
        let folder = try CertificateFolder()
        try folder.write(TestAuthority().makeIdentity())
        let certificates = try Certificates(folder.files)
        try await withStoppingServer(limits: limits, certificates: certificates) { fixture, address, stop in
            let key = fixture.keys[.backend]?.text ?? ""
            try await RawConnection.open(address, protocols: ["h2"]) { connection in
                await connection.send(RawFrame.greeting + Self.get(1))
                _ = await connection.frames { $0.contains { $0.isEnd(of: 1) } }
                try await body(connection, key, stop)
            }
        }
    }

    /// Returns the GOAWAY frames at the end, and answers the server's pings.
    private func farewells(_ connection: RawConnection) async -> [RawFrame.Parsed] {
        var all: [RawFrame.Parsed] = []
        while true {
            let frames = await connection.frames { $0.contains(where: \.isPing) }
            all += frames
            guard let ping = frames.first(where: \.isPing) else { return all.filter { $0.type == 7 } }
            await connection.send(ping.acknowledged)
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func `streams that are opened before the client has read of the end are answered`() async throws {
        try await withStoppingHTTP2 { connection, _, stop in
            await stop()
            let first = await connection.frames { $0.contains(where: \.isPing) }
            let farewell = first.first { $0.type == 7 }
            #expect(farewell?.lastStream == 0x7FFF_FFFF && farewell?.error == 0)
            for stream: UInt32 in [3, 5] {
                await connection.send(Self.get(stream))
                let answer = await connection.frames { $0.contains { $0.isEnd(of: stream) || $0.type == 3 } }
                // 0x88 is `:status: 200`.
                #expect(answer.first { $0.type == 1 && $0.stream == stream }?.payload.first == 0x88, "\(answer)")
            }
            for ping in first where ping.isPing { await connection.send(ping.acknowledged) }
            let last = await farewells(connection).last
            #expect(last?.lastStream == 5 && last?.error == 0)
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func `what was begun is finished, and its stream is the last that is named`() async throws {
        try await withStoppingHTTP2 { connection, key, stop in
            let head = RawFrame.put("/v1/activities/late", key: key)
            await connection.send(
                RawFrame.bytes(type: 1, flags: 4, stream: 3, head)
                    + RawFrame.bytes(type: 0, stream: 3, Array(#"{"type":"Order","#.utf8))
                    + RawFrame.bytes(type: 6, Array(repeating: 7, count: 8)))
            // The PING's answer shows that the server has read the request.
            _ = await connection.frames { $0.contains { $0.type == 6 } }
            await stop()
            let first = await connection.frames { $0.contains(where: \.isPing) }
            for ping in first where ping.isPing { await connection.send(ping.acknowledged) }
            // The end of the request comes after the client was told.
            await connection.send(RawFrame.bytes(type: 0, flags: 1, stream: 3, Array(#""state":{}}"#.utf8)))
            let answer = await connection.frames { $0.contains { $0.isEnd(of: 3) || $0.type == 3 } }
            #expect(answer.first { $0.type == 1 && $0.stream == 3 }?.payload.first == 0x88, "\(answer)")
            for ping in answer where ping.isPing { await connection.send(ping.acknowledged) }
            let last = (answer.filter { $0.type == 7 } + (await farewells(connection))).last
            #expect(last?.lastStream == 3 && last?.error == 0)
        }
    }

    @Test(.timeLimit(.minutes(10)), arguments: [true, false])
    func `a request that never ends is cut when the stop is over its time`(answersPings: Bool) async throws {
        try await withStoppingHTTP2({ $0.stopTimeout = .milliseconds(300) }) { connection, key, stop in
            let head = RawFrame.put("/v1/activities/never", key: key)
            await connection.send(RawFrame.bytes(type: 1, flags: 4, stream: 3, head))
            await stop()
            if answersPings { _ = await farewells(connection) } else { _ = await connection.read() }
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func `a client that does not say that it read the farewell gets the next word after the grace`() async throws {
        try await withStoppingHTTP2({ $0.stopGrace = .milliseconds(100) }) { connection, _, stop in
            await stop()
            let frames = await connection.frames { $0.count { $0.isPing } == 2 }
            for ping in frames where ping.isPing { await connection.send(ping.acknowledged) }
            let last = await farewells(connection).last
            #expect(last?.lastStream == 1 && last?.error == 0)
        }
    }
}
