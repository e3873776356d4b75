import APNSModel
import LiveActivityCore
import LiveActivityDelivery
import LiveActivityStorage
import Logging
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10)))
struct CircuitTests {
    private static let unwell = PushAnswer(status: 503, reason: .known(.serviceUnavailable))
    private static let route = PushRoute(Sample.bundleID, .production)

    /// Advances the clock by this many seconds, from one instant that somebody waits for to the next.
    private func pass(_ seconds: Int, _ stage: Stage) async {
        let end = stage.clock.now.advanced(by: .seconds(seconds))
        while stage.clock.now < end, !Task.isCancelled { await step(stage) }
    }

    /// Advances to the next instant that somebody waits for, if there is one.
    private func step(_ stage: Stage) async {
        guard let wake = stage.clock.nextWake else { return await Task.yield() }
        stage.clock.advance(by: wake - stage.clock.now.offset)
    }

    @Test func `an outage is said once, probed by one push at a time, and over with the first answer`() async throws {
        let isWell = Mutex(false)
        let reached = Mutex<Set<String>>([])
        let sender = ScriptedSender { push, _ in
            guard isWell.withLock(\.self) else { return .answer(Self.unwell) }
            reached.withLock { _ = $0.insert(push.request.destination.hex) }
            return .answer(PushAnswer(status: 200))
        }
        let phones = 8
        try await withStage(sender) { stage in
            for phone in 1...phones {
                try await stage.register(phone)
                try await stage.put(1, "a\(phone)")
                try await stage.report(phone, "a\(phone)", token: "update-\(phone)")
            }
            try await stage.perform { _ async throws in
                await stage.until { stage.troubledRoutes[Self.route] != nil }
                await stage.settled(1)
                let before = sender.pushes.count
                await pass(300, stage)
                let probes = sender.pushes.count - before
                #expect((4...12).contains(probes), "\(probes) pushes in five minutes of an outage")
                #expect(stage.troubledRoutes[Self.route]?.reason.code == .serviceTrouble)
                isWell.withLock { $0 = true }
                await stage.until {
                    await step(stage)
                    return stage.troubledRoutes.isEmpty
                }
                // A phone whose own push met the fault waits for its lane, at most a minute.
                let closed = stage.clock.now
                await stage.until {
                    guard reached.withLock(\.count) < phones else { return true }
                    await step(stage)
                    return false
                }
                #expect(closed.duration(to: stage.clock.now) <= .seconds(180))
            }
            let said = stage.logs.lines.filter { $0.level >= .notice }.map(\.text)
            #expect(said.count { $0.contains("APNs is in trouble") } == 1, "\(said)")
            #expect(said.count { $0.contains("delivery resumes") } == 1, "\(said)")
        }
    }

    @Test func `while no route is well only its own pushes wait`() async throws {
        let sender = ScriptedSender { push, _ in
            .answer(push.request.environment == .sandbox ? Self.unwell : PushAnswer(status: 200))
        }
        try await withStage(sender) { stage in
            for phone in 1...6 {
                try await stage.register(phone, environment: phone > 3 ? .sandbox : .production)
                try await stage.put(1, "a\(phone)")
                try await stage.report(phone, "a\(phone)", token: "update-\(phone)")
            }
            try await stage.perform { _ async throws in
                await stage.until { stage.troubledRoutes.keys.map(\.environment) == [.sandbox] }
                await stage.until { sender.pushes.count { $0.request.environment == .production } == 3 }
            }
        }
    }
}
