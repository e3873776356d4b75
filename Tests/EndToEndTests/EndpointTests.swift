import APNSModel
import APNSSimulator
import Foundation
import HTTP2TestServer
import JSONText
import LiveActivityAPI
import Testing

@testable import islet

/// Servers whose `endpoint` and `trustRoots` name something other than our simulator.
@Suite struct EndpointTests {
    private static let token = String(repeating: "80a1", count: 40)
    private static let nobody = String(repeating: "0", count: 64)

    @Test func `B1 and B7: another server that behaves like APNs gets the same pushes, with a provider token`()
        async throws
    {
        try await TestServer.run(script: { _ in [.answer(200)] }) { apns in
            let directory = FileManager.default.temporaryDirectory.appendingPathComponent("islet-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: directory) }
            let config = try Self.configuration(directory, port: apns.port, roots: apns.authority.rootPEM)
            func islet(_ name: String, _ arguments: [String]) throws -> ChildProcess {
                try ChildProcess(
                    name, executable: Executable.islet, arguments: arguments + ["--config", config],
                    log: directory.appendingPathComponent("\(name).log"))
            }
            let key = try await islet("keys", ["keys", "create", "--app", "com.example.pizza"])
                .firstLine(within: .seconds(60))
            let server = try islet("serve", ["serve"])
            let line = try await server.firstLine(within: .seconds(60))
            let address = String(try #require(line.split(separator: " ").last))
            let caller = JSONCaller(address) { key }
            try await caller.call(
                .PUT, "/v1/devices/d1", ["user": "alice", "osVersion": "18.2", "environment": "sandbox"])
            try await caller.call(
                .PUT, "/v1/devices/d1/instances/local-1",
                ["type": "OrderTracking", "activity": "o1", "state": "active", "token": .string(Self.token)])
            try await caller.call(
                .PUT, "/v1/activities/o1",
                ["type": "OrderTracking", "state": ["status": "ready"], "audience": ["users": ["alice"]]])
            try await Waiting.until("the push has come", within: .seconds(60)) { Self.pushes(apns).count == 1 }
            await server.stop()

            let sent = try islet(
                "send", ["send", "update", "--token", Self.token, "--state", "{\"status\":\"ready\"}"])
            #expect(try await sent.firstLine(within: .seconds(60)).hasPrefix("200 accepted"))
            #expect(try await sent.exitCode(within: .seconds(60)) == 0)

            #expect(Self.pushes(apns).count == 2)
            let others = Set(apns.requests.compactMap { $0.headers[":path"] }).subtracting([Self.path(Self.token)])
            #expect(others.isSubset(of: [Self.path(Self.nobody)]))
            for request in Self.pushes(apns) {
                #expect(request.headers[":path"] == Self.path(Self.token))
                #expect(request.headers["apns-topic"] == "com.example.pizza.push-type.liveactivity")
                #expect(request.headers["apns-push-type"] == "liveactivity")
                let token = try #require(request.headers["authorization"]?.split(separator: " ").last)
                let claims = try Self.claims(of: String(token))
                #expect(claims["iss"]?.string == "TEAM000001")
                #expect(claims["iat"]?.int != nil)
                let aps = try #require(try JSONValue(parsing: request.body).object?["aps"]?.object)
                #expect(aps["content-state"] == ["status": "ready"])
                #expect(aps["event"] == "update")
            }
        }
    }

    /// Returns the pushes to the phone. The server may also have asked for the time with a push to nobody.
    private static func pushes(_ apns: TestServer) -> [TestServer.Request] {
        apns.requests.filter { $0.headers[":path"] == path(token) }
    }

    private static func path(_ token: String) -> String { "/3/device/\(token)" }

    private static func configuration(_ directory: URL, port: Int, roots: [UInt8]) throws -> String {
        try Data(roots).write(to: directory.appendingPathComponent("roots.pem"))
        try Data(SimulatorProviderKey.fresh().p8.utf8).write(to: directory.appendingPathComponent("key.p8"))
        let config = directory.appendingPathComponent("islet.yaml")
        let text = """
            listen: 127.0.0.1:0
            apps:
              - bundleID: com.example.pizza
                apns:
                  sandbox:
                    {keyFile: key.p8, keyID: KEY0000001, teamID: TEAM000001, trustRoots: roots.pem,
                     endpoint: "https://127.0.0.1:\(port)"}
                activities:
                  - type: OrderTracking
                    attributesType: OrderTrackingAttributes
                    policy: {startAlert: {title: Order}}
            """
        try Data(text.utf8).write(to: config)
        return config.path
    }

    /// Returns the claims of a JWT (RFC 7519), after checking its header.
    private static func claims(of token: String) throws -> JSONObject {
        var parts: [JSONValue] = []
        for part in token.split(separator: ".").prefix(2) {
            var text = String(part.replacing("-", with: "+").replacing("_", with: "/"))
            text += String(repeating: "=", count: (4 - text.count % 4) % 4)
            let data = try #require(Data(base64Encoded: text))
            parts.append(try JSONValue(parsing: Array(data)))
        }
        #expect(parts[0].object?["alg"] == "ES256" && parts[0].object?["kid"] == "KEY0000001")
        return try #require(parts[1].object)
    }
}
