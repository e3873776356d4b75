import AsyncHTTPClient
import Foundation
import JSONText
import NIOCore
import NIOHTTP1
import StorageSQL
import StorageSQLite
import Synchronization
import Testing

@testable import islet

/// Invariant 8 after a full run with real processes: everything written or printed is searched for every secret.
@Suite(.serialized) struct LeakTests {
    @Test(.timeLimit(.minutes(10)))
    func `Invariant 8: no token, key or secret is in a file, a log, a metric or an answer`()
        async throws
    {
        try await IdentityProvider.run { provider in try await search(provider) }
    }

    private func search(_ provider: IdentityProvider) async throws {
        try await withStage { stage in
            let config = stage.directory.appendingPathComponent("islet.yaml")
            let text = try String(contentsOf: config, encoding: .utf8).withPeople(provider.configuration)
                // Nobody listens there, so that the messages about a failing webhook are searched as well.
                .withWebhook("http://127.0.0.1:1/islet")
            try Data(text.utf8).write(to: config)
            try Data(Self.webhookSecret.utf8).write(to: stage.directory.appendingPathComponent("webhook-secret"))
            // Log everything that can be logged.
            try await stage.crashServer(environment: ["ISLET_LOG_LEVEL": "trace"])
            let said = Said(stage)
            try await signIn(stage, said, provider)
            try await live(stage, said)
            try await sayNonsense(stage, said)
            try await ask(stage, said)
            let secrets = try await secrets(stage, said)
            #expect(secrets.count > 18)
            try await run(stage, said)
            await stage.stopServer()

            var places = said.all
            for file in ["islet.db", "islet.db-wal", "copy.db", "server.log", "keys.log"] {
                let url = stage.directory.appendingPathComponent(file)
                // A server that stopped in order has removed the database's log.
                if let content = try? Data(contentsOf: url) { places[file] = content }
            }
            for place in [
                "islet.db", "copy.db", "server.log", "doctor", "keys list", "GET /metrics", "GET /v1/events",
                "GET /v1/webhooks", "webhooks list",
            ] {
                #expect(places[place]?.isEmpty == false, "\(place) was not looked at")
            }
            #expect(
                String(decoding: places["server.log"] ?? Data(), as: UTF8.self).contains(" debug "), "no such level")
            for (place, content) in places {
                for secret in secrets {
                    for form in secret.forms where content.range(of: form) != nil {
                        Issue.record("\(secret.name) is in \(place)")
                    }
                }
                let text = String(decoding: content, as: UTF8.self)
                #expect(text.firstMatch(of: /eyJ[A-Za-z0-9_-]{8,}\.eyJ/) == nil, "a JWT is in \(place)")
                #expect(!text.contains("PRIVATE KEY"), "a key is in \(place)")
            }
        }
    }

    // MARK: - The run

    private static let people = ["alice", "bob", "carol"]
    private static let webhookSecret =
        "whsec_" + Data((0..<32).map { UInt8(truncatingIfNeeded: $0 &* 37) }).base64EncodedString()

    /// Exercises registrations, starts, updates, notifications, refusals and replaced tokens.
    private func live(_ stage: DemoStage, _ said: Said) async throws {
        for person in Self.people { try await stage.addPhone(person, ["appState": "background"]) }
        try await reported(stage)
        try await said.noteTokens(of: Self.people)
        try await set("preparing", said)
        try await Waiting.until("every phone has its card", within: .seconds(60)) {
            for person in Self.people where try await stage.cards(on: person).count != 1 { return false }
            return true
        }
        try await reported(stage)
        try await said.noteTokens(of: Self.people)
        try await stage.act("rotateUpdateToken", on: "alice")
        try await stage.act("rotateDeviceToken", on: "alice")
        try await stage.act("rotatePushToStartToken", on: "alice")
        try await reported(stage)
        try await said.noteTokens(of: Self.people)
        try await stage.control.call(
            .PUT, "/v1/faults",
            [
                "faults": [
                    ["effect": "refuse", "status": 410, "reason": "Unregistered", "phone": "bob", "count": 1],
                    ["effect": "refuse", "status": 400, "reason": "BadDeviceToken", "phone": "carol", "count": 1],
                    ["effect": "refuse", "status": 503, "reason": "ServiceUnavailable", "phone": "alice", "count": 1],
                ]
            ])
        try await set("ready", said)
        try await said.call(
            .POST, "/v1/users/alice/notifications",
            #"{"kind": "alert", "alert": {"title": "Hello", "body": "There"}}"#, key: "note-1")
        try await Waiting.until("alice has the state, and bob's token is dead", within: .seconds(60)) {
            let cards = try await stage.cards(on: "alice")
            let views = try await said.text(.GET, "/v1/activities/order-1")
            return cards.first?["contentState"]?.object?["status"]?.string == "ready" && views.contains("\"gone\"")
        }
    }

    /// Exercises a phone that calls by itself, with its person's token and its own credentials, both valid and invalid.
    private func signIn(_ stage: DemoStage, _ said: Said, _ provider: IdentityProvider) async throws {
        let token = try provider.token("erin")
        let credentials = Mutex<[String]>([])
        let body = Array(#"{"osVersion": "18.1", "wantsCredential": true}"#.utf8)
        for bearer in [token, token] {
            // This answer alone contains a credential because the phone needs it, so it is not searched.
            try await Waiting.until("erin's phone has a credential", within: .seconds(60)) {
                let answer = try await stage.islet.exchange(.PUT, "/v1/devices/erin", body, credential: bearer)
                guard let new = (try? JSONValue(parsing: answer.body))?.object?["credential"]?.string else {
                    return false
                }
                credentials.withLock { $0.append(new) }
                return true
            }
        }
        let all = credentials.withLock(\.self)
        said.noteCallers(token, all)
        for secret in [token] + all {
            let inventory = #"{"sequence": 1, "instances": []}"#
            try await said.call(.PUT, "/v1/devices/erin/instances", inventory, authorization: "Bearer \(secret)")
            for wrong in ["Bearer \(secret)x", "Bearer x\(secret)", "Bearer \(secret.dropLast())", "Basic \(secret)"] {
                try await said.call(.PUT, "/v1/devices/erin/instances", inventory, authorization: wrong)
            }
            try await said.call(.GET, "/v1/activities", authorization: "Bearer \(secret)")
            try await said.call(.PUT, "/v1/devices/erin", #"{"user": "erin", "token": "\(secret)"}"#)
            try await said.call(.PUT, "/v1/devices/erin", #"{"user": "erin", "timeZone": "\(secret)"}"#)
            try await said.call(.PUT, "/v1/devices/erin", #"{"user": "erin", "wantsCredential": "\(secret)"}"#)
        }
    }

    /// Makes invalid calls, with secrets in the wrong places.
    private func sayNonsense(_ stage: DemoStage, _ said: Said) async throws {
        let token = said.aToken
        for body in [
            "{", #"{"user": "alice", "deviceToken": "\#(token)""#, #"{"user": "alice", "deviceToken": "\#(token)0"}"#,
            #"{"user": "alice", "deviceToken": "\#(token)zz"}"#, #"{"user": "alice", "deviceToken": ["\#(token)"]}"#,
            #"{"user": "alice", "deviceToken": "\#(token)", "deviceToken": "\#(token)"}"#,
            #"{"user": "alice", "osVersion": "\#(token)"}"#, #"{"user": "alice", "timeZone": "\#(token)"}"#,
            #"{"user": "alice", "environment": "\#(token)"}"#, #"{"user": "alice", "token": "\#(token)"}"#,
            #"{"user": "alice", "notificationAuthorization": "\#(token)", "platform": "\#(token)"}"#,
            #""\#(token)""#, token,
        ] {
            try await said.call(.PUT, "/v1/devices/dave", body)
        }
        for body in [
            #"{"token": "\#(token)", "more": 1}"#, #"{"token": "\#(token)g"}"#, #"{"token": 7}"#,
            #"{"tokens": "\#(token)"}"#,
        ] {
            try await said.call(.PUT, "/v1/devices/alice/push-to-start-tokens/OrderTracking", body)
            try await said.call(.PUT, "/v1/devices/nobody/push-to-start-tokens/OrderTracking", body)
        }
        for body in [
            #"{"type": "OrderTracking", "state": "\#(token)"}"#, #"{"type": "\#(token)", "state": "active"}"#,
            #"{"type": "OrderTracking", "state": "active", "activity": "order-1", "token": "\#(token)"}"#,
            #"{"type": "OrderTracking", "state": "active", "token": "\#(token)", "startedAt": "x"}"#,
        ] {
            try await said.call(.PUT, "/v1/devices/alice/instances/local-x", body)
            try await said.call(.PUT, "/v1/devices/nobody/instances/local-x", body)
        }
        try await said.call(.PUT, "/v1/devices/alice/instances", #"{"sequence": "\#(token)", "instances": []}"#)
        try await said.call(
            .POST, "/v1/batch", #"{"method": "PUT", "path": "/v1/devices/x", "body": {"deviceToken": "\#(token)"}}"#)
        for authorization in ["Bearer \(stage.key)x", "Basic \(stage.key)", stage.key, "Bearer \(token)"] {
            try await said.call(.GET, "/v1/activities/order-1", authorization: authorization)
        }
        try await said.call(.GET, "/v1/activities/order-1?key=\(stage.key)")
    }

    /// Makes every reading call.
    private func ask(_ stage: DemoStage, _ said: Said) async throws {
        for path in [
            "/v1/activities/order-1?limit=1000", "/v1/activities/order-1/timeline?limit=1000", "/v1/activities",
            "/v1/devices/alice/diagnosis", "/v1/devices/bob/diagnosis?activity=order-1", "/v1/devices/carol/diagnosis",
            "/v1/devices/alice/activities", "/v1/webhooks", "/v1/webhooks/backend/dead", "/v1/channels", "/metrics",
            "/healthz", "/readyz", "/openapi.json", "/",
        ] {
            try await said.call(.GET, path)
        }
        // The stream of all events.
        let events = try await stage.readEvents(after: 0) { $0.contains("event: token-dead") }
        said.note("GET /v1/events", Data(events.utf8))
    }

    /// Runs the commands.
    private func run(_ stage: DemoStage, _ said: Said) async throws {
        let commands: [(name: String, arguments: [String])] = [
            ("doctor", ["doctor"]), ("doctor json", ["doctor", "--json"]),
            (
                "doctor device",
                ["doctor", "--device", "bob", "--server", stage.isletAddress]
            ), ("keys list", ["keys", "list"]), ("key status", ["keys", "rotate-storage", "--status"]),
            ("rotation", ["keys", "rotate-storage"]), ("check", ["config", "check"]),
            ("webhooks list", ["webhooks", "list"]), ("webhooks json", ["webhooks", "list", "--json"]),
            ("webhooks dead", ["webhooks", "dead", "backend", "--json"]),
            ("channels", ["channels"]), ("channels json", ["channels", "--json"]),
            ("backup", ["backup", stage.directory.appendingPathComponent("copy.db").path]),
        ]
        for (name, arguments) in commands {
            let process = try ChildProcess(
                name, executable: Executable.islet,
                arguments: arguments + ["--config", stage.directory.appendingPathComponent("islet.yaml").path],
                environment: ["ISLET_KEY": stage.key, "ISLET_LOG_LEVEL": "trace"],
                log: stage.directory.appendingPathComponent("\(name).log"))
            _ = try await process.exitCode(within: .seconds(60))
            let output = try Data(contentsOf: stage.directory.appendingPathComponent("\(name).out"))
            said.note(name, output + (try Data(contentsOf: stage.directory.appendingPathComponent("\(name).log"))))
        }
    }

    private func reported(_ stage: DemoStage) async throws {
        try await Waiting.until("every phone has said everything", within: .seconds(60)) {
            for person in Self.people where try await !stage.hasReported(person) { return false }
            return true
        }
    }

    private func set(_ status: String, _ said: Said) async throws {
        let users = Self.people.map { "\"\($0)\"" }.joined(separator: ", ")
        try await said.call(
            .PUT, "/v1/activities/order-1",
            """
            {"type": "OrderTracking", "state": {"status": "\(status)", "progress": 0.5},
             "attributes": {"orderId": "order-1", "restaurant": "Da Mario"}, "audience": {"users": [\(users)]}}
            """)
    }

    // MARK: - Secrets

    private struct Secret {
        let name: String
        let forms: [Data]

        /// A token may be shown by its first 8 characters.
        init(token: String) {
            name = "the token \(token.prefix(8))…"
            let digits = Array(token)
            let bytes = Data(
                stride(from: 0, to: digits.count - 1, by: 2).compactMap {
                    UInt8(String(digits[$0...$0 + 1]), radix: 16)
                })
            forms = [
                Data(token.prefix(10).utf8), Data(token.suffix(10).utf8), Data(token.prefix(10).uppercased().utf8),
                bytes.prefix(6), bytes.suffix(6), Data(bytes.base64EncodedString().prefix(12).utf8),
            ]
        }

        init(_ name: String, _ text: String) {
            self.name = name
            let bytes = Data(base64Encoded: text)
            forms = [Data(text.prefix(12).utf8), Data(text.suffix(12).utf8)] + (bytes.map { [$0.prefix(8)] } ?? [])
        }
    }

    private func secrets(_ stage: DemoStage, _ said: Said) async throws -> [Secret] {
        var secrets = said.tokens.sorted().map(Secret.init(token:))
        secrets.append(Secret("the API key", String(stage.key.suffix(43))))
        secrets.append(Secret("the webhook's secret", String(Self.webhookSecret.dropFirst(6))))
        let (token, credentials) = said.callers
        for part in token.split(separator: ".").dropFirst() { secrets.append(Secret("a person's token", String(part))) }
        #expect(credentials.count == 2)
        secrets += credentials.map { Secret("a device credential", String($0.suffix(43))) }
        let ring = try String(contentsOf: stage.directory.appendingPathComponent("islet.db.keys"), encoding: .utf8)
        let inRing = ring.matches(of: /"secret":\s*"([^"]+)"/).map { String($0.output.1) }
        #expect(inRing.count == 2)
        secrets += inRing.map { Secret("a key of the ring", $0) }
        let files = try FileManager.default.contentsOfDirectory(atPath: stage.directory.path)
        let provider = try #require(files.first { $0.hasSuffix(".p8") })
        let pem = try String(contentsOf: stage.directory.appendingPathComponent(provider), encoding: .utf8)
        for line in pem.split(separator: "\n") where !line.hasPrefix("-----") {
            secrets.append(Secret("the provider key", String(line)))
        }
        return secrets
    }

    /// Everything that the server and the commands printed.
    private final class Said: Sendable {
        private let stage: DemoStage
        private let state = Mutex((said: [String: Data](), tokens: Set<String>()))
        private let known = Mutex((token: "", credentials: [String]()))

        init(_ stage: DemoStage) { self.stage = stage }

        var all: [String: Data] { state.withLock(\.said) }
        var tokens: Set<String> { state.withLock(\.tokens) }
        /// A person's token and the credentials of their phone.
        var callers: (token: String, credentials: [String]) { known.withLock(\.self) }
        func noteCallers(_ token: String, _ credentials: [String]) { known.withLock { $0 = (token, credentials) } }
        /// The shortest token, which fits into more fields than the others.
        var aToken: String { tokens.min { ($0.count, $0) < ($1.count, $1) } ?? "" }

        func note(_ place: String, _ what: Data) {
            state.withLock { $0.said[place, default: Data()] += what + Data("\n".utf8) }
        }

        /// Adds the phones' current tokens and keeps the earlier ones.
        func noteTokens(of people: [String]) async throws {
            for person in people {
                let tokens = try await stage.control.call(.GET, "/v1/phones/\(person)/tokens")
                let found = tokens.text.matches(of: /[0-9a-f]{32,}/).map { String($0.output) }
                #expect(found.count >= 2, "\(person)")
                state.withLock { $0.tokens.formUnion(found) }
            }
        }

        func call(
            _ method: JSONCaller.Method, _ path: String, _ body: String? = nil, key: String? = nil,
            authorization: String? = nil
        ) async throws {
            _ = try await text(method, path, body, key: key, authorization: authorization)
        }

        /// Returns the head and the body of the answer.
        func text(
            _ method: JSONCaller.Method, _ path: String, _ body: String? = nil, key: String? = nil,
            authorization: String? = nil
        ) async throws -> String {
            var request = HTTPClientRequest(url: stage.isletAddress + path)
            request.method = .init(rawValue: method.rawValue)
            request.headers.add(name: "authorization", value: authorization ?? "Bearer \(stage.key)")
            if let key { request.headers.add(name: "idempotency-key", value: key) }
            if let body { request.body = .bytes(ByteBuffer(string: body)) }
            let response = try await HTTPClient.shared.execute(request, timeout: .seconds(30))
            let answer = String(buffer: try await response.body.collect(upTo: 1 << 24))
            let head = response.headers.map { "\($0.name): \($0.value)" }.joined(separator: "\n")
            note("\(method.rawValue) \(path.prefix { $0 != "?" })", Data("\(head)\n\(answer)".utf8))
            return answer
        }
    }
}
