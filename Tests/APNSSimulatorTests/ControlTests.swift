import APNSModel
import APNSSimulator
import Foundation
import JSONText
import Logging
import Synchronization
import Testing

/// The control API over its real port, with curl.
@Suite(.timeLimit(.minutes(10)))
struct ControlTests {
    struct Control: Sendable {
        let simulator: APNSSimulator
        let port: Int

        func call(
            _ method: String, _ path: String, _ body: JSONValue? = nil, _ more: [String] = []
        ) async throws -> Curl.Answer {
            var arguments = ["--request", method, "http://127.0.0.1:\(port)/v1/\(path)"] + more
            if let body { arguments += ["--header", "content-type: application/json", "--data-binary", body.text] }
            return try await Curl.run(arguments)
        }

        func json(_ method: String, _ path: String, _ body: JSONValue? = nil) async throws -> JSONValue {
            let answer = try await call(method, path, body)
            #expect(answer.status.hasPrefix("2"), "\(String(decoding: answer.body, as: UTF8.self))")
            return answer.body.isEmpty ? .null : try JSONValue(parsing: answer.body)
        }
    }

    static func withControl(
        _ change: (inout APNSSimulator.Configuration) -> Void = { _ in },
        _ body: @escaping @Sendable (Control) async throws -> Void
    ) async throws {
        var configuration = APNSSimulator.Configuration()
        configuration.controlPort = 0
        configuration.time = .standing
        configuration.activityTypes = [InstalledActivityType(OrderAttributes.self)]
        change(&configuration)
        try await withSimulator(configuration) { simulator, addresses in
            let port = try #require(addresses.controlPort)
            try await body(Control(simulator: simulator, port: port))
        }
    }

    static let phone: JSONValue = ["user": "ann", "bundleID": "com.acme.pizza", "id": "ann", "appState": "foreground"]

    @Test
    func `a phone is made, starts a card, is looked at and acted on`() async throws {
        try await Self.withControl { control in
            #expect(try await control.json("POST", "phones", Self.phone) == ["phones": ["ann"]])
            let started = try await control.json(
                "POST", "phones/ann/actions",
                [
                    "action": "startLocally", "attributesType": "OrderAttributes", "attributes": ["orderId": "A1"],
                    "contentState": ["step": "cooking", "eta": 5],
                ])
            let localID = try #require(started[try JSONPointer("/localID")]?.string)
            var phone = try await control.json("GET", "phones/ann")
            #expect(phone[try JSONPointer("/lockScreen/cards/0/localID")]?.string == localID)
            #expect(phone[try JSONPointer("/lockScreen/cards/0/contentState/step")] == "cooking")
            let masked = try #require(phone[try JSONPointer("/lockScreen/cards/0/token")]?.string)
            #expect(masked.count == 9)
            let tokens = try await control.json("GET", "phones/ann/tokens")
            #expect(tokens[try JSONPointer("/update/\(localID)")]?.string?.count == 160)
            _ = try await control.json("POST", "phones/ann/actions", ["action": "swipe", "localID": .string(localID)])
            phone = try await control.json("GET", "phones/ann")
            #expect(phone[try JSONPointer("/lockScreen/cards")] == [])
            #expect(phone[try JSONPointer("/lockScreen/dismissed/0/ending")] == "person")
        }
    }

    @Test
    func `every plain action is understood`() async throws {
        try await Self.withControl { control in
            _ = try await control.json("POST", "phones", Self.phone)
            let actions: [JSONValue] = [
                "background", "kill", "launch", "forceQuit", "foreground", "allow", "offline", "online", "lock",
                "unlock",
                "rotatePushToStartToken", "rotateDeviceToken",
            ]
            for action in actions { _ = try await control.json("POST", "phones/ann/actions", ["action": action]) }
            for body in [
                ["action": "swipe"], ["action": "rotateUpdateToken"],
                ["action": "setActivitiesEnabled", "isOn": false],
                ["action": "setFrequentPushes", "isOn": true], ["action": "signIn", "user": "bob"],
                ["action": "uninstall"], ["action": "offline"],
            ] as [JSONValue] {
                _ = try await control.json("POST", "phones/ann/actions", body)
            }
        }
    }

    @Test
    func `phones come in bulk and are listed in pages`() async throws {
        try await Self.withControl { control in
            let made = try await control.json(
                "POST", "phones", ["user": "u", "bundleID": "com.acme.pizza", "id": "p", "count": 1500])
            #expect(made[try JSONPointer("/phones")]?.array?.count == 1500)
            let first = try await control.json("GET", "phones")
            #expect(first[try JSONPointer("/phones")]?.array?.count == 1000)
            let rest = try await control.json("GET", "phones?after=p-1000&limit=700")
            #expect(rest[try JSONPointer("/phones")]?.array?.count == 500)
            #expect(rest[try JSONPointer("/phones/0/user")] == "u-1001")
        }
    }

    @Test
    func `time passes on request`() async throws {
        try await Self.withControl { control in
            let answer = try await control.json("POST", "clock/advance", ["seconds": 90])
            #expect(answer == ["now": "2027-01-15T08:01:30Z", "aheadSeconds": 90])
            #expect(control.simulator.now == Fixture.start + .seconds(90))
        }
    }

    @Test
    func `faults are set, shown and taken away`() async throws {
        try await Self.withControl { control in
            let faults: JSONValue = [
                "faults": [
                    ["effect": "refuse", "status": 429, "reason": "TooManyRequests", "count": 3, "event": "update"],
                    ["effect": "goAway", "reason": "Shutdown", "last": "previous", "probability": 0.5],
                    ["effect": "loseAnswer", "loss": "close", "skip": 1], ["effect": "slow", "seconds": 0.5],
                    ["effect": "limitStreams", "streams": 3], ["effect": "stall"],
                    ["effect": "loseAnswer", "loss": "abort", "every": 10, "lasting": 30],
                    ["effect": "refuseStream", "phone": "ann"], ["effect": "delay", "seconds": 2, "channel": "AAAA"],
                ]
            ]
            _ = try await control.json("PUT", "faults", faults)
            #expect(control.simulator.faults.count == 9)
            #expect(control.simulator.faults.first?.effect == .refuse(status: 429, reason: "TooManyRequests"))
            let shown = try await control.json("GET", "faults")
            #expect(shown[try JSONPointer("/faults/1/last")] == "previous")
            #expect(shown[try JSONPointer("/faults/6/every")] == 10)
            #expect(shown[try JSONPointer("/faults/6/lasting")] == 30)
            #expect(control.simulator.faults.last?.effect == .delay(.seconds(2)))
            #expect(shown[try JSONPointer("/faults/8/seconds")] == 2)
            #expect(shown[try JSONPointer("/faults/8/channel")] == "AAAA")
            _ = try await control.json("DELETE", "faults")
            #expect(control.simulator.faults.isEmpty)
            _ = try await control.json("PUT", "faults", ["profile": "bad-day", "seconds": 100])
            #expect(control.simulator.faults == FaultProfile.badDay.rules(over: .seconds(100)))
            let begins = try await control.json("GET", "faults")[try JSONPointer("/faults/0/after")]
            #expect(begins == 10)
        }
    }

    @Test
    func `keys are made and added, and with one a push comes in and is listed`() async throws {
        try await Self.withControl { control in
            let made = try await control.json("POST", "keys", ["teamID": "TEAM567890"])
            #expect(made[try JSONPointer("/p8")]?.string?.contains("PRIVATE KEY") == true)
            let team = Team()
            control.simulator.add(team.key())
            _ = try await control.json("POST", "phones", Self.phone)
            let ann = try #require(PhoneID("ann"))
            let token = try #require(try control.simulator.tokens(of: ann).pushToStart)
            let addresses = try await control.simulator.started
            let port = try #require(addresses.ports[.sandbox])
            try await Curl.withCA(addresses.caPEM) { file in
                let answer = try await Curl.run([
                    "--http2", "--cacert", file, "--header", "authorization: \(try team.authorization())", "--header",
                    "apns-topic: \(Fixture.topic)", "--header", "apns-push-type: liveactivity", "--data",
                    JSONValue.object(Fixture.startBody()).text, "https://localhost:\(port)/3/device/\(token.hex)",
                ])
                #expect(answer.status == "200")
            }
            let pushes = try await control.json("GET", "pushes?after=0")
            #expect(pushes[try JSONPointer("/pushes/0/status")] == 200)
            #expect(pushes[try JSONPointer("/pushes/0/phone")] == "ann")
            #expect(pushes[try JSONPointer("/pushes/0/event")] == "start")
            let text = pushes.text
            #expect(!text.contains(token.hex))
            let view = try await control.json("GET", "simulator")
            #expect(view[try JSONPointer("/received")] == 1)
            #expect(view[try JSONPointer("/ports/sandbox")]?.int == port)
            let pem = try await control.call("GET", "ca.pem")
            #expect(String(decoding: pem.body, as: UTF8.self) == addresses.caPEM)
            _ = try await control.json("DELETE", "keys/\(team.keyID)")
        }
    }

    struct Mistake: Sendable, CustomTestStringConvertible {
        let method: String
        let path: String
        let body: JSONValue?
        let status: String
        let code: JSONValue
        var testDescription: String { "\(method) \(path): \(status)" }

        init(_ method: String, _ path: String, _ body: JSONValue?, _ status: String, _ code: JSONValue) {
            (self.method, self.path, self.body, self.status, self.code) = (method, path, body, status, code)
        }
    }

    static let mistakes: [Mistake] = [
        Mistake("GET", "phones/nobody", nil, "404", "unknown-phone"),
        Mistake("GET", "nothing", nil, "404", "not-found"),
        Mistake("POST", "phones", ["user": "a"], "400", "bad-body"),
        Mistake("POST", "phones", ["user": "a", "bundleID": "com.a", "colour": 1], "400", "bad-body"),
        Mistake("POST", "phones", ["user": "a", "bundleID": " "], "422", "bad-value"),
        Mistake("POST", "phones", ["user": "a", "bundleID": "a.b", "id": "ann"], "409", "phone-exists"),
        Mistake("POST", "phones", ["user": "a", "bundleID": "a.b", "count": 0], "422", "bad-value"),
        Mistake("POST", "phones/ann/actions", ["action": "fly"], "422", "bad-value"),
        Mistake("POST", "phones/ann/actions", ["action": "kill", "localID": "1"], "422", "bad-value"),
        Mistake("POST", "phones/ann/actions", ["action": "swipe", "localID": "1"], "409", "action-refused"),
        Mistake("POST", "clock/advance", ["seconds": -1], "422", "bad-value"),
        Mistake("PUT", "faults", ["faults": [["effect": "burn"]]], "422", "bad-value"),
        Mistake("POST", "keys", ["keyID": "a", "teamID": "b", "pem": "x"], "422", "bad-key"),
        Mistake("POST", "connections/go-away", ["lastStreamID": -1], "422", "bad-value"),
        Mistake("POST", "connections/streams", ["streams": -1], "422", "bad-value"),
        Mistake("GET", "pushes?after=x", nil, "422", "bad-value"),
        Mistake("GET", "channels?after=AAAA", nil, "404", "unknown-channel"),
        Mistake("POST", "channels/forget", ["channel": "AAAA"], "404", "unknown-channel"),
        Mistake("POST", "channels/forget", ["channel": "no!"], "422", "bad-value"),
        Mistake("PUT", "channels/rules", ["channelsPerApp": -1], "422", "bad-value"),
        Mistake("PUT", "channels/rules", ["broadcastsPerSecond": 0], "422", "bad-value"),
    ]

    @Test
    func `a mistake is answered with a problem document and a code`() async throws {
        try await Self.withControl { control in
            _ = try await control.json("POST", "phones", Self.phone)
            for mistake in Self.mistakes {
                let answer = try await control.call(mistake.method, mistake.path, mistake.body)
                #expect(answer.status == mistake.status, "\(mistake.testDescription)")
                #expect(answer.headers["content-type"] == "application/problem+json", "\(mistake.testDescription)")
                #expect(answer.json?[try JSONPointer("/code")] == mistake.code, "\(mistake.testDescription)")
            }
            let broken = try await control.call("POST", "phones", nil, ["--data-binary", "{"])
            #expect(broken.json?[try JSONPointer("/code")] == "bad-json")
            let foreign = try await control.call("GET", "phones", nil, ["--header", "origin: https://example.com"])
            #expect(foreign.status == "403")
            let own = try await control.call("GET", "phones", nil, ["--header", "origin: http://localhost:8080"])
            #expect(own.status == "200")
        }
    }

    @Test(arguments: [
        ("localhost", "200"), ("127.0.0.1:9", "200"), ("[::1]:9", "200"), ("LocalHost:1", "200"),
        ("rebound.example.com", "421"), ("127.0.0.1.example.com", "421"), ("10.0.0.1", "421"), ("", "421"),
    ])
    func `a page whose name was made to lead here is refused by its Host`(host: String, status: String) async throws {
        try await Self.withControl { control in
            let answer = try await control.call("GET", "phones", nil, ["--header", "host: \(host)"])
            #expect(answer.status == status || host.isEmpty && answer.status == "400")
        }
    }

    @Test
    func `beyond the loopback a control API needs a token, and takes nobody without it`() async throws {
        var configuration = APNSSimulator.Configuration()
        configuration.host = "0.0.0.0"
        configuration.controlPort = 0
        let open = try APNSSimulator(configuration)
        let error = await #expect(throws: SimulatorError.self) { try await open.run() }
        #expect(error?.code == .badValue)
        try await Self.withControl({
            $0.host = "0.0.0.0"
            $0.controlToken = "a-token"
        }) { control in
            for (header, status) in [
                ("x: y", "401"), ("authorization: Bearer a-toke", "401"),
                ("authorization: Bearer a-token", "200"),
            ] {
                let answer = try await control.call("GET", "phones", nil, ["--header", header])
                #expect(answer.status == status, "\(header)")
            }
            let named = try await control.call(
                "GET", "phones", nil,
                ["--header", "authorization: Bearer a-token", "--header", "host: rebound.example.com"])
            #expect(named.status == "421")
        }
    }

    @Test
    func `a simulator that is stopped has nothing to say about it`() async throws {
        let lines = Lines()
        var configuration = APNSSimulator.Configuration()
        configuration.controlPort = 0
        let simulator = try APNSSimulator(
            configuration,
            logger: Logger(label: "test") { _ in
                LineHandler(lines: lines)
            })
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await simulator.run() }
            let port = try #require(try await simulator.started.controlPort)
            _ = try await Curl.run(["http://127.0.0.1:\(port)/v1/simulator"])
            group.cancelAll()
        }
        #expect(lines.all.withLock { $0 } == [])
    }

    @Test
    func `changes come as server-sent events`() async throws {
        try await Self.withControl { control in
            _ = try await control.json("POST", "phones", Self.phone)
            let url = try #require(URL(string: "http://127.0.0.1:\(control.port)/v1/changes?phone=ann"))
            let lines = try EventLines(url)
            defer { lines.stop() }
            let ann = try #require(PhoneID("ann"))
            var seen: [String] = []
            for await line in lines.lines where !line.isEmpty {
                seen.append(line)
                if line == ": connected" {
                    try control.simulator.perform(.unlock, on: ann)
                }
                if line.hasPrefix("data:") { break }
            }
            #expect(seen == [": connected", "event: phone", #"data: {"phone":"ann"}"#])
        }
    }
}

/// The lines that curl prints from an open stream of events.
private final class EventLines: Sendable {
    let lines: AsyncStream<String>
    private let process: Process

    init(_ url: URL) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/curl")
        process.arguments = ["--silent", "--no-buffer", "--max-time", "20", url.absoluteString]
        let output = Pipe()
        process.standardOutput = output
        let (lines, input) = AsyncStream.makeStream(of: String.self)
        output.fileHandleForReading.readabilityHandler = { handle in
            let data = handle.availableData
            guard !data.isEmpty else {
                handle.readabilityHandler = nil
                input.finish()
                return
            }
            for line in String(decoding: data, as: UTF8.self).split(separator: "\n") { input.yield(String(line)) }
        }
        try process.run()
        self.lines = lines
        self.process = process
    }

    func stop() {
        process.terminate()
    }
}

/// The log's lines of every level.
private final class Lines: Sendable {
    let all = Mutex<[String]>([])
}

private struct LineHandler: LogHandler {
    let lines: Lines
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.info

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        lines.all.withLock { $0.append("\(event.level) \(event.message)") }
    }
}
