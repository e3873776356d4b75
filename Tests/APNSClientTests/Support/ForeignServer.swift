import APNSClient
import Foundation
import HTTP2TestServer

/// A server of another implementation, as a process of its own, in a folder that is removed with it.
struct ForeignServer: Sendable {
    /// A program that a test needs. Without it the test is skipped; in CI (`CI=true`) the test fails instead.
    /// `script/test` installs all of them.
    struct Tool: Sendable, CustomStringConvertible {
        static let nghttpd = Tool(name: "nghttpd", package: "nghttp2-server", needs: nil)
        static let python = Tool(
            name: "python3", package: "python3-h2", needs: "/usr/lib/python3/dist-packages/h2/__init__.py")

        let name: String
        let package: String
        /// A file that must exist as well.
        let needs: String?

        var description: String { "\(name) (Debian's package \(package)); script/test installs it" }

        /// Folders that are searched. Debian's Python comes first because it has Debian's packages.
        private static let folders = ["/usr/bin", "/usr/sbin", "/usr/local/bin", "/opt/homebrew/bin"]

        var executable: URL? {
            if let needs, !FileManager.default.fileExists(atPath: needs) { return nil }
            return Self.folders.lazy.map { "\($0)/\(self.name)" }
                .first { FileManager.default.isExecutableFile(atPath: $0) }.map { URL(fileURLWithPath: $0) }
        }

        /// `true` if tests that need the tool run: where it is installed, and always in CI, to fail there.
        var isExpected: Bool { executable != nil || ProcessInfo.processInfo.environment["CI"] != nil }
    }

    struct Missing: Error, CustomStringConvertible {
        let description: String
    }

    let port: Int
    let authority: TestAuthority

    /// Runs a server while the body runs. `arguments` gets the files of its certificate and key, and a free port.
    ///
    /// - Parameters: - ready: The text that it prints when it listens; a number after it is the port. `nil` for a
    ///   server that prints nothing: it is ready when its port answers. - last: Text of the line that it prints when it
    ///   is told to end.
    /// - Returns: That line.
    @discardableResult
    static func run(
        _ tool: Tool, ready: String? = nil, last: String? = nil,
        arguments: (_ certificate: String, _ key: String, _ port: Int) -> [String],
        body: (ForeignServer) async throws -> Void
    ) async throws -> String {
        guard let executable = tool.executable else { throw Missing(description: "there is no \(tool)") }
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("foreign-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let authority = try TestAuthority()
        let identity = try authority.makeIdentity()
        let files = ["certificate.pem", "key.pem"].map { folder.appendingPathComponent($0) }
        try Data(identity.certificate.utf8).write(to: files[0])
        try Data(identity.key.utf8).write(to: files[1])

        var port = try freePort()
        var process = try await ChildProcess(executable.path, arguments(files[0].path, files[1].path, port))
        if ready == nil {
            for attempt in 1...3 {
                do {
                    try await process.isListening(on: port)
                    try process.isStillThere()
                    break
                } catch {
                    try? await process.end()
                    if attempt == 3 { throw error }
                    port = try freePort()
                    process = try await ChildProcess(executable.path, arguments(files[0].path, files[1].path, port))
                }
            }
        }
        let result: Result<String, any Error>
        do {
            var said: Int?
            if let ready {
                let line = try await process.line(with: ready)
                said = line.components(separatedBy: ready).last.flatMap { Int($0.prefix { $0.isNumber }) }
            }
            try await body(ForeignServer(port: said ?? port, authority: authority))
            try process.isStillThere()
            if let last {
                try await process.write("end\n")
                result = .success(try await process.line(with: last))
            } else {
                result = .success("")
            }
        } catch {
            result = .failure(error)
        }
        try? await process.end()
        return try result.get()
    }

    var endpoint: APNSClient.Endpoint {
        get throws { try APNSClient.Endpoint(host: "127.0.0.1", port: port) }
    }

    /// Returns a port for nghttpd, which cannot say which port it took. The system assigns this port to nobody by
    /// itself; otherwise a connection of another test could take it before the server does.
    private static func freePort() throws -> Int {
        for _ in 0..<100 {
            guard let socket = try? BoundSocket(port: Int.random(in: 20_000..<32_000)) else { continue }
            socket.release()
            return socket.port
        }
        throw Missing(description: "no port is free")
    }
}
