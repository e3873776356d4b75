import LiveActivityServer
import LiveActivityStorage
import Testing

/// Bytes that no client sends: there is one bounded answer, and the next client is served.
@Suite struct MalformedHTTP1Tests {
    struct Malformed: Sendable, CustomStringConvertible {
        let description: String
        let bytes: String
        /// Statuses with which the answer may begin; empty if the connection just ends.
        let statuses: Set<String>

        init(_ description: String, _ bytes: String, _ statuses: Set<String> = ["400"]) {
            self.description = description
            self.bytes = bytes
            self.statuses = statuses
        }
    }

    private static let put = "PUT /v1/activities/a HTTP/1.1\r\nHost: x\r\n"
    private static let get = "GET /healthz HTTP/1.1\r\nHost: x\r\n"
    /// A request that would be answered with 200 if it were recognized as one.
    private static let smuggled = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"

    static let all: [Malformed] = [
        Malformed(
            "length and chunks", put + "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + smuggled),
        Malformed(
            "chunks and length", put + "Transfer-Encoding: chunked\r\nContent-Length: 6\r\n\r\n0\r\n\r\n" + smuggled),
        Malformed("two lengths", put + "Content-Length: 5\r\nContent-Length: 6\r\n\r\n" + smuggled),
        Malformed("a list of lengths", put + "Content-Length: 5, 6\r\n\r\n" + smuggled),
        Malformed("a length with a sign", put + "Content-Length: +5\r\n\r\nabcde"),
        Malformed("a length below nothing", put + "Content-Length: -1\r\n\r\n" + smuggled),
        Malformed("a length in hexadecimal", put + "Content-Length: 0x5\r\n\r\nabcde"),
        Malformed("a length beyond 64 bits", put + "Content-Length: 99999999999999999999999\r\n\r\nabcde"),
        Malformed("another coding last", put + "Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n" + smuggled),
        Malformed(
            "an unknown coding", put + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + smuggled, ["400", "401"]),
        Malformed("a folded field", get + "X-A: b\r\n c\r\n\r\n"),
        Malformed("NUL in a field", get + "X-A: b\0c\r\n\r\n"),
        Malformed("NUL in the path", "GET /health\0z HTTP/1.1\r\nHost: x\r\n\r\n"),
        Malformed("a space before the colon", put + "Content-Length : 5\r\n\r\nabcde"),
        Malformed("a field without a name", get + ": b\r\n\r\n"),
        Malformed("a field without a colon", get + "X-A\r\n\r\n"),
        Malformed("a bare carriage return", get + "X-A: b\rX-B: c\r\n\r\n"),
        Malformed("a huge field", get + "X-A: " + String(repeating: "a", count: 100_000) + "\r\n\r\n"),
        Malformed("a huge path", "GET /" + String(repeating: "a", count: 100_000) + " HTTP/1.1\r\nHost: x\r\n\r\n"),
        Malformed("many fields", get + String(repeating: "X-A: b\r\n", count: 200) + "\r\n"),
        Malformed(
            "a chunk beyond 64 bits", put + "Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\nab\r\n",
            ["400", "401"]),
        Malformed(
            "a chunk without a size", put + "Transfer-Encoding: chunked\r\n\r\nzz\r\nab\r\n" + smuggled,
            ["400", "401"]),
        Malformed(
            "a chunk longer than it says", put + "Transfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n0\r\n\r\n" + smuggled,
            ["400", "401"]),
        Malformed("no version", "GET /healthz\r\n\r\n"),
        Malformed("a version that is none", "GET /healthz HTTP/x.y\r\n\r\n"),
        Malformed("another protocol", "\u{16}\u{3}\u{1}\u{2}\0\u{1}\0\u{1}\u{FC}\u{3}\u{3}"),
        Malformed("HTTP/2 in the clear", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
        Malformed("a method that is none", "G\u{1}T /healthz HTTP/1.1\r\nHost: x\r\n\r\n"),
        Malformed("TRACE", "TRACE /healthz HTTP/1.1\r\nHost: x\r\n\r\n", ["405"]),
        Malformed("CONNECT", "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n", ["400", "404", "405"]),
        Malformed("OPTIONS of all", "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", ["404"]),
    ]

    @Test(.timeLimit(.minutes(2)), arguments: all)
    func `it is refused once, nothing behind it is taken for a request, and the next client is served`(
        _ malformed: Malformed
    ) async throws {
        var limits = LiveActivityServer.Limits.unhurried
        limits.closeGrace = .milliseconds(100)
        limits.headTimeout = .seconds(20)
        limits.idleTimeout = .seconds(20)
        let short = limits
        try await withListeningServer(limits: short) { fixture, address in
            let before = try fixture.contents()
            try await RawConnection.open(address) { connection in
                await connection.send(malformed.bytes)
                let answer = await connection.text()
                let status = answer.split(separator: " ").dropFirst().first.map(String.init) ?? ""
                #expect(malformed.statuses.contains(status), "\(malformed): \(answer.prefix(200))")
                #expect(!answer.contains("HTTP/1.1 200"), "\(malformed): \(answer.prefix(400))")
                #expect(answer.utf8.count < 2000, "\(malformed)")
            }
            #expect(try fixture.contents() == before)
            try await RawConnection.open(address) { connection in
                await connection.send(Self.smuggled)
                #expect(await connection.text(until: "ok").hasPrefix("HTTP/1.1 200 "))
            }
        }
    }

    @Test(.timeLimit(.minutes(2))) func `requests that come at once are answered in their order`() async throws {
        try await withListeningServer { _, address in
            try await RawConnection.open(address) { connection in
                await connection.send(
                    Self.smuggled + "GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n"
                        + "GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                let answer = await connection.text()
                let statuses = answer.split(separator: "HTTP/1.1 ").map { String($0.prefix(3)) }
                #expect(statuses == ["200", "404", "200"])
                #expect(answer.contains("Date: ") || answer.contains("date: "))
            }
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: [1, 10, 60, 100])
    func `a client that goes away in the middle of a request leaves the server well`(length: Int) async throws {
        try await withListeningServer { fixture, address in
            let key = fixture.keys[.backend]?.text ?? ""
            let request = Self.put + "Authorization: Bearer \(key)\r\nContent-Length: 400\r\n\r\n{\"type\": \"Order\""
            for _ in 0..<20 {
                try await RawConnection.open(address) { await $0.send(String(request.prefix(length))) }
            }
            try await RawConnection.open(address) { connection in
                await connection.send(Self.smuggled)
                #expect(await connection.text(until: "ok").hasPrefix("HTTP/1.1 200 "))
            }
        }
    }
}
