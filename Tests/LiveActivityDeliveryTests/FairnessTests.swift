import APNSModel
import LiveActivityCore
import LiveActivityDelivery
import LiveActivityStorage
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10)))
struct FairnessTests {
    @Test func `a change of a small activity leaves while a large one is on its way, which has half of the room`()
        async throws
    {
        // Nobody answers the large activity and the clock does not move, so every push that leaves did not wait for it.
        let small = Sample.token("update-b-1", as: UpdateTokenKind.self).hex
        let sender = ScriptedSender { push, _ in
            push.request.destination.hex == small ? .answer(PushAnswer(status: 200)) : .hold
        }
        try await withStage(sender) {
            $0.pace.pushes = 40
            $0.claim.phones = 60
            $0.claim.pushes = 30
        } _: { stage in
            try await stage.prepare(phones: 60)
            try await stage.register(1)
            try await stage.perform { _ async throws in
                await sender.received(20)
                try await stage.put(1, "b")
                try await stage.report(1, "b", token: "update-b-1")
                await stage.until { sender.pushes.contains { $0.request.destination.hex == small } }
                #expect(sender.held == 20)
                // The large activity continues as it is answered, and reaches everybody.
                await stage.until {
                    sender.release()
                    stage.clock.advance(by: .milliseconds(50))
                    for _ in 0..<20 { await Task.yield() }
                    return sender.pushes.count >= 61
                }
                sender.release()
                try await stage.until { try await stage.phones().allSatisfy { $0.sentRevision == 1 } }
            }
        }
    }
}
