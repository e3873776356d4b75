import APNSModel
import Testing

@testable import APNSClient

/// Stream ids are finite (RFC 9113 section 5.1.1), so the connection is replaced before they run out.
@Suite struct StreamIDTests {
    /// Returns a peer with this many streams left. A ring for 100 streams has 256 places, and one turn of it stays
    /// unused.
    private func peer(streamsLeft: Int) throws -> Peer {
        var limits = ConnectionLimits()
        limits.concurrentStreams = 100
        limits.firstStreamID = 0x7FFF_FFFF - 512 - UInt32(streamsLeft - 1) * 2
        return try Peer.accepting(limits: limits)
    }

    @Test(arguments: [1, 2, 7])
    func `of a batch as many are opened as ids are left, which is what is said, and the connection retires`(
        left: Int
    ) throws {
        var peer = try peer(streamsLeft: left)
        let attempts = try (1...10).map { Attempt(try Make.push($0)) }
        #expect(peer.machine.open(attempts) == left)
        peer.tick(0)
        #expect(peer.frames(1).count == left && peer.frames(0).count == left)
        #expect(peer.machine.openStreams == left && peer.machine.phase == .draining)
        #expect(peer.machine.open(attempts) == 0)
        for stream in peer.frames(1).map(\.streamID) { peer.answer(stream, status: 200) }
        #expect(peer.settled.map { $0.attempt.id.low } == (1...UInt64(left)).map { $0 })
        #expect(peer.machine.phase == .closed(.drained))
    }

    @Test func `before the peer's SETTINGS, and after the end, none is opened`() throws {
        let attempts = [Attempt(try Make.push(1)), Attempt(try Make.push(2))]
        var early = try Peer(settings: nil)
        #expect(early.machine.open(attempts) == 0)
        var late = try Peer.accepting()
        late.close(.stopped)
        #expect(late.machine.open(attempts) == 0)
        late.tick(0)
        #expect(late.frames(1).isEmpty && late.settled.isEmpty)
    }
}
