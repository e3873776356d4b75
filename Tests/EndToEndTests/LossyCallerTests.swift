import APNSModel
import APNSSimulator
import AsyncHTTPClient
import Foundation
import IsletBasics
import JSONText
import LiveActivityAPI
import NIOCore
import NIOHTTP1
import OrderTracking
import Testing

@testable import islet

/// A backend whose calls arrive more than once and out of order.
@Suite(.serialized) struct LossyCallerTests {
    private static let last = 24

    @Test(arguments: [UInt64.random(in: 0 ... .max)])
    func `an order driven over a lossy network leaves the phones on the newest state`(seed: UInt64) async throws {
        try await Stack.run { stack in
            let phones = [try await stack.phone("alice"), try await stack.phone("bob")]
            try await stack.set("order-12345", "preparing", people: ["alice", "bob"], ["sequence": 0])
            for phone in phones {
                try await stack.shows("preparing", on: phone)
                try await stack.reported(phone)
            }
            var dice = SplitMix64(seed: seed)
            var (taken, replayed) = (0, 0)
            // Each batch sends every call two or three times, all at once and in any order.
            for batch in stride(from: 1, through: Self.last, by: 6) {
                let calls = (batch..<min(batch + 6, Self.last + 1)).flatMap { number in
                    Array(repeating: number, count: number % 2 + 2)
                }.shuffled(using: &dice)
                let answers = try await withThrowingTaskGroup(of: Answer.self) { group in
                    for number in calls { group.addTask { try await Self.patch(stack, number) } }
                    return try await group.reduce(into: [Answer]()) { $0.append($1) }
                }
                #expect(answers.allSatisfy { $0.status == 200 }, "seed \(seed)")
                taken += Set(answers.filter { $0.body?["changed"] == true }.map(\.number)).count
                replayed += answers.filter(\.isReplayed).count
            }
            #expect(taken > 0 && replayed > 0, "seed \(seed)")
            let state: JSONObject = ["status": "delivering", "progress": 0.24]
            for phone in phones {
                try await stack.simulator.wait(for: phone, timeout: .seconds(90)) {
                    $0.cards.count == 1 && $0.cards[0].contentState["progress"]?.double == 0.24
                        && $0.cards[0].contentState["status"] == "delivering"
                }
            }
            let view = try await stack.view("order-12345")
            #expect(view.state == state, "seed \(seed)")
            #expect(view.revision == taken + 1, "seed \(seed)")
        }
    }

    private struct Answer: Sendable {
        let number: Int
        let status: UInt
        let isReplayed: Bool
        let body: JSONObject?
    }

    private static func patch(_ stack: Stack, _ number: Int) async throws -> Answer {
        var request = HTTPClientRequest(url: stack.address + "/v1/activities/order-12345")
        request.method = .PATCH
        request.headers.add(name: "authorization", value: "Bearer \(stack.key)")
        request.headers.add(name: "content-type", value: "application/json")
        request.headers.add(name: "idempotency-key", value: "step-\(number)")
        let status = number == last ? "delivering" : "picked_up"
        let body: JSONValue = [
            "sequence": .number(JSONNumber(number)),
            "state": [
                "status": .string(status), "progress": .number(JSONNumber(Double(number) / 100) ?? JSONNumber(0)),
            ],
        ]
        request.body = .bytes(ByteBuffer(bytes: body.bytes))
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(30))
        let bytes = try await response.body.collect(upTo: 1 << 20)
        return Answer(
            number: number, status: response.status.code,
            isReplayed: response.headers.first(name: "idempotency-replayed") == "true",
            body: try JSONValue(parsing: bytes.readableBytesView).object)
    }
}
