import APNSModel
import APNSSimulator
import JSONText
import NIOCore
import NIOHPACK
import NIOHTTP2
import Testing

/// The front from outside: HTTP/2 frames over TLS, and a client of another implementation.
@Suite(.timeLimit(.minutes(10)))
struct FrontTests {
    let team = Team()

    private func configuration(
        _ change: (inout APNSSimulator.Configuration) -> Void = { _ in }
    )
        -> APNSSimulator.Configuration
    {
        var configuration = APNSSimulator.Configuration()
        configuration.keys = [team.key()]
        configuration.time = .standing
        change(&configuration)
        return configuration
    }

    private func fields(_ more: [(String, String)] = []) throws -> [(String, String)] {
        [
            ("authorization", try team.authorization()), ("apns-topic", Fixture.topic),
            ("apns-push-type", "liveactivity"),
        ] + more
    }

    private static func body(_ object: JSONObject) -> [UInt8] { JSONValue.object(object).bytes }

    @Test
    func `200 ends on its HEADERS, echoes apns-id, and the streams go from 1 to 1000`() async throws {
        let fields = try fields([("apns-id", "11111111-2222-4333-8444-555555555555")])
        try await withSimulator(configuration()) { simulator, addresses in
            let phone = try simulator.addPhone(Fixture.specification())
            let token = try #require(try simulator.tokens(of: phone).pushToStart)
            let port = try #require(addresses.ports[.sandbox])
            let client = try await FrameClient.connect(port: port, caPEM: addresses.caPEM)
            var streams: [Int] = []
            var answer: HTTP2Frame.FramePayload.Headers?
            for await frame in client.frames {
                switch frame.payload {
                case .settings(.settings(let settings)):
                    streams += settings.filter { $0.parameter == .maxConcurrentStreams }.map(\.value)
                    if streams == [1] {
                        try await client.push(
                            1, path: "/3/device/\(token.hex)", fields,
                            body: Self.body(Fixture.startBody()))
                    }
                case .headers(let headers): answer = headers
                default: break
                }
                if answer != nil, streams.count == 2 { break }
            }
            #expect(streams == [1, 1000])
            #expect(answer?.endStream == true)
            #expect(answer?.headers.first(name: ":status") == "200")
            #expect(answer?.headers.first(name: "apns-id") == "11111111-2222-4333-8444-555555555555")
            #expect(answer?.headers.first(name: "apns-unique-id") != nil)
            #expect(answer?.headers.first(name: "date") == "Fri, 15 Jan 2027 08:00:00 GMT")
            let screen = try await simulator.wait(for: phone) { $0.running.count == 1 }
            #expect(screen.running.first?.contentState["step"] == "cooking")
            try await client.channel.close()
        }
    }

    @Test
    func `a GOAWAY carries the chosen last stream and its reason as JSON, and the connection ends`() async throws {
        let fields = try fields()
        try await withSimulator(configuration()) { simulator, addresses in
            let phone = try simulator.addPhone(Fixture.specification())
            let token = try #require(try simulator.tokens(of: phone).pushToStart)
            var rule = FaultRule(.goAway(reason: "IdleTimeout", last: .previous))
            rule.skip = 1
            simulator.faults = [rule]
            let port = try #require(addresses.ports[.sandbox])
            let client = try await FrameClient.connect(port: port, caPEM: addresses.caPEM)
            let path = "/3/device/\(token.hex)"
            let start = Self.body(Fixture.startBody())
            try await client.push(1, path: path, fields, body: start)
            var goAway: (last: HTTP2StreamID, text: String)?
            var answered: [HTTP2StreamID] = []
            for await frame in client.frames {
                switch frame.payload {
                case .headers:
                    answered.append(frame.streamID)
                    try await client.push(3, path: path, fields, body: start)
                case .goAway(let last, _, let data): goAway = (last, data.map { String(buffer: $0) } ?? "")
                default: break
                }
            }
            #expect(answered == [1])
            #expect(goAway?.last == 1)
            #expect(goAway?.text == #"{"reason":"IdleTimeout"}"#)
            #expect(try simulator.lockScreen(of: phone).running.count == 1)
            #expect(simulator.received.map(\.status) == [200, nil])
        }
    }

    @Test
    func `told to, every connection is sent away after what it owes`() async throws {
        let fields = try fields()
        try await withSimulator(configuration()) { simulator, addresses in
            let port = try #require(addresses.ports[.sandbox])
            let client = try await FrameClient.connect(port: port, caPEM: addresses.caPEM)
            try await client.push(1, path: "/3/device/", fields, body: [])
            var reasons: [String] = []
            for await frame in client.frames {
                switch frame.payload {
                case .headers: simulator.goAway()
                case .goAway(_, _, let data): reasons.append(data.map { String(buffer: $0) } ?? "")
                default: break
                }
            }
            #expect(reasons == [#"{"reason":"Shutdown"}"#])
        }
    }

    static let resets: [(FaultRule.Effect, HTTP2ErrorCode, Int)] = [
        (.refuseStream, .refusedStream, 0), (.loseAnswer(.reset), .internalError, 1),
    ]

    @Test(arguments: resets)
    func `a stream is reset before or after the push takes effect`(
        effect: FaultRule.Effect, code: HTTP2ErrorCode, cards: Int
    ) async throws {
        let fields = try fields()
        try await withSimulator(configuration()) { simulator, addresses in
            let phone = try simulator.addPhone(Fixture.specification())
            let token = try #require(try simulator.tokens(of: phone).pushToStart)
            simulator.faults = [FaultRule(effect)]
            let port = try #require(addresses.ports[.sandbox])
            let client = try await FrameClient.connect(port: port, caPEM: addresses.caPEM)
            try await client.push(
                1, path: "/3/device/\(token.hex)", fields, body: Self.body(Fixture.startBody()))
            for await frame in client.frames {
                guard case .rstStream(let seen) = frame.payload else { continue }
                #expect(seen == code)
                break
            }
            #expect(try simulator.lockScreen(of: phone).running.count == cards)
            try await client.channel.close()
        }
    }

    @Test
    func `a lost connection, a limit of streams and a slow answer are as ordered`() async throws {
        let fields = try fields()
        try await withSimulator(configuration()) { simulator, addresses in
            let phone = try simulator.addPhone(Fixture.specification())
            let token = try #require(try simulator.tokens(of: phone).pushToStart)
            var close = FaultRule(.loseAnswer(.close))
            close.skip = 2
            var limit = FaultRule(.limitStreams(7))
            limit.count = 1
            var slow = FaultRule(.slow(.milliseconds(30)))
            slow.count = 1
            simulator.faults = [limit, slow, close]
            let port = try #require(addresses.ports[.sandbox])
            let client = try await FrameClient.connect(port: port, caPEM: addresses.caPEM)
            let start = Self.body(Fixture.startBody())
            var streams: [Int] = []
            var answers = 0
            try await client.push(1, path: "/3/device/\(token.hex)", fields, body: start)
            for await frame in client.frames {
                switch frame.payload {
                case .settings(.settings(let settings)):
                    streams += settings.filter { $0.parameter == .maxConcurrentStreams }.map(\.value)
                case .headers:
                    answers += 1
                    try await client.push(answers * 2 + 1, path: "/3/device/\(token.hex)", fields, body: start)
                default: break
                }
            }
            #expect(streams.first == 1)
            #expect(streams.contains(7))
            #expect(answers >= 2)
            #expect(try simulator.lockScreen(of: phone).running.count == answers + 1)
        }
    }

    @Test
    func `curl over HTTP 2 gets 200 without a body and 410 with milliseconds`() async throws {
        let authorization = try team.authorization()
        try await withSimulator(configuration()) { simulator, addresses in
            let phone = try simulator.addPhone(Fixture.specification())
            let token = try #require(try simulator.tokens(of: phone).pushToStart)
            let port = try #require(addresses.ports[.sandbox])
            try await Curl.withCA(addresses.caPEM) { file in
                func push(_ token: String, _ body: JSONObject) async throws -> Curl.Answer {
                    try await Curl.run([
                        "--http2", "--cacert", file, "--header", "authorization: \(authorization)", "--header",
                        "apns-topic: \(Fixture.topic)", "--header", "apns-push-type: liveactivity", "--data",
                        JSONValue.object(body).text, "https://localhost:\(port)/3/device/\(token)",
                    ])
                }
                let started = try await push(token.hex, Fixture.startBody())
                #expect(started.summary == "200 2")
                #expect(started.body.isEmpty)
                let update = try #require(try simulator.lockScreen(of: phone).running.first?.token)
                try simulator.perform(.rotateUpdateToken(localID: nil), on: phone)
                let dead = try await push(update.hex, Fixture.updateBody(at: Fixture.start.seconds))
                #expect(dead.summary == "410 2")
                #expect(dead.headers["content-type"] == "application/json")
                #expect(
                    dead.json == [
                        "reason": "Unregistered", "timestamp": .number(JSONNumber(Int(Fixture.start.milliseconds))),
                    ])
            }
        }
    }

    @Test
    func `HTTP 1.1 is refused, with and without ALPN`() async throws {
        try await withSimulator(configuration()) { _, addresses in
            let port = try #require(addresses.ports[.sandbox])
            try await Curl.withCA(addresses.caPEM) { file in
                for option in ["--http1.1", "--no-alpn"] {
                    let answer = try await Curl.run([option, "--cacert", file, "https://localhost:\(port)/3/device/aa"])
                    #expect(answer.exit != 0)
                    #expect(answer.status == "000")
                }
            }
        }
    }

    @Test
    func `production has its own port, and a sandbox token is no good there`() async throws {
        let authorization = try team.authorization()
        let configuration = configuration {
            $0.keys = [team.key(environments: [.sandbox, .production])]
            $0.ports = [.sandbox: 0, .production: 0]
        }
        try await withSimulator(configuration) { simulator, addresses in
            let phone = try simulator.addPhone(Fixture.specification())
            let token = try #require(try simulator.tokens(of: phone).pushToStart)
            let port = try #require(addresses.ports[.production])
            try await Curl.withCA(addresses.caPEM) { file in
                let answer = try await Curl.run([
                    "--http2", "--cacert", file, "--header", "authorization: \(authorization)", "--header",
                    "apns-topic: \(Fixture.topic)", "--header", "apns-push-type: liveactivity", "--data",
                    JSONValue.object(Fixture.startBody()).text, "https://127.0.0.1:\(port)/3/device/\(token.hex)",
                ])
                #expect(answer.summary == "400 2")
                #expect(answer.json == ["reason": "BadDeviceToken"])
                #expect(answer.headers["apns-unique-id"] == nil)
            }
        }
    }

    @Test
    func `a body far too large is refused without waiting for its end`() async throws {
        let authorization = try team.authorization()
        try await withSimulator(configuration()) { simulator, addresses in
            let phone = try simulator.addPhone(Fixture.specification())
            let token = try #require(try simulator.tokens(of: phone).pushToStart)
            let port = try #require(addresses.ports[.sandbox])
            try await Curl.withCA(addresses.caPEM) { file in
                let answer = try await Curl.run([
                    "--http2", "--cacert", file, "--header", "authorization: \(authorization)", "--header",
                    "apns-topic: \(Fixture.topic)", "--header", "apns-push-type: liveactivity", "--data",
                    String(repeating: "x", count: 100_000), "https://localhost:\(port)/3/device/\(token.hex)",
                ])
                #expect(answer.status == "413")
                #expect(answer.json == ["reason": "PayloadTooLarge"])
            }
        }
    }
}
