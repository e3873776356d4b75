import APNSModel
import Crypto
import EmbeddedIslet
import Foundation
import JSONText
import Logging
import Testing

@testable import islet

/// A server inside another process, whose people call with their own tokens.
@Suite struct EmbeddedPeopleTests {
    private static let app = BundleID("com.example.pizza").unsafelyUnwrapped
    private static let other = BundleID("com.example.bakery").unsafelyUnwrapped
    private static let secret = "an embedded secret 0123456789 abcdefghij"

    private static func configuration(_ folder: URL) -> IsletServer.Configuration {
        let kind = IsletServer.Kind("Order", attributesType: "OrderAttributes", startAlert: nil)
        var configuration = IsletServer.Configuration(apps: [app: [kind], other: [kind]], routes: [])
        configuration.port = 0
        configuration.database = folder.appendingPathComponent("islet.db").path
        configuration.people[app] = people(.secrets([secret]))
        return configuration
    }

    private static func people(_ keys: IsletServer.People.Keys) -> IsletServer.People {
        .init(issuers: ["https://id.example.com"], audience: "pizza", keys: keys)
    }

    private static let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    /// Returns a token as in RFC 7515 section 3.1, signed with HS256.
    private static func token(_ user: String) -> String {
        func base64(_ bytes: some Sequence<UInt8>) -> String {
            Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
                .replacing("=", with: "")
        }
        let header: JSONValue = ["alg": "HS256"]
        let claims: JSONValue = [
            "iss": "https://id.example.com", "aud": "pizza", "sub": .string(user),
            "exp": .number(JSONNumber(Int(Date().timeIntervalSince1970) + 600)),
        ]
        let signed = "\(base64(header.bytes)).\(base64(claims.bytes))"
        let key = SymmetricKey(data: Array(secret.utf8))
        return "\(signed).\(base64(HMAC<SHA256>.authenticationCode(for: Array(signed.utf8), using: key)))"
    }

    private func withFolder(_ body: (URL) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("islet-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder)
    }

    @Test(.timeLimit(.minutes(2))) func `a person reaches their own phone in an embedded server, and no other's`()
        async throws
    {
        try await withFolder { folder in
            let server = try IsletServer(Self.configuration(folder), logger: Self.quiet)
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                tasks.addTask { try await server.run() }
                let caller = JSONCaller(try #require(await server.address))
                func status(_ user: String) async throws -> Int {
                    try await caller.exchange(
                        .PUT, "/v1/devices/ada-phone/instances", Array(#"{"sequence":1,"instances":[]}"#.utf8),
                        credential: Self.token(user)
                    ).status
                }
                let registered = try await caller.exchange(
                    .PUT, "/v1/devices/ada-phone", Array(#"{"osVersion":"18.1"}"#.utf8), credential: Self.token("ada"))
                #expect(registered.status == 200)
                #expect(try await status("ada") == 200)
                #expect(try await status("bob") == 404)
                tasks.cancelAll()
                try? await tasks.waitForAll()
            }
        }
    }

    @Test func `people that no token could be verified for are refused, and no key is quoted`() async throws {
        try await withFolder { folder in
            func words(_ change: (inout IsletServer.Configuration) -> Void) -> String {
                var configuration = Self.configuration(folder)
                change(&configuration)
                do {
                    _ = try IsletServer(configuration, logger: Self.quiet)
                    return "nothing"
                } catch {
                    return "\(error)"
                }
            }
            // Outside the macro, because closures inside it replace those around it.
            let none = words { $0.people[Self.app] = Self.people(.secrets([])) }
            #expect(none.contains("at least one key"))
            let printed = Self.people(.secrets([Self.secret]))
            #expect(!"\(printed) \(String(reflecting: printed))".contains("0123456789"))
            let short = words { $0.people[Self.app] = Self.people(.secrets([Self.secret, "short-one"])) }
            #expect(short.contains("key 2: ") && !short.contains("short-one"), "\(short)")
            let pem = words { $0.people[Self.app] = Self.people(.publicKeys([Self.secret])) }
            #expect(pem.contains("key 1: "))
            let url = words { $0.people[Self.app] = Self.people(.keySet(url: "http://10.0.0.1/")) }
            #expect(url.contains("https"))
            let issuers = words { $0.people[Self.app]?.issuers = [] }
            #expect(issuers.contains("issuers"))
            let audience = words { $0.people[Self.app]?.audience = "" }
            #expect(audience.contains("audience"))
            let leeway = words { $0.people[Self.app]?.leeway = .seconds(601) }
            #expect(leeway.contains("leeway"))
            let twice = words { $0.people[Self.other] = $0.people[Self.app] }
            #expect(twice.contains("which app"))
            let unknown = words { $0.apps[Self.app] = nil }
            #expect(unknown.contains("there is no app"))
        }
    }
}
