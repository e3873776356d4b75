import APNSModel
import Testing

@testable import APNSClient

@Suite struct ConnectionMachineTests {
    func answer(_ peer: Peer, _ index: Int = 0) -> PushAnswer? {
        guard peer.outcomes.indices.contains(index), case .answered(let answer) = peer.outcomes[index] else {
            return nil
        }
        return answer
    }

    // MARK: Beginning

    @Test func `the preface announces no table, no push and a large connection window`() throws {
        let peer = try Peer(settings: nil)
        #expect(peer.seen.map(\.type) == [4, 8])
        #expect(
            peer.seen[0].payload == [0, 1, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 4, 0, 0, 255, 255, 0, 6, 0, 0, 64, 0])
        #expect(peer.seen[1].streamID == 0)
    }

    @Test func `nothing leaves before the peer's SETTINGS, which are acknowledged`() throws {
        var peer = try Peer(settings: nil)
        #expect(peer.capacity == 0)
        let opened = peer.open(try Make.push())
        #expect(!opened)
        peer.send(Peer.settings([(3, 100)]))
        #expect(peer.machine.phase == .open)
        #expect(peer.frames(4).last?.flags == 1)
        #expect(peer.capacity == 1)
    }

    @Test func `SETTINGS that never come end the connection`() throws {
        var peer = try Peer(settings: nil)
        peer.tick(9.9)
        #expect(!peer.machine.isClosed)
        peer.tick(0.2)
        #expect(peer.machine.isClosed)
    }

    @Test func `our acknowledged SETTINGS ask for nothing`() throws {
        var peer = try Peer()
        peer.send(Peer.frame(4, flags: 1))
        #expect(peer.machine.phase == .open)
    }

    // MARK: Answers

    @Test func `a push is one HEADERS and one DATA frame, and 200 settles it`() throws {
        var peer = try Peer()
        let push = try Make.push(7)
        let opened = peer.open(push)
        #expect(opened)
        let sent = peer.seen.suffix(2)
        #expect(sent.map(\.type) == [1, 0] && sent.map(\.flags) == [4, 1] && sent.map(\.streamID) == [1, 1])
        #expect(sent.last?.payload == push.request.payload)
        let date = ("date", "Sun, 06 Nov 1994 08:49:37 GMT")
        peer.answer(1, status: 200, headers: [("apns-id", push.request.id.description), ("apns-unique-id", "u"), date])
        let date1994 = UnixTime(seconds: 784_111_777)
        #expect(answer(peer) == PushAnswer(status: 200, id: push.request.id, uniqueID: "u", date: date1994))
        #expect(peer.machine.openStreams == 0)
    }

    @Test(
        arguments: [
            (
                410, #"{"reason":"Unregistered","timestamp":1763700000123}"#, APNSReason.Known.unregistered,
                1_763_700_000_123
            ),
            (400, #"{"reason":"BadDeviceToken"}"#, .badDeviceToken, nil),
            (429, "", nil, nil), (500, "<html>", nil, nil), (400, #"{"reason":7}"#, nil, nil), (403, "[]", nil, nil),
        ] as [(Int, String, APNSReason.Known?, Int64?)])
    func `a refusal is settled from its body, or from its status`(
        status: Int, body: String, reason: APNSReason.Known?, since: Int64?
    ) throws {
        var peer = try Peer()
        peer.open(try Make.push())
        peer.answer(1, status: status, body: body)
        #expect(
            answer(peer)
                == PushAnswer(
                    status: status, reason: reason.map(APNSReason.known),
                    inactiveSince: since.map(UnixTime.init(milliseconds:))))
        #expect(peer.machine.openStreams == 0)
    }

    @Test func `a 200 without END_STREAM settles at once and keeps its place until the stream ends`() throws {
        var peer = try Peer.accepting(settings: [(3, 1)])
        peer.open(try Make.push())
        peer.send(peer.block([(":status", "200")], 1, endStream: false))
        #expect(answer(peer)?.status == 200)
        #expect(peer.capacity == 0)
        peer.send(Peer.frame(0, flags: 1, 1))
        #expect(peer.capacity == 1)
        #expect(peer.settled.count == 1)
    }

    @Test func `an endless body is cut off`() throws {
        var peer = try Peer()
        peer.open(try Make.push())
        peer.send(peer.block([(":status", "400")], 1, endStream: false))
        peer.send(Peer.frame(0, 1, Array(repeating: 32, count: 4_000)))
        #expect(peer.settled.isEmpty)
        peer.send(Peer.frame(0, 1, Array(repeating: 32, count: 4_000)))
        #expect(answer(peer) == PushAnswer(status: 400))
        #expect(peer.frames(3).map(\.streamID) == [1])
    }

    @Test func `interim answers and trailers are taken in their places`() throws {
        var peer = try Peer()
        peer.open(try Make.push())
        peer.send(peer.block([(":status", "103")], 1, endStream: false))
        peer.send(peer.block([(":status", "400")], 1, endStream: false))
        peer.send(Peer.frame(0, 1, Array(#"{"reason":"BadTopic"}"#.utf8)))
        peer.send(peer.block([("x", "y")], 1, endStream: true))
        #expect(answer(peer)?.reason == .known(.badTopic))
    }

    @Test(arguments: [[], [(":status", "abc")], [(":status", "200"), (":status", "200")], [(":status", "099")]])
    func `an answer without a usable status is an error of its stream alone`(fields: [(String, String)]) throws {
        var peer = try Peer()
        peer.open(try Make.push())
        peer.send(peer.block([("x", "y")] + fields, 1, endStream: true))
        #expect(peer.frames(3).map(\.payload) == [Peer.number(1)])
        guard case .unknown = peer.outcomes.first else { throw Make.Missing() }
        #expect(peer.machine.phase == .open)
    }

    @Test func `headers may be padded, prioritised and continued`() throws {
        var peer = try Peer()
        peer.open(try Make.push())
        let block = peer.encode([(":status", "200"), ("apns-id", PushID(high: 1, low: 2).description)])
        let first = [3, 0, 0, 0, 0, 9] + Array(block.prefix(5)) + [0, 0, 0]
        peer.send(Peer.frame(1, flags: 0x1 | 0x8 | 0x20, 1, first))
        peer.send(Peer.frame(9, 1, Array(block[5..<9])))
        #expect(peer.settled.isEmpty)
        peer.send(Peer.frame(9, flags: 4, 1, Array(block[9...])))
        #expect(answer(peer) == PushAnswer(status: 200, id: PushID(high: 1, low: 2)))
    }

    @Test func `bytes may be cut anywhere`() throws {
        var peer = try Peer()
        for number in 1...3 {
            peer.machine.tokenWasAccepted = true
            peer.open(try Make.push(number))
        }
        var bytes = peer.block([(":status", "200")], 1, endStream: true)
        bytes += peer.block([(":status", "410")], 3, endStream: false)
        bytes += Peer.frame(0, flags: 9, 3, [2] + Array(#"{"reason":"Unregistered"}"#.utf8) + [0, 0])
        bytes += peer.block([(":status", "200")], 5, endStream: true)
        for byte in bytes { peer.send([byte]) }
        #expect(peer.outcomes.count == 3)
        #expect(answer(peer, 1)?.reason == .known(.unregistered))
    }

    // MARK: Streams

    @Test func `the stream limit follows the peer from 1 to 1000 and back`() throws {
        var peer = try Peer(settings: [(3, 1_000)])
        #expect(peer.capacity == 1)
        peer.open(try Make.push(1))
        #expect(peer.capacity == 0)
        peer.answer(1, status: 200)
        #expect(peer.capacity == 1_000)
        peer.open(try Make.push(2))
        peer.open(try Make.push(3))
        peer.send(Peer.settings([(3, 1)]))
        #expect(peer.capacity == 0)
        peer.answer(3, status: 200)
        #expect(peer.capacity == 0)
        peer.answer(5, status: 200)
        #expect(peer.capacity == 1)
        peer.send(Peer.settings([(3, 0)]))
        #expect(peer.capacity == 0)
        peer.send(Peer.settings([(3, 70_000)]))
        #expect(peer.capacity == 1_000)
    }

    @Test(arguments: [(200, 1_000), (410, 1_000), (400, 1_000), (403, 1), (503, 1)])
    func `only an answer to a valid token lifts the limit of one stream`(status: Int, capacity: Int) throws {
        var peer = try Peer()
        peer.open(try Make.push())
        peer.answer(1, status: status)
        #expect(peer.capacity == capacity)
    }

    @Test func `a stream that outlives a turn of the ring keeps its place`() throws {
        var limits = ConnectionLimits()
        limits.concurrentStreams = 4
        var peer = try Peer.accepting(limits: limits)
        let stuck = try Make.push(1)
        peer.open(stuck)
        for number in 2...100 {
            peer.open(try Make.push(number))
            let id = try #require(peer.frames(1).last).streamID
            peer.answer(id, status: 200)
        }
        #expect(peer.outcomes.count == 99)
        let ids = peer.frames(1).map(\.streamID)
        #expect(ids == ids.sorted() && Set(ids).count == 100)
        peer.answer(1, status: 410)
        #expect(answer(peer, 99)?.status == 410)
    }

    @Test(arguments: [(7, true), (8, false), (0, false), (2, false)])
    func `only REFUSED_STREAM says that a push was not processed`(code: UInt32, isSafe: Bool) throws {
        var peer = try Peer()
        peer.open(try Make.push())
        peer.send(Peer.reset(1, code))
        switch peer.outcomes.first {
        case .refused: #expect(isSafe)
        case .unknown: #expect(!isSafe)
        default: throw Make.Missing()
        }
        #expect(peer.machine.phase == .open)
    }

    @Test func `a reset in the middle of a refusal leaves its status`() throws {
        var peer = try Peer()
        peer.open(try Make.push())
        peer.send(peer.block([(":status", "410")], 1, endStream: false))
        peer.send(Peer.reset(1, 7))
        #expect(answer(peer) == PushAnswer(status: 410))
    }

    @Test func `frames that crossed on the wire are ignored`() throws {
        var peer = try Peer()
        peer.open(try Make.push())
        peer.answer(1, status: 200)
        peer.send(peer.block([(":status", "200")], 1, endStream: true))
        peer.send(Peer.frame(0, flags: 1, 1, [1, 2]))
        peer.send(Peer.reset(1, 8) + Peer.windowUpdate(1, 10))
        peer.send(Peer.frame(2, 1, [0, 0, 0, 0, 1]) + Peer.frame(0xA, 0, [1, 2, 3]) + Peer.settings([(99, 1)]))
        #expect(peer.machine.phase == .open)
        #expect(peer.settled.count == 1)
    }

    // MARK: Ending

    @Test func `GOAWAY refuses what is above, the rest goes on, then the connection closes`() throws {
        var peer = try Peer.accepting()
        for number in 1...3 { peer.open(try Make.push(number)) }
        peer.send(Peer.goAway(3, 0, debug: #"{"reason":"Shutdown"}"#))
        #expect(peer.machine.goAway == .init(lastStreamID: 3, code: .noError, reason: .known(.shutdown)))
        #expect(peer.settled.map(\.streamID) == [5])
        guard case .refused = peer.outcomes.first else { throw Make.Missing() }
        #expect(peer.capacity == 0)
        let opened = peer.open(try Make.push(4))
        #expect(!opened)
        peer.answer(1, status: 200)
        #expect(peer.machine.phase == .draining)
        peer.answer(3, status: 410)
        #expect(peer.machine.phase == .closed(.drained))
        #expect(peer.goAwayCode == .noError)
    }

    @Test(arguments: [UInt32(1), 2, 11, 255])
    func `L15: a GOAWAY with an error settles what is above its bound, and the rest by answer or deadline`(
        code: UInt32
    ) throws {
        var peer = try Peer.accepting()
        for number in 1...3 { peer.open(try Make.push(number, answerBy: Make.time(5))) }
        peer.send(Peer.goAway(3, code))
        guard case .refused = peer.outcomes.first else { throw Make.Missing() }
        peer.answer(1, status: 200)
        peer.tick(5)
        #expect(peer.settled.count == 3, "the one without an answer as well")
        #expect(peer.machine.phase != .open)
    }

    @Test func `a second GOAWAY may only lower the bound`() throws {
        var peer = try Peer.accepting()
        for number in 1...3 { peer.open(try Make.push(number)) }
        peer.send(Peer.goAway(0x7FFF_FFFF))
        #expect(peer.settled.isEmpty)
        peer.send(Peer.goAway(1))
        #expect(Set(peer.settled.map(\.streamID)) == [3, 5])
        peer.send(Peer.goAway(5))
        #expect(peer.machine.goAway?.lastStreamID == 1)
    }

    @Test func `a lost connection leaves fates unknown, but not those whose status came`() throws {
        var peer = try Peer.accepting()
        peer.open(try Make.push(1))
        peer.open(try Make.push(2))
        peer.send(peer.block([(":status", "410")], 3, endStream: false))
        peer.close(.closedByPeer)
        guard case .unknown = peer.outcomes.first else { throw Make.Missing() }
        #expect(answer(peer, 1)?.status == 410)
        peer.close(.stopped)
        #expect(peer.settled.count == 2)
    }

    @Test func `a pause opens no stream until it is over`() throws {
        var peer = try Peer.accepting()
        peer.machine.pause(until: Make.time(2))
        #expect(peer.capacity == 0)
        peer.tick(2)
        #expect(peer.capacity == 1_000)
    }
}
