import APNSModel
import APNSSimulator
import Crypto
import JSONText
import NIOCore
import NIOHPACK
import NIOHTTP2
import Testing

/// The simulator as its users run it.
@Suite(.timeLimit(.minutes(10)))
struct SimulatorTests {
    private func configuration() -> APNSSimulator.Configuration {
        var configuration = APNSSimulator.Configuration()
        configuration.time = .standing
        return configuration
    }

    @Test
    func `phones report to their backend while it runs, also after failures`() async throws {
        let backend = RecordingBackend()
        backend.failNext(2)
        try await withSimulator(configuration(), backend: backend) { simulator, _ in
            let phone = try simulator.addPhone(Fixture.specification())
            // Failures pause on the simulator's clock, which stands still unless it is moved.
            for _ in 0..<2 {
                try await simulator.wait(for: phone) { $0.waitingReports == 1 }
                try simulator.advance(by: .seconds(60))
            }
            var changes = simulator.changes(of: phone).makeAsyncIterator()
            while try simulator.lockScreen(of: phone).waitingReports > 0 {
                try simulator.advance(by: .seconds(60))
                _ = await changes.next()
            }
            #expect(backend.calls(of: phone).count == 3)
            #expect(backend.pushToStartToken(of: phone) == (try simulator.tokens(of: phone).pushToStart?.hex))
        }
    }

    @Test
    func `a local start reaches the backend with its token`() async throws {
        let backend = RecordingBackend()
        try await withSimulator(configuration(), backend: backend) { simulator, _ in
            let phone = try simulator.addPhone(Fixture.specification { $0.appState = .foreground })
            try simulator.perform(
                .startLocally(
                    .init(
                        attributesType: "OrderAttributes", attributes: ["orderId": "A1"],
                        contentState: ["step": "cooking", "eta": 5], activity: "order-A1", relevance: 7)), on: phone)
            let screen = try await simulator.wait(for: phone) { $0.waitingReports == 0 && !$0.cards.isEmpty }
            let card = try #require(screen.cards.first)
            #expect(card.relevance == 7)
            let states = backend.calls(of: phone).compactMap { $0.body["state"]?.string }
            #expect(states == ["requesting", "active"], "the server hears of it before it is there")
            #expect(backend.cards(of: phone)[card.localID]?["token"]?.string == card.token?.hex)
        }
    }

    @Test
    func `hours pass at once and in order on every phone`() async throws {
        let simulator = try APNSSimulator(configuration())
        let phone = try simulator.addPhone(Fixture.specification { $0.appState = .foreground })
        try simulator.perform(
            .startLocally(
                .init(
                    attributesType: "OrderAttributes", attributes: ["orderId": "A1"],
                    contentState: ["step": "cooking", "eta": 5], staleDate: Fixture.start + .seconds(900))), on: phone)
        try simulator.advance(by: .seconds(900))
        #expect(try simulator.lockScreen(of: phone).cards.map(\.state) == [.stale])
        try simulator.advance(by: .seconds(8 * 3600))
        #expect(try simulator.lockScreen(of: phone).cards.map(\.state) == [.ended])
        try simulator.advance(by: .seconds(4 * 3600))
        #expect(try simulator.lockScreen(of: phone).cards.isEmpty)
        #expect(try simulator.lockScreen(of: phone).dismissed.first?.ending == .eightHours)
        #expect(throws: SimulatorError.self) { try simulator.advance(by: .seconds(-1)) }
        #expect(simulator.now == Fixture.start + .seconds(900 + 12 * 3600))
    }

    @Test
    func `the same seed makes the same tokens`() throws {
        func token(_ seed: UInt64) throws -> String? {
            var configuration = configuration()
            configuration.seed = seed
            let simulator = try APNSSimulator(configuration)
            return try simulator.tokens(of: try simulator.addPhone(Fixture.specification())).pushToStart?.hex
        }
        #expect(try token(1) == token(1))
        #expect(try token(1) != token(2))
    }

    @Test
    func `waiting ends with the fact, with the time, with an unknown phone`() async throws {
        let simulator = try APNSSimulator(configuration())
        let phone = try simulator.addPhone(Fixture.specification())
        async let found = simulator.wait(for: phone) { $0.isLocked == false }
        try simulator.perform(.unlock, on: phone)
        #expect(try await found.isLocked == false)
        let late = await #expect(throws: SimulatorError.self) {
            try await simulator.wait(for: phone, timeout: .milliseconds(1)) { _ in false }
        }
        #expect(late?.code == .timedOut)
        let unknown = try #require(PhoneID("nobody"))
        let error = await #expect(throws: SimulatorError.self) { try await simulator.wait(for: unknown) { _ in true } }
        #expect(error?.code == .unknownPhone)
    }

    @Test
    func `a simulator runs once and says when it has stopped`() async throws {
        let simulator = try APNSSimulator(configuration())
        let run = Task { try await simulator.run() }
        _ = try await simulator.started
        run.cancel()
        try await run.value
        await #expect(throws: SimulatorError.self) { try await simulator.run() }
    }

    @Test
    func `a key's file is read, and its secret half makes no difference`() throws {
        let (key, p8) = ProviderKey.fresh(keyID: "ABC123DEFG", teamID: "TEAM567890")
        #expect(p8.hasPrefix("-----BEGIN PRIVATE KEY-----\n"))
        let read = try ProviderKey(keyID: "ABC123DEFG", teamID: "TEAM567890", pem: p8)
        #expect(read.publicKey.rawRepresentation == key.publicKey.rawRepresentation)
        #expect(throws: SimulatorError.self) { try ProviderKey(keyID: "a", teamID: "b", pem: "no key") }
    }

    @Test
    func `1,000 phones take a start and three updates each over one connection`() async throws {
        let team = Team()
        var configuration = configuration()
        configuration.keys = [team.key()]
        let fields = [
            ("authorization", try team.authorization()), ("apns-topic", Fixture.topic),
            ("apns-push-type", "liveactivity"), ("apns-priority", "5"),
        ]
        try await withSimulator(configuration) { simulator, addresses in
            let phones = try (0..<1000).map { _ in try simulator.addPhone(Fixture.specification()) }
            let port = try #require(addresses.ports[.sandbox])
            let client = try await FrameClient.connect(port: port, caPEM: addresses.caPEM)
            var stream = 1
            var answered = 0
            var waiting: [(String, JSONObject)] = []
            for phone in phones {
                waiting.append((try #require(try simulator.tokens(of: phone).pushToStart).hex, Fixture.startBody()))
            }
            let began = ContinuousClock.now
            var open = 0
            var limit = 1
            var round = 0
            // Sends on one stream until the first answer, then on almost as many as the settings allow.
            func fill() async throws {
                while open < min(limit, 200), let (token, body) = waiting.popLast() {
                    try await client.push(
                        stream, path: "/3/device/\(token)", fields, body: JSONValue.object(body).bytes)
                    stream += 2
                    open += 1
                }
            }
            try await fill()
            for await frame in client.frames {
                switch frame.payload {
                case .settings(.settings(let settings)):
                    limit = settings.last { $0.parameter == .maxConcurrentStreams }?.value ?? limit
                case .headers(let headers):
                    if headers.headers.first(name: ":status") == "200" { answered += 1 }
                    open -= 1
                default: break
                }
                if open == 0, waiting.isEmpty {
                    guard round < 3 else { break }
                    round += 1
                    for phone in phones {
                        let card = try #require(try simulator.lockScreen(of: phone).cards.first)
                        let token = try #require(card.token)
                        waiting.append((token.hex, Fixture.updateBody(at: Fixture.start.seconds + Int64(round))))
                    }
                }
                try await fill()
            }
            print("4,000 pushes to 1,000 phones in \(ContinuousClock.now - began)")
            #expect(answered == 4000)
            #expect(simulator.receivedCount == 4000)
            for phone in phones {
                let card = try #require(try simulator.lockScreen(of: phone).cards.first)
                #expect(card.timestamp.seconds == Fixture.start.seconds + 3)
            }
            try await client.channel.close()
        }
    }
}
