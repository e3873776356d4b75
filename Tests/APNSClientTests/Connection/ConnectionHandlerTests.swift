import APNSModel
import Testing

@testable import APNSClient

/// Actions of the machine, as `ConnectionHandler` carries them out step by step.
@Suite struct ConnectionHandlerTests {
    /// Limits with a number of streams left. A ring for 100 streams has 256 places, and one turn of it stays unused.
    private static func limits(streamsLeft: Int) -> ConnectionLimits {
        var limits = ConnectionLimits()
        limits.concurrentStreams = 100
        limits.firstStreamID = 0x7FFF_FFFF - 512 - UInt32(streamsLeft - 1) * 2
        return limits
    }

    @Test func `pushes for which no stream id is left go back in their order, and none is lost`() throws {
        let stage = try HandlerStage.accepting(limits: Self.limits(streamsLeft: 6))
        try stage.submit(try (1...20).map { try Make.push($0) })
        #expect(stage.streams.count == 6)
        #expect(stage.pool.waiting == Array(6...20))
        #expect(stage.pool.events.contains("retire"), "its successor takes them")
        for stream in stage.streams.dropFirst() { try stage.answer(stream) }
        #expect(stage.outcomes.accepted == 6 && stage.outcomes.areCompleteOnce)
        #expect(stage.pool.events.last == "end \(ConnectionEnd.drained.text)")
    }

    @Test func `after TooManyProviderTokenUpdates the connection pauses, then the same push leaves again`() throws {
        let stage = try HandlerStage.accepting()
        try stage.submit([try Make.push(1)])
        let first = stage.lastBlock
        try stage.answer(3, status: 429, reason: "TooManyProviderTokenUpdates")
        try stage.submit([try Make.push(2)])
        // The lowest roll of the dice: half a second.
        try stage.wait(0.49)
        #expect(stage.streams == [1, 3] && stage.outcomes.accepted == 1)
        try stage.wait(0.02)
        #expect(stage.streams == [1, 3, 5, 7])
        let id = try Make.push(1).request.id.description
        #expect(first.contains(id) && stage.seen.contains { $0.streamID == 5 && $0.payload.contains(id.utf8) })
        for stream: UInt32 in [5, 7] { try stage.answer(stream) }
        #expect(stage.outcomes.accepted == 3 && stage.outcomes.areCompleteOnce)
        #expect(stage.pool.events.filter { $0 == "token" }.count == 1, "the token is kept")
    }

    @Test func `an answer makes room before the caller hears of it, however long it took`() throws {
        let stage = try HandlerStage()
        let (pool, next) = (stage.pool, try Make.push(2))
        try stage.answer(1)
        // With a limit of one stream the connection is full while a push is open.
        try stage.send(Peer.settings([(3, 1)]))
        try stage.submit([try Make.push(1)]) { number in
            // The caller sends the next push as soon as it has the answer.
            if number == 1 { pool.enqueue([Attempt(next)]) }
        }
        stage.clock.advance(5)
        try stage.answer(3)
        #expect(stage.streams == [1, 3, 5])
        #expect(!stage.pool.events.contains { $0.hasPrefix("dial 2") })
    }

    @Test func `the first answer, however slow, makes no second connection`() throws {
        let stage = try HandlerStage()
        let (pool, next) = (stage.pool, try Make.push(1))
        // The push waits, for longer than the pool's patience, because the provider token is not accepted yet.
        stage.clock.advance(5)
        stage.whenFirstIsAnswered {
            pool.enqueue([Attempt(next)])
        }
        try stage.answer(1)
        #expect(stage.streams == [1, 3])
        #expect(stage.pool.events.filter { $0.hasPrefix("dial") } == ["dial 1"])
    }

    @Test func `an answer after a suspend makes room, and what waited beyond its lease stays`() throws {
        let stage = try HandlerStage()
        stage.pool.enqueue(stage.attempts([try Make.push(1, sendBefore: Make.time(8), answerBy: Make.time(12))]))
        stage.clock.advance(60)
        try stage.answer(1)
        #expect(stage.streams == [1] && stage.outcomes.failureCodes == [.notSentInTime])
        #expect(stage.outcomes.accepted == 1 && stage.outcomes.areCompleteOnce)
    }

    @Test func `GOAWAY: the connection retires before what it did not process waits again`() throws {
        let stage = try HandlerStage.accepting()
        try stage.submit(try (1...4).map { try Make.push($0) })
        #expect(stage.streams == [1, 3, 5, 7, 9])
        try stage.send(Peer.goAway(5))
        #expect(stage.pool.events.filter { $0 == "retire" || $0.hasPrefix("requeue") } == ["retire", "requeue 2"])
        #expect(stage.pool.waiting == [3, 4] && stage.streams.count == 5)
        try stage.answer(3)
        #expect(!stage.pool.events.contains { $0.hasPrefix("end") })
        try stage.answer(5)
        #expect(stage.pool.events.last == "end \(ConnectionEnd.drained.text)")
        #expect(stage.outcomes.accepted == 3)
    }

    @Test func `a connection that is asked to end takes nothing more and ends with its last answer`() throws {
        let stage = try HandlerStage.accepting()
        try stage.submit([try Make.push(1)])
        try stage.drain()
        try stage.submit([try Make.push(2)])
        #expect(stage.streams == [1, 3] && stage.pool.waiting == [2])
        try stage.answer(3)
        #expect(stage.pool.events.last == "end \(ConnectionEnd.drained.text)")
    }

    @Test func `what is open when the connection is lost ends once, without an answer`() throws {
        let stage = try HandlerStage.accepting()
        try stage.submit(try (1...3).map { try Make.push($0) })
        // A frame that no peer may send.
        try stage.send(Peer.frame(5, 2, [0, 0, 0, 2]))
        #expect(stage.outcomes.failureCodes == [.unknownFate, .unknownFate, .unknownFate])
        #expect(stage.outcomes.areCompleteOnce && stage.pool.waiting.isEmpty)
        #expect(stage.pool.events.filter { $0.hasPrefix("end") }.count == 1)
    }
}
