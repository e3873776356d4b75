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
struct DispatcherTests {
    @Test func `a change is pushed at once, and nothing is claimed while nothing is due`() async throws {
        try await withStage { stage in
            try await stage.prepare()
            try await stage.perform { _ async throws in
                await stage.sender.received(1)
                await stage.settled(1)
                try await stage.until { try await stage.store.inner.nextWakeAt() == nil }
                // A dispatcher that looked before the settlement sleeps until the end of the flight's lease, and then
                // finds the flight settled. It looks once a minute and claims nothing.
                for sleep in 1...4 {
                    await stage.until { stage.clock.nextWake != nil }
                    let now = stage.store.now
                    #expect(now.claims == 1 && now.looks <= 3 + sleep, "\(now)")
                    if sleep < 4, let next = stage.clock.nextWake {
                        stage.clock.advance(by: next - stage.clock.now.offset)
                    }
                }
                let quiet = stage.store.now
                try await stage.put(2)
                await stage.sender.received(2)
                await stage.settled(2)
                #expect(stage.steps == [1, 2])
                // A dispatcher that had woken meanwhile would have read or claimed before this change.
                #expect(stage.store.now.claims == 2, "a claim for each change, and none for its own commit")
                #expect(stage.store.now.looks - quiet.looks <= 4, "\(stage.store.now)")
            }
        }
    }

    @Test func `the commit of a change claims it, so that a change and its push are two commits`() async throws {
        try await withStage { stage in
            try await stage.prepare()
            stage.store.set { $0.claimsAtOnce = true }
            try await stage.perform { _ async throws in
                await stage.sender.received(1)
                await stage.settled(1)
                for change in 2...4 {
                    // Past the coalescing window.
                    await stage.until { stage.isDispatcherAsleep }
                    stage.clock.advance(by: .seconds(20))
                    let (before, own) = (try await stage.store.inner.statistics(), stage.store.now)
                    try await stage.put(change)
                    await stage.sender.received(change)
                    await stage.settled(own.settlements + 1)
                    let after = try await stage.store.inner.statistics()
                    #expect(after.commits - before.commits == 2)
                    #expect((after.commands[.claim] ?? 0) - (before.commands[.claim] ?? 0) == 1)
                    #expect(stage.store.now.claims == own.claims && stage.store.now.looks - own.looks <= 3)
                }
                #expect(stage.steps == [1, 2, 3, 4])
            }
        }
    }

    @Test func `while a claim is prepared, commits claim nothing`() async throws {
        let (asked, ask) = AsyncStream.makeStream(of: Void.self)
        let (answers, answer) = AsyncStream.makeStream(of: Void.self)
        try await withStage { stage in
            try await stage.prepare()
            stage.store.set { $0.claimsAtOnce = true }
            stage.beforeClaim {
                ask.yield()
                for await _ in answers { break }
            }
            try await stage.perform { _ async throws in
                for await _ in asked { break }
                try await stage.put(2)
                #expect(try await stage.store.inner.statistics().commands[.claim] == nil)
                answer.finish()
                await stage.sender.received(1)
                #expect(stage.steps == [2])
            }
        }
    }

    @Test func `of ten changes within a window the newest is sent, once`() async throws {
        try await withStage { stage in
            try await stage.prepare()
            try await stage.perform { _ async throws in
                await stage.sender.received(1)
                for step in 2...11 { try await stage.put(step) }
                await stage.settled(1)
                await stage.clock.advanceToSleeper(.seconds(1))
                await stage.sender.received(2)
                await stage.settled(2)
                #expect(stage.steps == [1, 11])
            }
        }
    }

    @Test func `changes within a window cause no looks, because the end of the window causes one`() async throws {
        try await withStage { stage in
            try await stage.prepare()
            try await stage.perform { _ async throws in
                await stage.sender.received(1)
                await stage.settled(1)
                try await stage.put(2)
                let end = stage.clock.now.offset + .seconds(1)
                await stage.until { stage.clock.nextWake == end }
                let before = stage.store.now.looks
                for step in 3...22 { try await stage.put(step) }
                await stage.clock.advanceToSleeper(.seconds(1))
                await stage.sender.received(2)
                await stage.settled(2)
                #expect(stage.steps == [1, 22])
                #expect(stage.store.now.looks - before <= 3, "\(stage.store.now)")
            }
        }
    }

    static let troubles: [(line: ScriptedSender.Line, least: Double, most: Double, isLanes: Bool)] = [
        (.answer(PushAnswer(status: 429, reason: .known(.tooManyRequests))), 1, 2, false),
        (.fail(.unknownFate), 0.75, 1.25, false),
        (.answer(PushAnswer(status: 503, reason: .known(.serviceUnavailable))), 0.75, 1.25, true),
        (.answer(PushAnswer(status: 403, reason: .known(.invalidProviderToken))), 60, 60, true),
        (.fail(.cannotConnect), 0.75, 1.25, true), (.fail(.notSentInTime), 0.25, 0.25, true),
    ]

    @Test(arguments: troubles.indices)
    func `what failed is tried again when its time comes, and trouble that is not a phone's writes no phone`(
        index: Int
    ) async throws {
        let trouble = Self.troubles[index]
        let sender = ScriptedSender { _, number in number == 0 ? trouble.line : .answer(PushAnswer(status: 200)) }
        try await withStage(sender) { stage in
            try await stage.prepare()
            let before = try await stage.phones()
            try await stage.perform { _ async throws in
                await stage.settled(1)
                #expect(try await (stage.phones() == before) == trouble.isLanes)
                if trouble.most < 15 {
                    await stage.clock.advanceToSleeper(.seconds(trouble.least)...(.seconds(trouble.most)))
                } else {
                    await stage.clock.advance(through: .seconds(trouble.most))
                }
                await stage.sender.received(2)
                await stage.settled(2)
                #expect(stage.steps == [1, 1])
                #expect(try await stage.phones().map(\.sentRevision) == [1])
                #expect(try await stage.lane()?.tries == 0)
            }
        }
    }

    @Test func `one slow answer delays one phone`() async throws {
        let sender = ScriptedSender { _, number in number == 1 ? .hold : .answer(PushAnswer(status: 200)) }
        try await withStage(sender) { stage in
            try await stage.prepare(phones: 3)
            try await stage.perform { _ async throws in
                await stage.sender.received(3)
                await stage.clock.advanceToSleeper(.milliseconds(1500))
                await stage.settled(1)
                try await stage.put(2)
                await stage.sender.received(5)
                #expect(stage.steps == [1, 1, 1, 2, 2])
                await stage.settled(2)
                stage.clock.advance(by: .seconds(1))
                sender.release()
                await stage.sender.received(6)
                await stage.settled(4)
                #expect(try await stage.phones().map(\.sentRevision) == [2, 2, 2])
                #expect(stage.steps == [1, 1, 1, 2, 2, 2])
            }
        }
    }

    @Test func `an answer that never comes is an unknown fate when its time is over, and tried again`() async throws {
        let sender = ScriptedSender { _, number in number == 0 ? .hold : .answer(PushAnswer(status: 200)) }
        try await withStage(sender) { stage in
            try await stage.prepare()
            try await stage.perform { _ async throws in
                await stage.sender.received(1)
                await stage.clock.advanceToSleeper(.milliseconds(1500))
                await stage.settled(1)
                await stage.clock.advanceToSleeper(.milliseconds(10_500))
                await stage.settled(2)
                #expect(try await stage.phones().map(\.last?.reason.code) == [.unknownFate])
                await stage.until {
                    stage.clock.advance(by: .milliseconds(100))
                    return stage.sender.pushes.count == 2
                }
                await stage.settled(3)
                #expect(try await stage.phones().map(\.sentRevision) == [1])
            }
        }
    }

    @Test func `pushes at once are bounded, and lost answers do not hold up the rest`() async throws {
        let sender = ScriptedSender { _, _ in .hold }
        try await withStage(sender) {
            $0.pace.pushes = 3
            $0.pace.stragglers = 5
        } _: { stage in
            for number in 1...9 { try await stage.prepare(activity: "a\(number)") }
            try await stage.perform { _ async throws in
                await stage.sender.received(3)
                await stage.clock.advanceToSleeper(.milliseconds(1500), of: 3)
                // Three pushes linger, and so do two of the next three. Then the limit of stragglers is reached.
                await stage.sender.received(6)
                sender.release()
                await stage.until { sender.pushes.count == 9 || sender.held == 0 }
                await stage.sender.received(9)
                sender.release()
            }
            // A push may leave only within this time of its claim. The fourth push was claimed after three had become
            // stragglers.
            let claims = sender.pushes.map { $0.sendBefore - sender.pushes[0].sendBefore }
            #expect(claims.prefix(3) == [.zero, .zero, .zero])
            #expect(claims.dropFirst(3).allSatisfy { $0 >= .milliseconds(1500) }, "\(claims)")
            #expect(try await stage.store.inner.phones(of: 9, after: 0, limit: 9).map(\.card.sentRevision) == [1])
        }
    }

    @Test func `a push leaves within eight seconds of the moment before its claim`() async throws {
        try await withStage { stage in
            try await stage.prepare()
            let before = stage.clock.timeSource.monotonic()
            // The claim's own commit takes three seconds.
            stage.store.set { $0.onClaim = { if stage.sender.pushes.isEmpty { stage.clock.advance(by: .seconds(3)) } } }
            try await stage.perform { _ async throws in
                await stage.sender.received(1)
                let push = try #require(stage.sender.pushes.first)
                #expect(push.sendBefore == before + .seconds(8) && push.answerBy == before + .seconds(12))
            }
        }
    }

    @Test func `a failing store is asked again after a pause`() async throws {
        try await withStage { stage in
            try await stage.prepare()
            stage.store.set { $0.failsClaims = true }
            try await stage.perform { _ async throws in
                for count in 1...3 {
                    await stage.until { stage.store.now.failures >= count }
                    await stage.clock.advanceToSleeper(.seconds(1))
                }
                #expect(stage.sender.pushes.isEmpty)
                stage.store.set { $0.failsClaims = false }
                await stage.until {
                    stage.clock.advance(by: .seconds(1))
                    return !stage.sender.pushes.isEmpty
                }
                await stage.settled(1)
                #expect(stage.logs.lines.contains { $0.level == .error && $0.text.contains("could not be claimed") })
            }
        }
    }

    @Test func `a halt is said loudly, and no token is in any line`() async throws {
        let halt = PushAnswer(status: 403, reason: .known(.invalidProviderToken))
        let sender = ScriptedSender { _, number in number == 0 ? .answer(halt) : .answer(PushAnswer(status: 200)) }
        try await withStage(sender) { stage in
            try await stage.prepare()
            try await stage.perform { _ async throws in
                await stage.settled(1)
                await stage.clock.advance(through: .seconds(60))
                await stage.settled(2)
            }
            let errors = stage.logs.lines.filter { $0.level == .error }
            #expect(errors.map(\.text).contains { $0.contains("halted") && $0.contains("InvalidProviderToken") })
            let token = Sample.token("update-a-1", as: UpdateTokenKind.self).hex
            #expect(!stage.logs.lines.isEmpty && stage.logs.lines.allSatisfy { !$0.text.contains(token) })
            // The event is recorded once, until the fault is repaired.
            let told = try await stage.store.inner.events(of: nil, EventFilter(), after: 0, limit: 10).events
            #expect(told.map(\.record.kind).filter { $0 == .keyHalted }.count == 1)
            let event = try #require(told.first { $0.record.kind == .keyHalted })
            #expect(event.record.reason == .halted && event.record.subject == .production)
        }
    }
}
