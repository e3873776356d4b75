import APNSModel
import APNSSimulator
import Foundation
import JSONText
import NIOCore
import NIOHTTP2
import Testing

/// Faults of whole connections, on demand.
@Suite(.timeLimit(.minutes(10)))
struct TransportFaultTests {
    struct Line: Sendable {
        let simulator: APNSSimulator
        let client: FrameClient
        let path: String
        let fields: [(String, String)]

        func push(_ stream: Int) async throws {
            let body = JSONValue.object(Fixture.startBody()).bytes
            try await client.push(stream, path: path, fields, body: body)
        }
    }

    private func withLine(_ body: @escaping @Sendable (Line) async throws -> Void) async throws {
        let team = Team()
        var configuration = APNSSimulator.Configuration()
        configuration.keys = [team.key()]
        configuration.time = .standing
        let fields = [
            ("authorization", try team.authorization()), ("apns-topic", Fixture.topic),
            ("apns-push-type", "liveactivity"),
        ]
        try await withSimulator(configuration) { simulator, addresses in
            let phone = try simulator.addPhone(Fixture.specification())
            let token = try #require(try simulator.tokens(of: phone).pushToStart)
            let port = try #require(addresses.ports[.sandbox])
            let client = try await FrameClient.connect(port: port, caPEM: addresses.caPEM)
            try await body(Line(simulator: simulator, client: client, path: "/3/device/\(token.hex)", fields: fields))
        }
    }

    @Test
    func `a GOAWAY below what came leaves the rest without an answer`() async throws {
        try await withLine { line in
            var silence = FaultRule(.loseAnswer(.silence))
            silence.skip = 1
            line.simulator.faults = [silence]
            try await line.push(1)
            var answered: [HTTP2StreamID] = []
            var lasts: [HTTP2StreamID] = []
            for await frame in line.client.frames {
                switch frame.payload {
                case .headers:
                    answered.append(frame.streamID)
                    try await line.push(3)
                    try await line.simulator.waitForPushes { $0.count == 2 }
                    line.simulator.goAway(lastStreamID: 1)
                case .goAway(let last, _, _): lasts.append(last)
                default: break
                }
            }
            #expect(answered == [1])
            #expect(lasts == [1])
        }
    }

    @Test
    func `a GOAWAY with the highest number only warns, a second one ends the connection`() async throws {
        try await withLine { line in
            try await line.push(1)
            var answered: [HTTP2StreamID] = []
            var lasts: [HTTP2StreamID] = []
            for await frame in line.client.frames {
                switch frame.payload {
                case .headers:
                    answered.append(frame.streamID)
                    // No push is open at the warning or at the end.
                    if answered.count == 1 { line.simulator.goAway(lastStreamID: Int(Int32.max)) }
                    if answered.count == 2 { line.simulator.goAway(lastStreamID: 3) }
                case .goAway(let last, _, _):
                    lasts.append(last)
                    if lasts.count == 1 { try await line.push(3) }
                default: break
                }
            }
            #expect(answered == [1, 3])
            #expect(lasts == [.maxID, 3])
        }
    }

    @Test
    func `the streams of an open connection follow what is said`() async throws {
        try await withLine { line in
            try await line.push(1)
            var streams: [Int] = []
            for await frame in line.client.frames {
                guard case .settings(.settings(let settings)) = frame.payload else { continue }
                streams += settings.filter { $0.parameter == .maxConcurrentStreams }.map(\.value)
                if streams.count == 2 { line.simulator.limitStreams(to: 1) }
                if streams.count == 3 { line.simulator.limitStreams(to: 1000) }
                if streams.count == 4 { break }
            }
            #expect(streams == [1, 1000, 1, 1000])
            try await line.client.channel.close()
        }
    }

    enum Reset: Sendable, CaseIterable { case byRule, onDemand }

    @Test(arguments: Reset.allCases)
    func `a reset is TCP's own, not an orderly end`(reset: Reset) async throws {
        try await withLine { line in
            var rule = FaultRule(.loseAnswer(.abort))
            rule.skip = 1
            if reset == .byRule { line.simulator.faults = [rule] }
            try await line.push(1)
            var answers = 0
            for await frame in line.client.frames {
                guard case .headers = frame.payload else { continue }
                answers += 1
                switch reset {
                case .byRule: try await line.push(3)
                case .onDemand:
                    // The client's answer to the settings has left, so a reset cannot overtake it.
                    try await line.client.channel.eventLoop.submit {}.get()
                    line.simulator.abortConnections()
                }
            }
            #expect(answers == 1)
            var errors: [any Error] = []
            for await error in line.client.errors { errors.append(error) }
            #expect(errors.contains { ($0 as? IOError)?.errnoCode == ECONNRESET }, "\(errors)")
            #expect(line.simulator.receivedCount == (reset == .byRule ? 2 : 1))
        }
    }
}
