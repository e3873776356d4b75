import APNSModel
import APNSSimulator
import Foundation
import JSONText
import NIOCore
import StorageSQLite
import Testing

@testable import islet

/// The executable, and an APNs in this process that it looks at.
@Suite(.serialized) struct DoctorTests {
    private struct Scene: Sendable {
        let folder: Folder
        let endpoint: String
        let keyID: String
        let teamID: String

        func write(endpoint: String? = nil, keyFile: String = "simulator.p8", roots: String = "ca.pem") throws {
            let key =
                "{keyFile: \(keyFile), keyID: \(keyID), teamID: \(teamID), endpoint: \(endpoint ?? self.endpoint), "
                + "trustRoots: \(roots)}"
            try folder.write(
                Sample.file("listen: 127.0.0.1:0", apps: "[\(Sample.app(apns: "{sandbox: \(key)}"))]"), to: "islet.yaml"
            )
        }

        /// What it finds, by check, where that is not `ok`.
        func findings(_ options: [String] = []) async throws -> (code: Int32, list: [String: JSONObject]) {
            let run = try await Execution.of(["doctor", "--json"] + options, in: folder)
            #expect(run.errors.isEmpty)
            let json = try JSONValue(parsing: run.output).object
            let list = json?["findings"]?.array?.compactMap(\.object) ?? []
            let bad = list.filter { $0["outcome"] != "ok" }
            return (
                run.code,
                Dictionary(
                    bad.map { ($0["check"]?.string ?? "", $0) },
                    uniquingKeysWith: { $0["outcome"] == "failed" ? $0 : $1 })
            )
        }
    }

    private func withScene(
        topics: Set<BundleID>? = nil, clockAhead: Duration = .zero,
        _ body: @escaping @Sendable (Scene) async throws -> Void
    ) async throws {
        let (key, p8) = ProviderKey.fresh(topics: topics)
        var configuration = APNSSimulator.Configuration()
        configuration.keys = [key]
        let simulator = try APNSSimulator(configuration)
        try simulator.advance(by: clockAhead)
        let folder = try Folder()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await simulator.run() }
            let addresses = try await simulator.started
            for (name, text) in [("simulator.p8", p8), ("ca.pem", addresses.caPEM)] {
                let path = try folder.write(text, to: name)
                try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
            }
            let scene = Scene(
                folder: folder, endpoint: "https://127.0.0.1:\(addresses.ports[.sandbox] ?? 0)", keyID: key.keyID,
                teamID: key.teamID)
            try scene.write()
            defer { group.cancelAll() }
            try await body(scene)
        }
    }

    @Test func `against the simulator everything is well, beside a server and without one`() async throws {
        try await withScene { scene in
            let run = try await Execution.of(["doctor"], in: scene.folder)
            #expect(run.code == 0 && run.errors.isEmpty)
            let lines = run.output.split(separator: "\n")
            #expect(lines.count == 7 && lines.allSatisfy { $0.hasPrefix("ok ") }, "\(run.output)")
            #expect(!FileManager.default.fileExists(atPath: scene.folder.path("islet.db")))
            try await RunningServer.with(scene.folder) { _ in
                let (code, bad) = try await scene.findings(["--app", "com.acme.pizza", "--environment", "sandbox"])
                #expect(code == 0 && bad.isEmpty, "\(bad)")
            }
        }
    }

    @Test func `a wrong key, an endpoint that is not there, and one that is not trusted are told apart`() async throws {
        try await withScene { scene in
            func expect(_ check: String, _ words: String, _ options: [String] = []) async throws {
                let (code, bad) = try await scene.findings(options)
                #expect(code == 1 && bad[check]?["outcome"] == "failed", "\(bad)")
                #expect(bad[check]?["detail"]?.string?.contains(words) == true, "\(bad)")
                #expect(bad[check]?["advice"]?.string?.isEmpty == false)
            }
            try scene.write(keyFile: "key.p8")
            try await expect("push", "does not accept the signature")
            try scene.write(endpoint: "https://127.0.0.1:\(try await Self.closedPort())")
            try await expect("connection", "no connection to https://127.0.0.1:")
            try scene.write(endpoint: "https://no-such-host.invalid:443")
            try await expect("name", "no-such-host.invalid has no address")
            #expect(try await scene.findings(["--offline"]).code == 0)
            // The authority of another simulator.
            try scene.folder.write(try APNSSimulator().caPEM, to: "other.pem")
            try scene.write(roots: "other.pem")
            try await expect("connection", "is not trusted")
            try scene.write(roots: "none.pem")
            try await expect("configuration", "/apps/0/apns/sandbox/trustRoots")
            try scene.write()
            try scene.folder.write(String(repeating: "A", count: 8192), to: "islet.db")
            try await expect("database", "is not a database of islet")
        }
    }

    @Test func `a key that may not push to the app is told from a good one`() async throws {
        try await withScene(topics: [BundleID("com.acme.cake").unsafelyUnwrapped]) { scene in
            let (code, bad) = try await scene.findings()
            #expect(code == 1 && bad["push"]?["detail"]?.string?.contains("may not push to") == true, "\(bad)")
        }
    }

    @Test(arguments: [(30, "warning", 0), (600, "failed", 1), (7_200, "failed", 1)])
    func `a clock that differs from APNs's is named`(_ seconds: Int, _ outcome: String, _ code: Int32) async throws {
        try await withScene(clockAhead: .seconds(seconds)) { scene in
            let (exit, bad) = try await scene.findings()
            #expect(exit == code && bad["clock"]?["outcome"] == .string(outcome), "\(bad)")
            #expect(bad["clock"]?["detail"]?.string?.contains("ahead of ours") == true, "\(bad)")
        }
    }

    @Test func `what answers there but speaks no TLS is no APNs`() async throws {
        try await withScene { scene in
            try await RunningServer.with(scene.folder) { server in
                try scene.write(endpoint: server.address.replacing("http://", with: "https://"))
                let (code, bad) = try await scene.findings()
                #expect(code == 1 && bad["connection"]?["detail"]?.string?.hasPrefix("TLS: ") == true, "\(bad)")
            }
        }
    }

    @Test func `arguments that mean nothing, and a configuration that cannot be read`() async throws {
        let folder = try Folder()
        try folder.write(Sample.file(), to: "islet.yaml")
        let odd = try await Execution.of(["doctor", "--environment", "dev"], in: folder)
        #expect(odd.code == 64 && odd.refusals == ["an environment is sandbox or production, not `dev`"])
        let none = try await Execution.of(["doctor", "--offline", "--app", "com.acme.cake"], in: folder)
        #expect(none.code == 1 && none.errors == "Error: no key is configured for that\n")
        let missing = try await Execution.of(["doctor", "--config", "none.yaml"], in: folder)
        #expect(missing.code == 1 && missing.output.hasPrefix("failed   configuration  none.yaml: it cannot be read"))
    }

    /// A port of this machine on which nobody listens.
    private static func closedPort() async throws -> Int {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let port = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, length) == 0 && getsockname(descriptor, address, &length) == 0
            }
        }
        try #require(port)
        return Int(UInt16(bigEndian: address.sin_port))
    }
}
