import Foundation
import HTTP2TestServer
import HTTPTypes
import JSONText
import LoopbackServer
import Testing

@testable import islet

/// `islet health` asks a running server.
@Suite(.serialized) struct HealthTests {
    private static func health(_ arguments: String..., in folder: Folder? = nil) async throws -> Execution {
        try await Execution.of(["health"] + arguments, in: try folder ?? Folder())
    }

    @Test func `a server is ready at the address of its configuration, and nothing else in the file matters`()
        async throws
    {
        let folder = try Folder()
        let listen = "127.0.0.1:\(try DemoStage.freePort())"
        try folder.write(Sample.file("listen: \(listen)"), to: "islet.yaml")
        let before = try await Self.health(in: folder)
        #expect(before.code == 1 && before.output.isEmpty)
        #expect(before.errors == "Error: http://\(listen) is not ready: no server listens there\n")
        try await RunningServer.with(folder) { server in
            let ready = try await Self.health(in: folder)
            #expect(ready.code == 0 && ready.errors.isEmpty && ready.output == "http://\(listen) is ready\n")
            // A file that the server would no longer start with.
            try folder.write("listen: \(listen)\nlisen: x\n", to: "islet.yaml")
            let live = try await Self.health("--live", in: folder)
            #expect(live.code == 0 && live.output == "http://\(listen) is alive\n")
            let json = try await Self.health("--json", in: folder)
            #expect(
                try JSONValue(parsing: json.output)
                    == ["server": .string("http://\(listen)"), "isReady": true, "routes": []])
        }
        let after = try await Self.health("--json", "--live", in: folder)
        #expect(after.code == 1 && after.errors.isEmpty)
        #expect(
            try JSONValue(parsing: after.output)
                == [
                    "server": .string("http://\(listen)"), "isAlive": false, "problem": "no server listens there",
                ])
    }

    @Test func `over TLS the certificate is not compared with the loopback address`() async throws {
        let folder = try Folder()
        let (certificate, key) = try TestAuthority().makeIdentity(addresses: [], names: ["islet.example.com"])
        try folder.write(certificate, to: "islet.crt")
        try folder.write(key, to: "islet.key")
        let port = try DemoStage.freePort()
        let top = "listen: 127.0.0.1:\(port)\ntls: {certificate: islet.crt, key: islet.key}"
        try folder.write(Sample.file(top), to: "islet.yaml")
        try await RunningServer.with(folder) { server in
            let ready = try await Self.health(in: folder)
            #expect(ready.code == 0 && ready.output == "https://127.0.0.1:\(port) is ready\n", "\(ready)")
            #expect(try await Self.health("--server", "https://localhost:\(port)").code == 0)
            let plain = try await Self.health("--server", "http://127.0.0.1:\(port)")
            #expect(plain.code == 1 && plain.refusals.count == 1, "\(plain)")
        }
    }

    @Test(arguments: [
        (
            503, #"{"code":"not_ready","detail":"the database does not answer"}"#,
            "GET /readyz: 503 not_ready: the database does not answer"
        ),
        (502, "<html>", "GET /readyz: 502"), (200, "<html>", "another program than Islet answers there"),
        (200, #"{"status":"ok"}"#, "another program than Islet answers there"),
    ])
    func `an answer that is not a server's that is ready is said with its reason`(
        _ status: Int, _ body: String, _ reason: String
    ) async throws {
        try await withLoopbackServer({ _ in httpAnswer(.init(code: status), body) }) { address, asked in
            let run = try await Self.health("--server", address)
            #expect(run.code == 1 && run.output.isEmpty)
            #expect(run.errors == "Error: \(address) is not ready: \(reason)\n")
            // Once, without a key.
            #expect(asked().map(\.line) == ["GET /readyz"] && asked().map(\.authorization) == [nil])
        }
    }

    @Test func `routes in trouble leave the server ready, and the line says so`() async throws {
        let body = #"{"status":"ready","routes":[{"app":"a","environment":"sandbox","state":"halted"}]}"#
        try await withLoopbackServer({ _ in httpAnswer(.ok, body) }) { address, _ in
            let run = try await Self.health("--server", address)
            #expect(run.code == 0 && run.output == "\(address) is ready; 1 route to APNs in trouble (GET /readyz)\n")
        }
    }

    @Test func `a server that is silent is given up after the time limit`() async throws {
        let silent = try SilentListener()
        let run = try await Self.health("--server", "http://127.0.0.1:\(silent.port)", "--timeout", "0.2")
        #expect(run.code == 1 && run.output.isEmpty)
        #expect(run.errors == "Error: http://127.0.0.1:\(silent.port) is not ready: no answer within 0.2 seconds\n")
    }

    @Test(arguments: [
        (["--timeout", "0"], "--timeout is from 0.1 to 60 seconds"),
        (["--timeout", "61"], "--timeout is from 0.1 to 60 seconds"),
        (["--timeout", "nan"], "--timeout is from 0.1 to 60 seconds"),
        (["--server", "localhost:8080"], "--server is a URL such as http://127.0.0.1:8080, not `localhost:8080`"),
    ])
    func `an argument that means nothing is refused`(_ arguments: [String], _ words: String) async throws {
        let run = try await Execution.of(["health"] + arguments, in: try Folder())
        #expect(run.code == 64 && run.output.isEmpty && run.refusals == [words])
    }

    @Test func `without an address in the configuration it says what to do`() async throws {
        let folder = try Folder()
        try folder.write(Sample.file("listen: 127.0.0.1:0"), to: "islet.yaml")
        let free = try await Self.health(in: folder)
        #expect(free.code == 1 && free.refusals.first?.contains("/listen: with port 0 only the server knows") == true)
        let missing = try await Self.health("--config", "none.yaml", in: folder)
        #expect(missing.code == 1 && missing.refusals.first?.hasPrefix("none.yaml: the file cannot be read") == true)
    }
}

/// A listener whose connections nobody accepts: a client is connected, and gets no answer.
private final class SilentListener {
    let port: UInt16
    private let descriptor: Int32

    init() throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        self.descriptor = descriptor
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, size) == 0 && listen(descriptor, 8) == 0
                    && getsockname(descriptor, address, &size) == 0
            }
        }
        port = UInt16(bigEndian: address.sin_port)
        guard isListening else { throw DemoFailure("no listener: \(String(cString: strerror(errno)))") }
    }

    deinit {
        _ = close(descriptor)
    }
}
