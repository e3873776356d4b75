import APNSModel
import APNSSimulator
import Foundation
import HTTPTypes
import JSONText
import LoopbackServer
import NIOCore
import StorageSQL
import StorageSQLite
import Testing

@testable import islet

/// The executable, and an APNs in this process that it checks.
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

        /// Returns the findings other than `ok`, by check.
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
                #expect(bad[check]?["fix"]?.string?.isEmpty == false)
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
            #expect(bad["clock"]?["detail"]?.string?.contains("ahead of this machine's") == true, "\(bad)")
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

    @Test func `what runs and does not fit a changed contract is told, beside a server too`() async throws {
        let folder = try Folder()
        func configure(_ state: String) throws {
            try folder.write(#"{"attributesType": "OrderAttributes", "contentState": \#(state)}"#, to: "order.json")
            let types = "[\(Sample.type(more: ", contract: order.json"))]"
            try folder.write(
                Sample.file("listen: 127.0.0.1:0", apps: "[\(Sample.app(types: types))]"), to: "islet.yaml")
        }
        func contract() async throws -> JSONObject {
            let run = try await Execution.of(["doctor", "--offline", "--json"], in: folder)
            let list = try JSONValue(parsing: run.output).object?["findings"]?.array?.compactMap(\.object) ?? []
            return try #require(list.first { $0["check"] == "contract" }, "\(run)")
        }
        try configure(#"{"type": "object", "properties": {"eta": {"type": "integer"}}}"#)
        let key = try await Execution.of(["keys", "create", "--app", "com.acme.pizza"], in: folder)
        try await RunningServer.with(folder) { server in
            for (name, state) in [("a", #"{"eta": 5}"#), ("b", "{}")] {
                let caller = JSONCaller(
                    server.address, key: { key.output.trimmingCharacters(in: .newlines) })
                let body = try JSONValue(parsing: #"{"type":"Order","state":\#(state)}"#)
                _ = try await caller.call(.PUT, "/v1/activities/\(name)", body)
            }
            #expect(try await contract()["id"] == "contract-good")
        }
        try configure(#"{"type": "object", "required": ["eta"], "properties": {"eta": {"type": "integer"}}}"#)
        let drift = try await contract()
        #expect(drift["id"] == "contract-drift" && drift["outcome"] == "warning" && drift["fix"] != nil)
        #expect(drift["detail"]?.string?.contains("1 of 2 checked activities no longer fit the contract, ") == true)
        #expect(drift["detail"]?.string?.contains(", for example `b`: /eta: ") == true)
    }

    @Test func `what the server calls beside APNs is reached, and not called`() async throws {
        let keys = #"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"9T46rx0OMQ_ni-_a8N0S4sT3IoVXiMvGDlQXYsnX8bg"}]}"#
        try await withScene { scene in
            try await withLoopbackServer({ asked in
                httpAnswer(asked.path == "/jwks" ? .ok : .notFound, asked.path == "/jwks" ? keys : "")
            }) { address, asked in
                func found(_ webhook: String, _ set: String, allowPrivate: Bool) async throws -> [String: JSONObject] {
                    let more = allowPrivate ? ", allowPrivate: true" : ""
                    let key =
                        "{keyFile: simulator.p8, keyID: \(scene.keyID), teamID: \(scene.teamID), "
                        + "endpoint: \(scene.endpoint), trustRoots: ca.pem}"
                    let people = "{issuers: [a], audience: b, jwks: {url: '\(set)'\(more)}}"
                    let app =
                        Sample.app(apns: "{sandbox: \(key)}").dropLast()
                        + ", people: \(people), webhooks: [{name: w, url: '\(webhook)', secretFile: secret\(more)}]}"
                    try scene.folder.write("whsec_" + String(repeating: "A", count: 32), to: "secret")
                    try scene.folder.write(Sample.file("listen: 127.0.0.1:0", apps: "[\(app)]"), to: "islet.yaml")
                    let run = try await Execution.of(["doctor", "--json"], in: scene.folder)
                    let list = try JSONValue(parsing: run.output).object?["findings"]?.array ?? []
                    return Dictionary(
                        list.compactMap(\.object).map { ($0["check"]?.string ?? "", $0) }, uniquingKeysWith: { $1 })
                }
                let good = try await found(address + "/hook?token=secret", address + "/jwks", allowPrivate: true)
                #expect(good["webhook"]?["id"] == "webhook-good" && good["people"]?["id"] == "people-good", "\(good)")
                #expect(good["people"]?["detail"]?.string?.hasSuffix("has 1 key") == true)
                #expect(good["webhook"]?["detail"]?.string?.contains("secret") == false)
                #expect(
                    asked().map(\.line) == ["HEAD /", "GET /jwks"] || asked().map(\.line) == ["GET /jwks", "HEAD /"])
                let odd = try await found("http://127.0.0.1:1/x", address + "/other", allowPrivate: true)
                #expect(odd["webhook"]?["id"] == "webhook-unreachable" && odd["people"]?["id"] == "people-unusable")
                let inside = try await found("https://127.0.0.1:1/x", "https://no-such.invalid/k", allowPrivate: false)
                #expect(inside["webhook"]?["id"] == "webhook-address" && inside["people"]?["id"] == "people-unusable")
                #expect(inside["webhook"]?["detail"]?.string?.contains("is private") == true)
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
        #expect(
            missing.code == 1 && missing.output.hasPrefix("failed   configuration  none.yaml: the file cannot be read"))
    }

    /// Returns a port of this machine on which nobody listens.
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
