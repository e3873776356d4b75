import APNSClient
import APNSModel
import APNSSimulator
import BackendCalls
import Foundation
import JSONText
import LiveActivityAPI
import LiveActivityCore
import OrderTracking
import Testing

@testable import islet

/// Order tracking: keys, clocks, answers, alerts and tokens (B1, B2, B7, B9 to B12w).
@Suite(.serialized) struct OrderTrackingCareTests {
    @Test func `B1: a phone's pushes go to the service of its environment, signed with the key that is for it`()
        async throws
    {
        var options = Stack.Options()
        options.environments = [.sandbox, .production]
        try await Stack.run(options) { stack in
            let built = try await stack.phone("alice")
            let bought = try await stack.phone("bob") { $0.environment = .production }
            try await stack.set("order-1", "ready", people: ["alice", "bob"])
            for phone in [built, bought] { try await stack.shows("ready", on: phone) }
            #expect(stack.simulator.received.count == 2)
            for push in stack.simulator.received {
                #expect(push.environment == (push.phone == built ? .sandbox : .production))
                // A key is valid only in its own environment, so the other environment's signature would be refused.
                #expect(push.status == 200 && !push.hasTextualIssueDate, "\(push.reason ?? "")")
            }
            #expect(Set(stack.client.status.map(\.keyID)).count == 2)
        }
    }

    @Test(arguments: ["certificateFile: push.pem", "{keyFile: push.p12, keyID: ABC123DEFG, teamID: XYZ987MNOP}"])
    func `B2: a certificate is refused, and the refusal says why`(key: String) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("islet-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("islet.yaml")
        let key = key.hasPrefix("{") ? key : "{\(key)}"
        let text = """
            apps:
              - bundleID: com.acme.pizza
                apns: {sandbox: \(key)}
                activities: [{type: Order, attributesType: Order, policy: {startAlert: {title: Order}}}]
            """
        try Data(text.utf8).write(to: file)
        let error = #expect(throws: ConfigurationError.self) {
            try ConfigurationLoader.load(file.path, environment: [:])
        }
        let words = error?.description ?? ""
        #expect(words.contains("no certificates for Live Activities") && words.contains(".p8"), "\(words)")
    }

    @Test func `B7: one command sends a push that a phone shows, one prints the token that signs it`() async throws {
        try await withStage { stage in
            try await stage.addPhone("alice", ["appState": "foreground"])
            try await Waiting.until("the phone is registered", within: .seconds(60)) {
                try await stage.hasReported("alice")
            }
            try await stage.act(
                "startLocally", on: "alice",
                [
                    "attributesType": "OrderTrackingAttributes", "activity": "order-1",
                    "attributes": ["orderId": "order-1", "restaurant": "Da Mario"],
                    "contentState": ["status": "preparing", "progress": 0.2],
                ])
            try await Waiting.until("the app's card is there", within: .seconds(60)) {
                try await stage.cards(on: "alice").count == 1
            }
            let tokens = try await stage.control.call(.GET, "/v1/phones/alice/tokens").object?["update"]?.object
            let token = try #require(tokens?.keys.first.flatMap { tokens?[$0]?.string })
            let config = stage.directory.appendingPathComponent("islet.yaml").path
            func islet(_ arguments: [String]) async throws -> String {
                let child = try ChildProcess(
                    "islet", executable: Executable.islet, arguments: arguments + ["--config", config],
                    log: stage.directory.appendingPathComponent("\(arguments[0]).log"))
                let line = try await child.firstLine(within: .seconds(60))
                #expect(try await child.exitCode(within: .seconds(60)) == 0)
                return line
            }
            let sent = try await islet(
                [
                    "send", "update", "--token", token, "--state", #"{"status":"delivering","progress":0.8,"eta":5}"#,
                    "--title", "On its way",
                ])
            #expect(sent.hasPrefix("200 accepted"))
            try await Waiting.until("the phone shows it", within: .seconds(60)) {
                try await stage.cards(on: "alice").first?["contentState"]?.object?["status"] == "delivering"
            }
            #expect(try await islet(["token"]).split(separator: ".").count == 3, "a JWT")
        }
    }

    @Test func `B9: timestamps are made when a push is claimed, anew on a retry, and the clock's skew is shown`()
        async throws
    {
        // Each wait before a retry is three quarters of its longest, so no two retries fall into one second, the unit
        // of a timestamp.
        var options = Stack.Options()
        options.dice = { .max / 4 * 3 + .random(in: 0 ... .max >> 32) }
        try await Stack.run(options) { stack in
            let phone = try await liveOrder(stack)
            // APNs's clock is 30 s ahead of ours.
            try stack.simulator.advance(by: .seconds(30))
            var trouble = FaultRule(.refuse(status: 503, reason: "ServiceUnavailable"))
            trouble.count = 3
            stack.simulator.faults = [trouble]
            try await stack.set("o1", "ready", people: ["alice"])
            try await stack.shows("ready", on: phone)
            let updates = stack.simulator.received.filter { $0.event == "update" }
            #expect(updates.map { $0.status } == [503, 503, 503, 200])
            for push in updates {
                // In our clock's time, within the lease in which the push left.
                let age = try (push.at - .seconds(30)).seconds - Int64(#require(push.timestamp))
                #expect((-1...10).contains(age), "\(age) s")
            }
            let stamps = updates.compactMap(\.timestamp)
            #expect(zip(stamps, stamps.dropFirst()).allSatisfy(<), "made anew: \(stamps)")
            let metrics = try await JSONCaller(stack.address).text("/metrics")
            let line = metrics.split(separator: "\n").first { $0.hasPrefix("islet_apns_clock_skew_seconds{") }
            let skew = line.flatMap { $0.split(separator: " ").last }.flatMap { Double($0) }
            #expect(try abs(#require(skew) - 30) <= 2, "\(line ?? "none")")
        }
    }

    @Test(arguments: ["BadPriority", "PayloadEmpty", "BadExpirationDate", "MissingTopic", "BadTopic"])
    func `B10w: a 400 that says nothing about the token leaves it alone, and the next state goes to it`(
        reason: String
    ) async throws {
        try await Stack.run { stack in
            let phone = try await liveOrder(stack)
            let token = try #require(stack.simulator.lockScreen(of: phone).cards[0].token).masked
            var rule = FaultRule(.refuse(status: 400, reason: reason))
            rule.count = 1
            stack.simulator.faults = [rule]
            try await stack.set("o1", "ready", people: ["alice"])
            try await Waiting.until("the refusal is told", within: .seconds(60)) {
                try await stack.timeline("o1").contains { $0.status == 400 }
            }
            try await stack.set("o1", "picked_up", people: ["alice"])
            try await stack.shows("picked_up", on: phone)
            #expect(stack.simulator.received.last?.token == token)
        }
    }

    @Test func `B11: the alerts ask for metrics, labels and values that there are`() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let file = root.appendingPathComponent("docs/alerts.yml")
        let text = try String(contentsOf: file, encoding: .utf8)
        let rules =
            try YAMLText.value(of: text, file: file.path).object?["groups"]?.array?
            .flatMap { $0.object?["rules"]?.array ?? [] }.compactMap(\.object) ?? []
        let alerts = rules.compactMap { $0["alert"]?.string }
        // An error rate over 5 %, a jump in 410s, any 429.
        for name in ["IsletErrorRate", "IsletTokensDie", "IsletTooManyRequests"] { #expect(alerts.contains(name)) }
        #expect(alerts.count == rules.count && Set(alerts).count == alerts.count)
        let known = Set(Metric.allCases.map(\.rawValue))
        let verdicts: Set = [
            "accepted", "token_dead", "slow_down", "service_trouble", "connection", "provider_token", "halted",
            "parked", "unknown_fate", "not_sent",
        ]
        let described = try String(contentsOf: root.appendingPathComponent("docs/metrics.md"), encoding: .utf8)
        for verdict in verdicts { #expect(described.contains("| `\(verdict)` |")) }
        for rule in rules {
            let expression = try #require(rule["expr"]?.string)
            #expect(rule["annotations"]?.object?["summary"]?.string?.isEmpty == false)
            let names = expression.matches(of: /islet_[a-z_]+/).map { String($0.output) }
            #expect(!names.isEmpty)
            for name in names {
                #expect(known.contains(name.replacing(/_(bucket|count)$/, with: "")), "\(name)")
            }
            for match in expression.matches(of: /verdict[=!]~?"([a-z_|]+)"/) {
                for verdict in match.output.1.split(separator: "|") {
                    #expect(verdicts.contains(String(verdict)), "\(verdict)")
                }
            }
        }
    }

    @Test(arguments: [32, 64, 108, 160, 200, 512])
    func `B12w: a token of any even length from 32 to 512 characters is taken`(length: Int) async throws {
        try await Stack.run { stack in
            let token = String(String(repeating: "80a1", count: 128).prefix(length))
            try await stack.islet.call(.PUT, "/v1/devices/d1", ["user": "alice", "environment": "sandbox"])
            try await stack.islet.call(
                .PUT, "/v1/devices/d1/instances/L1",
                ["type": "OrderTracking", "activity": "o1", "state": "active", "token": .string(token)])
            let answer = try await stack.set("o1", "ready", people: ["alice"])
            #expect(answer.phones.update == 1)
        }
    }

    /// Makes an order on a phone that APNs reaches and whose card is known.
    private func liveOrder(_ stack: Stack) async throws -> PhoneID {
        let phone = try await stack.phone("alice")
        try await stack.set("o1", "preparing", people: ["alice"])
        try await stack.shows("preparing", on: phone)
        try await stack.reported(phone)
        try await stack.device("alice", of: "o1", "is live with the first state") {
            $0.state == "live" && $0.revision == 1
        }
        return phone
    }
}
