import Foundation
import JSONText
import Testing

@testable import islet

@Suite(.serialized) struct ServeTests {
    private func folder(_ yaml: String = Sample.file("listen: 127.0.0.1:0")) throws -> Folder {
        let folder = try Folder()
        try folder.write(yaml, to: "islet.yaml")
        return folder
    }

    /// Expects one line with the reason, and no output that looks like a crash.
    private func expectRefusal(
        _ run: Execution, _ words: String, _ location: SourceLocation = #_sourceLocation
    ) {
        #expect(run.code == 1 && run.output.isEmpty, sourceLocation: location)
        #expect(run.refusals.count == 1, "it says: \(run.errors)", sourceLocation: location)
        #expect(run.refusals.first?.contains(words) == true, "it says: \(run.errors)", sourceLocation: location)
        #expect(run.errors.split(separator: "\n").last?.hasPrefix("Error: ") == true, sourceLocation: location)
        #expect(
            !run.errors.contains("Fatal error") && !run.errors.contains("Program crashed"), sourceLocation: location)
    }

    @Test(arguments: [
        ("listen: 127.0.0.1", "", "/listen: `127.0.0.1` is not host:port"),
        ("storage: sqlite:none/islet.db\nlisten: 127.0.0.1:0", "", "No such file or directory"),
        ("storage: sqlite:key.p8\nlisten: 127.0.0.1:0", "", "key.p8 is not a SQLite database"),
        ("listen: 127.0.0.1:0", ", trustRoots: none.pem", "none.pem"),
        ("listen: 127.0.0.1:0", ", trustRoots: key.p8", "key.p8"),
        ("listen: 'no-such-host.invalid:0'", "", "cannot listen on no-such-host.invalid:0: no such host is known"),
        ("listen: 192.0.2.1:0", "", "cannot listen on 192.0.2.1:0: this machine does not have the address"),
    ])
    func `a configuration that cannot be served is refused in one line`(
        _ top: String, _ key: String, _ words: String
    )
        async throws
    {
        let key = Sample.key.dropLast() + key + "}"
        let yaml = Sample.file(top, apps: "[\(Sample.app(apns: "{sandbox: \(key)}"))]")
        expectRefusal(try await Execution.of(["serve"], in: try folder(yaml)), words)
    }

    @Test(arguments: ["settle", "settle.after-commit:0", "settle.after-commit:x", "settle.after-commit:1:2"])
    func `a fault point that does not exist is refused in one line`(_ text: String) async throws {
        let run = try await Execution.of(["serve"], in: try folder(), environment: ["ISLET_FAULT_POINT": text])
        expectRefusal(run, "ISLET_FAULT_POINT is POINT or POINT:COUNT, where POINT is one of write.before-commit,")
    }

    @Test func `a database that another server holds, and a port that it has, are refused with what to do`()
        async throws
    {
        let folder = try folder()
        try await RunningServer.with(folder) { server in
            expectRefusal(try await Execution.of(["serve"], in: folder), "in use by another process: stop it, or")
            let taken = server.address.dropFirst("http://".count)
            try folder.write(Sample.file("listen: \(taken)\nstorage: sqlite:two.db"), to: "two.yaml")
            expectRefusal(
                try await Execution.of(["serve", "--config", "two.yaml"], in: folder),
                "cannot listen on \(taken): another process has the port: stop it, or set `listen` to another")
            let port = try #require(taken.split(separator: ":").last)
            expectRefusal(
                try await Execution.of(["simulate", "--port", String(port), "--control-port", "0"], in: folder),
                "another process has the port: stop it, or set --port, --channel-port and --control-port to another")
        }
    }

    @Test(arguments: ["127.0.0.1", "[::1]"]) func `it prints the address it got, answers there, and stops when asked`(
        _ host: String
    ) async throws {
        let folder = try folder(Sample.file("listen: '\(host):0'"))
        try await RunningServer.with(folder) { server in
            #expect(server.address.hasPrefix("http://\(host):"))
            try await JSONCaller(server.address).call(.GET, "/readyz")
            let start = ContinuousClock.now
            await server.process.stop()
            // No call is open, and the server does not wait for an APNs that cannot be reached.
            #expect(ContinuousClock.now - start < .seconds(4))
            #expect(try await server.process.exitCode(within: .seconds(1)) == 0)
            // The only line, printed once, says that the database's ring of keys was made.
            let said = try String(contentsOf: server.log, encoding: .utf8).split(separator: "\n")
            #expect(said.count == 1 && said[0].contains("created the keys that seal push tokens"), "\(said)")
            #expect(said[0].contains("islet.db.keys"))
        }
        try await RunningServer.with(folder) { server in
            await server.process.stop()
            let said = try String(contentsOf: server.log, encoding: .utf8)
            #expect(said.isEmpty)
        }
    }
}
