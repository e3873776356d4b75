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

    /// Gives each phone an activity of its own, whose card is behind.
    private func order(_ phones: Int, _ stage: Stage) async throws {
        for phone in 1...phones {
            try await stage.register(phone)
            try await stage.put(1, "a\(phone)")
            try await stage.report(phone, "a\(phone)", token: "update-\(phone)")
        }
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
            try await order(phones, stage)
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

    @Test(.timeLimit(.minutes(2)))
    func `lanes that wait for a route cost no claims, and leave with the first answer`() async throws {
        let reply = Mutex(ScriptedSender.Line.answer(Self.unwell))
        let reached = Mutex<Set<String>>([])
        let sender = ScriptedSender { push, _ in
            reply.withLock { reply in
                if case .answer(let answer) = reply, answer == Self.unwell { return reply }
                reached.withLock { _ = $0.insert(push.request.destination.hex) }
                return reply
            }
        }
        let phones = 20
        try await withStage(sender) { stage in
            try await order(phones, stage)
            try await stage.perform { _ async throws in
                await stage.until { stage.troubledRoutes[Self.route] != nil }
                await pass(300, stage)
                let before = (sender.pushes.count, stage.store.now.claims)
                await pass(1_200, stage)
                let (probes, claims) = (sender.pushes.count - before.0, stage.store.now.claims - before.1)
                // A probe takes a claim, and its lane another one when it has backed off.
                #expect((15...40).contains(probes) && claims <= 4 * probes, "\(probes) probes, \(claims) claims")
                #expect(try await stage.store.nextWork().conditions == [.route(Self.route, isHarmless: true)])
                // APNs takes the next probe, and answers when the dispatcher sleeps again.
                reply.withLock { $0 = .hold }
                await stage.until {
                    await step(stage)
                    return reached.withLock(\.count) == 1
                }
                await stage.until { stage.isDispatcherAsleep }
                reply.withLock { $0 = .answer(PushAnswer(status: 200)) }
                sender.release()
                // No time passes. The lanes of the last probes still back off.
                await stage.until { reached.withLock(\.count) >= phones - 3 }
            }
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
