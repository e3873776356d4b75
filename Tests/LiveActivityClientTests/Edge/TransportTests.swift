import Foundation
import Glibc
import LiveActivityClient
import Testing

/// The transport of the client's calls, against a server on this machine.
@Suite(.timeLimit(.minutes(1)))
struct TransportTests {
    private static let call = ClientRequest(
        method: "PUT", path: "/v1/devices/a%2Fb", body: Data(#"{"user":"ann"}"#.utf8), credential: "secret", proof: "p")

    private static func answer(_ status: String, _ headers: String = "", _ body: String = "") -> String {
        "HTTP/1.1 \(status)\r\n\(headers)Content-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n\(body)"
    }

    @Test func `an answer comes with its status, its body and the server's date`() async throws {
        let server = try Loopback([
            Self.answer("200 OK", "Date: Tue, 01 Jan 2030 12:00:09 GMT\r\n", #"{"activities":[]}"#),
            Self.answer("422 Unprocessable Content", "Date: yesterday\r\n", #"{"code":"x"}"#), Self.answer("503 Away"),
        ])
        let transport = URLSessionTransport(server: server.address)
        let first = try await transport.send(Self.call)
        #expect(first.status == 200 && String(decoding: first.body, as: UTF8.self) == #"{"activities":[]}"#)
        #expect(first.date == Date(timeIntervalSince1970: 1_893_499_209))
        let second = try await transport.send(Self.call)
        #expect(
            second.status == 422 && second.date == nil
                && String(decoding: second.body, as: UTF8.self) == #"{"code":"x"}"#)
        #expect(try await transport.send(Self.call).status == 503)
        let heard = try #require(server.requests.all.first).split(separator: "\r\n").map(String.init)
        #expect(heard.first == "PUT /v1/devices/a%2Fb HTTP/1.1" && heard.last == #"{"user":"ann"}"#)
        for header in ["Authorization: Bearer secret", "Islet-Device-Credential: p", "Content-Type: application/json"] {
            #expect(heard.contains(header), "\(heard)")
        }
    }

    @Test func `a redirect is not followed, and what speaks for the phone is not shown to others`() async throws {
        for status in ["301 Moved Permanently", "302 Found", "303 See Other", "307 Temporary Redirect"] {
            let server = try Loopback([
                Self.answer(status, "Location: /elsewhere\r\n"), Self.answer("200 OK", "", #"{"activities":[]}"#),
            ])
            let answer = try await URLSessionTransport(server: server.address).send(Self.call)
            #expect("\(answer.status)" == status.prefix(3))
            #expect(server.requests.all.count == 1)
        }
    }

    @Test func `what a server would have remembered is not`() async throws {
        let server = try Loopback([Self.answer("200 OK", "Set-Cookie: a=b\r\n"), Self.answer("200 OK")])
        let transport = URLSessionTransport(server: server.address)
        for _ in 0..<2 { _ = try await transport.send(Self.call) }
        #expect(server.requests.all.count == 2 && server.requests.all.allSatisfy { !$0.contains("Cookie") })
    }

    @Test func `no server is no answer`() async throws {
        let address = try Loopback([]).address
        await #expect(throws: URLError.self) { try await URLSessionTransport(server: address).send(Self.call) }
    }
}

/// An HTTP server that gives one answer after another, each on a connection of its own.
private final class Loopback: Sendable {
    let address: URL
    let requests = Log<String>()
    private let socket: Int32

    struct Failed: Error {}

    init(_ answers: [String]) throws {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var place = sockaddr_in()
        place.sin_family = sa_family_t(AF_INET)
        place.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutableBytes(of: &place) { bytes in
            guard let address = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self) else { return false }
            return bind(socket, address, length) == 0 && listen(socket, 8) == 0
                && getsockname(socket, address, &length) == 0
        }
        guard isBound, let url = URL(string: "http://127.0.0.1:\(UInt16(bigEndian: place.sin_port))") else {
            throw Failed()
        }
        (self.socket, address) = (socket, url)
        let requests = requests
        Thread {
            for answer in answers {
                let connection = accept(socket, nil, nil)
                guard connection >= 0 else { return }
                requests.add(Self.request(connection))
                _ = answer.withCString { Glibc.send(connection, $0, strlen($0), Int32(MSG_NOSIGNAL)) }
                close(connection)
            }
        }.start()
    }

    deinit {
        // Wakes the thread that waits for a connection.
        shutdown(socket, Int32(SHUT_RDWR))
        close(socket)
    }

    private static func request(_ connection: Int32) -> String {
        var text = ""
        var bytes = [UInt8](repeating: 0, count: 4_096)
        while true {
            let parts = text.components(separatedBy: "\r\n\r\n")
            let length = text.components(separatedBy: "Content-Length: ").dropFirst().first.flatMap {
                Int($0.prefix { $0.isNumber })
            }
            if parts.count > 1, parts[1].utf8.count >= length ?? 0 { return text }
            let count = recv(connection, &bytes, bytes.count, 0)
            guard count > 0 else { return text }
            text += String(decoding: bytes.prefix(count), as: UTF8.self)
        }
    }
}
