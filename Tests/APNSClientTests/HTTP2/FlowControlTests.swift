import APNSModel
import Testing

@testable import APNSClient

@Suite struct FlowControlTests {
    private func sentBytes(_ peer: Peer, _ streamID: UInt32) -> [UInt8] {
        peer.frames(0).filter { $0.streamID == streamID }.flatMap(\.payload)
    }

    @Test func `an empty connection window lets nothing leave, and an update lets the body go on`() throws {
        var peer = try Peer.accepting()
        var number = 0
        while peer.capacity > 0 {
            number += 1
            peer.open(try Make.push(number, fill: 3_000))
        }
        #expect(peer.frames(0).reduce(0) { $0 + $1.payload.count } == 65_535)
        let last = try #require(peer.frames(0).last)
        #expect(last.flags == 0)
        peer.send(Peer.windowUpdate(0, 4_000))
        #expect(try sentBytes(peer, last.streamID) == Make.push(number, fill: 3_000).request.payload)
        #expect(peer.frames(0).last?.flags == 1)
        #expect(peer.capacity > 0)
    }

    @Test func `a body waits for its stream's window`() throws {
        var peer = try Peer.accepting(settings: [(4, 100)])
        let push = try Make.push(1, fill: 300)
        peer.open(push)
        #expect(sentBytes(peer, 1).count == 100)
        peer.send(Peer.windowUpdate(1, 50))
        #expect(sentBytes(peer, 1).count == 150)
        peer.send(Peer.settings([(4, 200)]))
        #expect(sentBytes(peer, 1).count == 250)
        peer.send(Peer.settings([(4, 0)]))
        peer.send(Peer.windowUpdate(1, 150))
        #expect(sentBytes(peer, 1).count == 250)
        peer.send(Peer.windowUpdate(1, 10_000))
        #expect(sentBytes(peer, 1) == push.request.payload)
    }

    @Test func `windows may be opened byte by byte, as long as each lets something leave`() throws {
        var peer = try Peer.accepting(settings: [(4, 0)])
        for number in 1...3 {
            let push = try Make.push(number, fill: 1_500)
            peer.open(push)
            let id = UInt32(number * 2 - 1)
            for _ in push.request.payload { peer.send(Peer.windowUpdate(id, 1)) }
            #expect(sentBytes(peer, id) == push.request.payload)
            peer.answer(id, status: 200)
        }
        #expect(peer.machine.phase == .open)
    }

    @Test func `without a window only the headers leave`() throws {
        var peer = try Peer.accepting(settings: [(4, 0)])
        peer.open(try Make.push())
        #expect(peer.frames(1).count == 1 && peer.frames(0).isEmpty)
        peer.answer(1, status: 413, body: #"{"reason":"PayloadTooLarge"}"#)
        #expect(peer.settled.count == 1)
        #expect(peer.frames(3).map(\.payload) == [Peer.number(8)])
        #expect(peer.machine.openStreams == 0)
    }

    @Test func `our window is opened again before it is used up`() throws {
        var peer = try Peer.accepting()
        peer.open(try Make.push())
        peer.answer(1, status: 200)
        for _ in 0..<40 { peer.send(Peer.frame(0, 1, Array(repeating: 0, count: 16_384))) }
        let increments = peer.frames(8).dropFirst().map { $0.payload.reduce(0) { $0 << 8 | Int($1) } }
        #expect(increments.count == 1)
        #expect(increments.allSatisfy { $0 > 1 << 19 })
        #expect(peer.machine.phase == .open)
    }

    @Test func `a window beyond 2^31 - 1 is an error of its stream, or of the connection`() throws {
        var peer = try Peer.accepting()
        peer.open(try Make.push())
        peer.send(Peer.windowUpdate(1, 0x7FFF_FFFF))
        #expect(peer.frames(3).map(\.payload) == [Peer.number(3)])
        #expect(peer.machine.phase == .open)
        peer.send(Peer.windowUpdate(0, 0x7FFF_FFFF))
        #expect(peer.violation == .flowControl)
    }

    @Test func `an increment of 0 on a stream ends the stream`() throws {
        var peer = try Peer.accepting()
        peer.open(try Make.push())
        peer.send(Peer.windowUpdate(1, 0))
        #expect(peer.frames(3).map(\.payload) == [Peer.number(1)])
        #expect(peer.machine.phase == .open)
    }

    @Test func `padding uses up our window as well`() throws {
        var peer = try Peer()
        peer.open(try Make.push())
        peer.send(peer.block([(":status", "200")], 1, endStream: false))
        peer.send(
            Peer.frame(0, flags: 8, 1, [200] + [UInt8](repeating: 7, count: 10) + [UInt8](repeating: 0, count: 200)))
        #expect(peer.machine.receiveWindow == ConnectionLimits.connectionWindow - 211)
    }
}
