import APNSModel
import Testing

@testable import APNSClient

// Deadlines, silence and PING.
extension ConnectionMachineTests {
    @Test func `a push past its deadline is cancelled and its fate unknown`() throws {
        var peer = try Peer.accepting()
        peer.open(try Make.push(1, answerBy: Make.time(5)))
        peer.open(try Make.push(2, answerBy: Make.time(9)))
        peer.tick(5)
        guard case .unknown = peer.outcomes.first else { throw Make.Missing() }
        #expect(peer.frames(3) == [Peer.Frame(type: 3, flags: 0, streamID: 1, payload: Peer.number(8))])
        #expect(peer.settled.count == 1 && peer.machine.openStreams == 1)
        peer.answer(1, status: 200)
        peer.answer(3, status: 200)
        #expect(peer.settled.count == 2)
    }

    @Test func `each push has its own deadline, also after another's is over`() throws {
        var peer = try Peer.accepting()
        for (number, seconds) in [(1, 9.0), (2, 5), (3, 12)] {
            peer.open(try Make.push(number, answerBy: Make.time(seconds)))
        }
        var settled: [Int] = []
        for _ in 1...13 {
            peer.tick(1)
            settled.append(peer.settled.count)
        }
        #expect(settled == [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 3, 3])
    }

    @Test func `what is answered and not ended by the peer is no silence`() throws {
        var limits = ConnectionLimits()
        limits.consecutiveTimeouts = 2
        var peer = try Peer.accepting(limits: limits)
        for number in 1...4 { peer.open(try Make.push(number, answerBy: Make.time(5))) }
        for number in 0..<4 { peer.send(peer.block([(":status", "200")], UInt32(number * 2 + 1), endStream: false)) }
        peer.tick(6)
        #expect(peer.settled.count == 4 && peer.machine.openStreams == 0)
        #expect(peer.machine.phase == .open)
        // The unanswered ones time out.
        for number in 5...6 { peer.open(try Make.push(number, answerBy: Make.time(8))) }
        peer.tick(3)
        #expect(peer.machine.phase != .open)
    }

    @Test func `a refusal that GOAWAY cuts off is one all the same`() throws {
        var peer = try Peer()
        peer.open(try Make.push())
        peer.send(peer.block([(":status", "410")], 1, endStream: false))
        peer.send(Peer.goAway(0))
        #expect(answer(peer) == PushAnswer(status: 410))
    }

    @Test func `a deadline in the middle of a refusal leaves its status`() throws {
        var peer = try Peer()
        peer.open(try Make.push(1, answerBy: Make.time(5)))
        peer.send(peer.block([(":status", "404")], 1, endStream: false))
        peer.tick(5)
        #expect(answer(peer) == PushAnswer(status: 404))
    }

    @Test(arguments: [400, 403])
    func `a refusal whose reason was cut off does not say whose fault it is`(status: Int) throws {
        for ending in [Peer.reset(1, 2), Peer.goAway(0), []] {
            var peer = try Peer()
            peer.open(try Make.push(1, answerBy: Make.time(5)))
            peer.send(peer.block([(":status", "\(status)")], 1, endStream: false))
            peer.send(Peer.frame(0, 1, Array(#"{"reason":"Idle"#.utf8)))
            if ending.isEmpty { peer.tick(5) } else { peer.send(ending) }
            guard case .refused = peer.outcomes.first else { throw Make.Missing() }
            #expect(peer.settled.count == 1)
        }
        // Whole answers, one of them without a body.
        var peer = try Peer()
        peer.open(try Make.push(1))
        peer.answer(1, status: status)
        #expect(answer(peer)?.status == status)
    }

    @Test func `silence is answered with a PING, and silence after it ends the connection`() throws {
        var peer = try Peer()
        peer.open(try Make.push())
        peer.tick(14.9)
        #expect(peer.frames(6).isEmpty)
        peer.tick(0.1)
        let ping = try #require(peer.frames(6).first)
        peer.send(Peer.frame(6, flags: 1, 0, ping.payload))
        peer.tick(14.9)
        #expect(peer.frames(6).count == 1)
        peer.tick(0.2)
        #expect(peer.frames(6).count == 2)
        peer.tick(10)
        #expect(peer.machine.phase == .closed(.keepAliveTimedOut))
        #expect(peer.settled.count == 1)
    }

    @Test func `an idle connection is asked after a minute only`() throws {
        var peer = try Peer()
        peer.tick(59)
        #expect(peer.frames(6).isEmpty)
        peer.tick(1)
        #expect(peer.frames(6).count == 1)
    }

    @Test func `a peer's PING is answered with its data`() throws {
        var peer = try Peer()
        peer.send(Peer.frame(6, 0, [1, 2, 3, 4, 5, 6, 7, 8]))
        #expect(peer.frames(6) == [Peer.Frame(type: 6, flags: 1, streamID: 0, payload: [1, 2, 3, 4, 5, 6, 7, 8])])
    }

    @Test func `a connection that answers PING but no push is given up`() throws {
        var limits = ConnectionLimits()
        limits.consecutiveTimeouts = 3
        var peer = try Peer.accepting(limits: limits)
        for number in 1...3 { peer.open(try Make.push(number, answerBy: Make.time(5))) }
        peer.tick(5)
        #expect(peer.machine.phase == .closed(.drained))
    }
}
