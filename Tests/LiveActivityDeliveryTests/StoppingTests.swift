import APNSModel
import LiveActivityCore
import LiveActivityDelivery
import LiveActivityStorage
import Logging
import StorageSQL
import StorageSQLite
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10)))
struct StoppingTests {
    @Test func `a graceful stop settles what is in the air and claims nothing more`() async throws {
        let sender = ScriptedSender { _, _ in .hold }
        try await withStage(sender) { stage in
            try await stage.prepare()
            try await stage.perform { stop async throws in
                await stage.sender.received(1)
                await stop()
                try await stage.put(2)
                sender.release()
            }
            #expect(stage.steps == [1])
            #expect(try await stage.phones().map(\.sentRevision) == [1])
            #expect(try await stage.lane()?.flight == nil)
        }
    }

    @Test func `what a stopping sender gives back is not counted as an attempt`() async throws {
        let sender = ScriptedSender { _, _ in .hold }
        try await withStage(sender) { stage in
            try await stage.prepare()
            let before = try await stage.phones()
            try await stage.perform { stop async throws in
                await stage.sender.received(1)
                await stop()
                sender.release(.failure(PushFailure(.stopping, "the server stops")))
            }
            #expect(try await stage.phones() == before)
            #expect(try await stage.lane()?.tries == 0)
        }
    }

    @Test func `after a crash a start is not sent twice, and the newest state arrives`() async throws {
        try await withDatabasePath { path in
            let clock = SteppedClock()
            let first = try Stage(path: path, ScriptedSender { _, _ in .hold }, clock: clock)
            try await first.register(startToken: "start")
            try await first.put(1, start: .ifPossible)
            clock.advance(by: .seconds(20))
            try await first.perform { _ async throws in
                await first.sender.received(1)
                // Its disk fails at the same moment, so nothing is settled any more.
                first.store.set { $0.failsSettlements = true }
                throw Stage.Crash()
            }
            first.store.inner.close()
            #expect(first.store.now.settlements == 0)

            let second = try Stage(path: path, clock: clock, node: 2)
            defer { second.store.inner.close() }
            try await second.perform { _ async throws in
                try await second.until { try await second.phones().map(\.state) == [.unconfirmed] }
                clock.advance(by: .seconds(60))
                try await second.put(2, start: .ifPossible)
                try await second.report(token: "update")
                await second.sender.received(1)
                await second.settled(1)
            }
            #expect(second.steps == [2])
            #expect(second.sender.pushes.allSatisfy { $0.request.mayRepeat })
            #expect(try await second.phones().map(\.sentRevision) == [2])
            #expect(second.logs.lines.contains { $0.level == .notice && $0.text.contains("rescued") })
        }
    }

    @Test func `outcomes that cannot be written are left to the rescuer, those of the stragglers as well`() async throws
    {
        let sender = ScriptedSender { _, number in number == 1 ? .hold : .answer(PushAnswer(status: 200)) }
        try await withStage(sender) { stage in
            try await stage.prepare(phones: 2)
            stage.store.set { $0.failsSettlements = true }
            try await stage.perform { _ async throws in
                await stage.sender.received(2)
                await stage.clock.advanceToSleeper(.milliseconds(1500))
                for count in 1...5 {
                    await stage.until { stage.store.now.failures >= count }
                    await stage.clock.advanceToSleeper(.seconds(1))
                }
                await stage.until { stage.logs.lines.contains { $0.text.contains("discarded") } }
                stage.store.set { $0.failsSettlements = false }
                sender.release()
                #expect(try await stage.lane()?.flight != nil)
                // The lease ends. Both phones may have the push, and get it once more.
                await stage.clock.advanceToSleeper(.milliseconds(8500)...(.seconds(16)))
                await stage.sender.received(4)
                await stage.settled(1)
                #expect(try await stage.phones().map(\.sentRevision) == [1, 1])
            }
            // The service has ended, and only the second flight was ever written.
            #expect(stage.store.now.settlements == 1 && sender.pushes.count == 4)
        }
    }
}
