import AsyncHTTPClient
import Foundation
import HTTPTypes
import JSONText
import LiveActivityAPI
import LiveActivityWebhooks
import LoopbackServer
import NIOCore
import NIOHTTP1
import Synchronization
import Testing

@testable import islet

/// A real endpoint and a real server with a real `kill -9` between: events are delivered at least once, and in order.
@Suite(.serialized) struct WebhookKillTests {
    private static let secret = "whsec_" + Data((0..<32).map { UInt8($0 + 7) }).base64EncodedString()

    /// An endpoint that accepts webhooks, or refuses them.
    private final class Receiver: Sendable {
        private struct State {
            var isBroken = true
            var refused = 0
            var taken: [Event] = []
            var ids: [String] = []
            var forged = 0
        }

        private let state = Mutex(State())
        private let verification: WebhookVerification

        init() throws { verification = try #require(WebhookVerification(secret: WebhookKillTests.secret)) }

        func mend() { state.withLock { $0.isBroken = false } }
        var refused: Int { state.withLock(\.refused) }
        var forged: Int { state.withLock(\.forged) }
        var taken: [Event] { state.withLock(\.taken) }
        var ids: [String] { state.withLock(\.ids) }

        func take(_ headers: [String: String], _ body: [UInt8]) -> HTTPResponse.Status {
            let now = Instant(milliseconds: Int(Date().timeIntervalSince1970 * 1000))
            let event = now.flatMap { try? verification.event(headers: headers, body: body, now: $0) }
            return state.withLock { state in
                guard let event else {
                    state.forged += 1
                    return .unauthorized
                }
                guard !state.isBroken else {
                    state.refused += 1
                    return .serviceUnavailable
                }
                state.taken.append(event)
                state.ids.append(headers["webhook-id"] ?? "")
                return .noContent
            }
        }

        /// Runs the endpoint while the work runs.
        func run(_ work: @escaping @Sendable (_ url: String) async throws -> Void) async throws {
            try await withLoopbackServer({ httpAnswer(self.take($0.fields, $0.body)) }) { address, _ in
                try await work(address + "/islet")
            }
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func `an endpoint that fails at first gets every event, in order, though the server is killed in between`()
        async throws
    {
        let receiver = try Receiver()
        try await receiver.run { url in
            try await withStage { stage in
                let directory = stage.directory
                try Data(Self.secret.utf8).write(to: directory.appendingPathComponent("webhook-secret"))
                let config = directory.appendingPathComponent("islet.yaml")
                let text = try String(contentsOf: config, encoding: .utf8).withWebhook(url)
                try Data(text.utf8).write(to: config)
                try await stage.crashServer()

                for person in ["alice", "bob"] { try await stage.addPhone(person, ["appState": "background"]) }
                try await Waiting.until("the phones are known", within: .seconds(60)) {
                    let (alice, bob) = (try await stage.hasReported("alice"), try await stage.hasReported("bob"))
                    return alice && bob
                }
                try await stage.setOrder("preparing", ["alice", "bob"])
                for person in ["alice", "bob"] { try await stage.isLive(on: person) }
                try await Waiting.until("the endpoint was called", within: .seconds(60)) { receiver.refused > 0 }
                #expect(receiver.taken.isEmpty)
                // The failure is written after the endpoint was called.
                try await Waiting.until("it is known as failing", within: .seconds(60)) {
                    let known = try await stage.command("webhooks", "list")
                    return known.code == 0 && known.output.contains("failing since")
                }

                // The server is killed with events that the endpoint did not accept, and makes more of them afterwards.
                try await stage.crashServer()
                try await stage.act("swipe", on: "bob")
                // A sleeping app need not notice the swipe.
                try await stage.act("foreground", on: "bob")
                try await Waiting.until("the server knows that it was swiped away", within: .seconds(60)) {
                    try await stage.viewOrder().devices.contains { $0.device == "bob" && $0.state == "dismissed" }
                }
                receiver.mend()
                try await Waiting.until("what was refused is taken", within: .seconds(120)) {
                    receiver.taken.contains { $0.device == "bob" && $0.kind == .dismissed }
                }
                // Killed again, after some events were accepted, whether or not the cursor was written.
                try await stage.killServer()
                try await stage.startServer(within: .seconds(20))
                _ = try await stage.islet.callOnAnyConnection(.DELETE, "/v1/activities/order-1")
                try await Waiting.until("the end is told", within: .seconds(120)) {
                    receiver.taken.contains { $0.device == "alice" && $0.kind == .ended }
                }
                try await Self.check(receiver, stage)
            }
        }
    }

    private static func check(_ receiver: Receiver, _ stage: DemoStage) async throws {
        #expect(receiver.forged == 0 && receiver.refused > 0)
        // Each activity's events arrive for the first time in the order of their numbers.
        let numbers = receiver.taken.filter { $0.activity == "order-1" }.compactMap { Int($0.id) }
        var firsts: [Int] = []
        for number in numbers where !firsts.contains(number) { firsts.append(number) }
        #expect(firsts == firsts.sorted() && firsts.count >= 4, "\(numbers)")
        // Every event was delivered, and repeats have the id of the first delivery.
        let all = try await events(stage, through: firsts.last ?? 0)
        #expect(Set(all).isSubset(of: Set(receiver.taken.compactMap { Int($0.id) })), "\(all)")
        let byID = Dictionary(grouping: zip(receiver.ids, receiver.taken), by: \.0)
        for (_, copies) in byID { #expect(Set(copies.map(\.1)).count == 1) }
        for person in ["alice", "bob"] {
            let its = receiver.taken.filter { $0.device == person }.compactMap(\.kind)
            #expect(its.first { $0 == .started || $0 == .ended || $0 == .dismissed } == .started, "\(its)")
        }
        let quiet = try await stage.command("webhooks", "dead", "backend")
        #expect(quiet.code == 0 && quiet.output == "no failed events\n", "\(quiet)")
    }

    /// Returns the numbers of all events up to one, from the server's own stream.
    private static func events(_ stage: DemoStage, through last: Int) async throws -> [Int] {
        let bytes = try await stage.readEvents(after: 0) { $0.contains("id: \(last)\nevent") }
        return bytes.matches(of: /id: ([0-9]+)\nevent:/).compactMap { Int($0.output.1) }
    }
}

extension DemoStage {
    /// Reads `GET /v1/events` until the text is enough.
    func readEvents(after number: Int, until isEnough: (String) -> Bool) async throws -> String {
        var request = HTTPClientRequest(url: isletAddress + "/v1/events")
        request.headers.add(name: "authorization", value: "Bearer \(key)")
        request.headers.add(name: "last-event-id", value: String(number))
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(60))
        var text = ""
        for try await part in response.body {
            text += String(buffer: part)
            if isEnough(text) { break }
        }
        return text
    }
}

extension String {
    /// Returns a configuration whose first app sends its events to this address.
    func withWebhook(_ url: String) -> String {
        withPeople(
            """
                webhooks:
                  - {name: backend, url: "\(url)", secretFile: webhook-secret, allowPrivate: true}

            """)
    }
}
