import Crypto
import Foundation
import HTTP2TestServer
import JSONText
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization
import Testing

@testable import islet

/// Access to a server that runs as its own process and trusts an identity provider.
@Suite(.serialized) struct AccessPlayTests {
    private static let token = String(repeating: "a1", count: 80)

    private struct Reply: Equatable, Sendable {
        var status: Int
        var code = ""
    }

    /// The answer to a phone that reports its card, with the activities that it contains.
    private struct Told: Equatable, Sendable {
        var reply: Reply
        var activities: [String] = []

        init(_ status: Int, _ code: String = "", _ activities: [String] = []) {
            reply = Reply(status: status, code: code)
            self.activities = activities
        }
    }

    private func call(
        _ stage: DemoStage, _ method: JSONCaller.Method, _ path: String, _ body: JSONValue? = nil, as bearer: String
    ) async throws -> (reply: Reply, body: JSONObject) {
        let answer = try await stage.islet.exchange(method, path, body?.bytes, credential: bearer)
        let object = (try? JSONValue(parsing: answer.body))?.object ?? [:]
        return (Reply(status: answer.status, code: object["code"]?.string ?? ""), object)
    }

    /// Registers a phone for the person of this token, and returns a credential of the phone's own.
    private func register(_ stage: DemoStage, _ phone: String, as bearer: String) async throws -> String {
        let body: JSONValue = ["osVersion": "18.1", "environment": "sandbox", "wantsCredential": true]
        let credential = Mutex("")
        // The key set is fetched in parallel to the calls.
        try await Waiting.until("\(phone) is registered", within: .seconds(60)) {
            let (reply, answer) = try await call(stage, .PUT, "/v1/devices/\(phone)", body, as: bearer)
            guard reply.code != "keys_unavailable" else { return false }
            #expect(reply.status == 200, "\(reply)")
            let text = try #require(answer["credential"]?.string)
            credential.withLock { $0 = text }
            return true
        }
        return credential.withLock(\.self)
    }

    /// Reports a card of the order on this phone.
    private func report(_ stage: DemoStage, _ phone: String, as bearer: String) async throws -> Told {
        let (reply, answer) = try await call(
            stage, .PUT, "/v1/devices/\(phone)/instances/card-of-\(phone)",
            [
                "type": "OrderTracking", "activity": "order-1", "state": "active",
                "token": .string(Self.token + (phone == "ada-phone" ? "0a" : "0b")),
            ], as: bearer)
        let activities = answer["activities"]?.array?.compactMap { $0.object?["activity"]?.string } ?? []
        return Told(reply.status, reply.code, activities)
    }

    @Test(.timeLimit(.minutes(20)))
    func `two people and their phones reach what is theirs, and what is revoked is over with the next call`()
        async throws
    {
        try await IdentityProvider.run { provider in
            try await withStage { stage in
                let file = stage.directory.appendingPathComponent("islet.yaml")
                let text = try String(contentsOf: file, encoding: .utf8).withPeople(provider.configuration)
                try Data(text.utf8).write(to: file)
                try await stage.crashServer()
                let (ada, bob) = (try provider.token("ada"), try provider.token("bob"))
                let adaPhone = try await register(stage, "ada-phone", as: ada)
                let bobPhone = try await register(stage, "bob-phone", as: bob)
                try await stage.setOrder("preparing", ["ada"])

                try await shares(stage, adaPhone, bobPhone)
                try await keepsApart(stage, [ada, adaPhone], [bob, bobPhone])
                try await refusesForgeries(stage, provider)
                try await revokes(stage, ada, adaPhone, bobPhone)
            }
        }
    }

    /// Checks that a member of the audience gets the state. Another person gets nothing until the audience names them.
    private func shares(_ stage: DemoStage, _ ada: String, _ bob: String) async throws {
        #expect(try await report(stage, "ada-phone", as: ada) == Told(200, "", ["order-1"]))
        #expect(try await report(stage, "bob-phone", as: bob) == Told(200))
        try await stage.setOrder("ready", ["ada", "bob"])
        #expect(try await report(stage, "bob-phone", as: bob) == Told(200, "", ["order-1"]))
    }

    /// Checks that neither a person's token nor a phone's credential reaches another person's phone or a call of the
    /// backend.
    private func keepsApart(_ stage: DemoStage, _ ada: [String], _ bob: [String]) async throws {
        for (phone, others) in [("ada-phone", bob), ("bob-phone", ada)] {
            for bearer in others {
                #expect(try await report(stage, phone, as: bearer) == Told(404, "unknown_device"))
                #expect(
                    try await call(stage, .DELETE, "/v1/devices/\(phone)", as: bearer).reply.status == 404)
            }
        }
        let calls: [(JSONCaller.Method, String)] = [
            (.GET, "/v1/activities"), (.GET, "/v1/activities/order-1"), (.GET, "/v1/devices/ada-phone/diagnosis"),
            (.DELETE, "/v1/devices/ada-phone/credential"),
        ]
        for bearer in ada + bob {
            for (method, path) in calls {
                let (reply, _) = try await call(stage, method, path, as: bearer)
                #expect(reply == Reply(status: 403, code: "scope_missing"), "\(path)")
            }
        }
    }

    private func refusesForgeries(_ stage: DemoStage, _ provider: IdentityProvider) async throws {
        let bad = [
            (try provider.token("ada", endsIn: -3600), "token_expired"),
            (try provider.token("ada", audience: "bakery"), "token_invalid"),
            (try provider.token("ada", forger: P256.Signing.PrivateKey()), "token_invalid"),
        ]
        for (token, code) in bad {
            #expect(try await report(stage, "ada-phone", as: token) == Told(401, code))
        }
    }

    /// Revokes with commands beside the server.
    private func revokes(_ stage: DemoStage, _ ada: String, _ adaPhone: String, _ bobPhone: String) async throws {
        #expect(try await stage.command("devices", "revoke", "ada-phone").code == 0)
        #expect(
            try await report(stage, "ada-phone", as: adaPhone) == Told(401, "credential_invalid"))
        // The person's own token and other phones' credentials are still valid.
        #expect(try await report(stage, "ada-phone", as: ada).reply.status == 200)
        #expect(try await report(stage, "bob-phone", as: bobPhone).reply.status == 200)
        let again = try await register(stage, "ada-phone", as: ada)
        #expect(try await report(stage, "ada-phone", as: again).reply.status == 200)

        let id = try #require(stage.key.split(separator: "_").dropFirst().first.map(String.init))
        #expect(try await call(stage, .GET, "/v1/activities", as: stage.key).reply.status == 200)
        #expect(try await stage.command("keys", "revoke", id).code == 0)
        #expect(
            try await call(stage, .GET, "/v1/activities", as: stage.key).reply
                == Reply(status: 401, code: "key_invalid"))
    }
}

/// Reloading the certificate of a server that runs as its own process.
@Suite(.serialized) struct CertificateReloadTests {
    /// Interval at which the server looks at its files.
    private static let interval = Duration.seconds(10)

    @Test(.timeLimit(.minutes(20)))
    func `SIGHUP has a certificate and its key read at once, and a pair that does not fit is left`() async throws {
        try await withStage { stage in
            let files = ["a.crt", "a.key"].map { stage.directory.appendingPathComponent($0) }
            func write(_ identity: (certificate: String, key: String)) throws {
                try Data(identity.certificate.utf8).write(to: files[0])
                try Data(identity.key.utf8).write(to: files[1])
            }
            var authority = try TestAuthority()
            try write(authority.makeIdentity())
            let config = stage.directory.appendingPathComponent("islet.yaml")
            let text = try String(contentsOf: config, encoding: .utf8) + "\ntls: {certificate: a.crt, key: a.key}\n"
            try Data(text.utf8).write(to: config)
            try await stage.crashServer()
            let server = stage.serverProcess
            #expect(await isServed(stage, trusting: authority))

            // Faster than the server's own interval, so the signal caused it. On a busy machine the test tries again.
            let (rounds, changes) = (5, 4)
            var isFast = false
            for _ in 0..<rounds where !isFast {
                let began = ContinuousClock.now
                for _ in 0..<changes {
                    authority = try TestAuthority()
                    try write(authority.makeIdentity())
                    kill(server, SIGHUP)
                    let new = authority
                    try await Waiting.until("the new certificate is shown", within: .seconds(60)) {
                        await isServed(stage, trusting: new)
                    }
                }
                isFast = ContinuousClock.now - began < Self.interval * (changes - 1)
            }
            #expect(isFast)

            try write((try authority.makeIdentity().certificate, try authority.makeIdentity().key))
            kill(server, SIGHUP)
            let log = stage.directory.appendingPathComponent("server.log")
            try await Waiting.until("the server says so", within: .seconds(60)) {
                try String(contentsOf: log, encoding: .utf8).contains("the old one stays")
            }
            #expect(await isServed(stage, trusting: authority))
            #expect(stage.isServerRunning && stage.serverProcess == server)
        }
    }

    /// Returns `true` if a client that trusts only this authority gets an answer.
    private func isServed(_ stage: DemoStage, trusting authority: TestAuthority) async -> Bool {
        (try? await health(stage, trusting: authority)) ?? false
    }

    private func health(_ stage: DemoStage, trusting authority: TestAuthority) async throws -> Bool {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.trustRoots = .certificates([try NIOSSLCertificate(bytes: authority.rootPEM, format: .pem)])
        configuration.certificateVerification = .noHostnameVerification
        let context = try NIOSSLContext(configuration: configuration)
        let address = try #require(URL(string: stage.isletAddress))
        let connection = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(host: address.host ?? "", port: address.port ?? 0) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        NIOSSLClientHandler(context: context, serverHostname: nil))
                    return try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            }
        return try await connection.executeThenClose { inbound, outbound in
            try await outbound.write(
                ByteBuffer(string: "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"))
            for try await bytes in inbound { return String(buffer: bytes).hasPrefix("HTTP/1.1 200 ") }
            return false
        }
    }
}
