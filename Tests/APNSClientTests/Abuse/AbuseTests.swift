import APNSModel
import NIOCore
import NIOHPACK
import Testing

@testable import APNSClient

/// Peers that make a connection spend far more than they do (RFC 9113 section 10.5, RFC 7541 section 7.3). Each is cut
/// off within bounds, and every push has an outcome.
@Suite struct AbuseTests {
    @Test func `entries of SETTINGS cost, not only frames`() throws {
        var peer = try Peer.accepting()
        peer.open(try Make.push())
        peer.send(Peer.settings((0..<900).map { (4, UInt32($0)) }))
        #expect(!peer.machine.isClosed)
        peer.send(Peer.settings((0..<900).map { (4, UInt32($0)) }))
        #expect(peer.violation == .flood)
        #expect(peer.settled.count == 1)
    }

    @Test func `of several window sizes in one SETTINGS the last one counts`() throws {
        var peer = try Peer.accepting(settings: [(4, 0)])
        peer.open(try Make.push(1, fill: 300))
        peer.send(Peer.settings([(4, 100_000), (4, 5), (4, 7)]))
        #expect(peer.frames(0).map(\.payload.count) == [7])
    }

    @Test func `a dynamic table is kept within its size, whatever is put into it`() throws {
        var peer = try Peer.accepting()
        for number in 1...200 {
            peer.open(try Make.push(number))
            // Each block adds an entry of almost the table's size, which evicts the entry before it.
            let filler = String(repeating: "z", count: 4_000 - number)
            peer.answer(UInt32(number * 2 - 1), status: 200, headers: [("x-filler", filler)])
        }
        #expect(peer.settled.count == 200 && peer.machine.phase == .open)
        #expect(peer.machine.reader.decoder.maxDynamicTableLength <= HeaderTable.maximumSize)
    }

    @Test func `a block that repeats a large entry is a bomb`() throws {
        var peer = try Peer.accepting()
        peer.open(try Make.push(1))
        peer.open(try Make.push(2))
        // The first answer adds an entry of 4,000 bytes to the table.
        let name = Array("x-bomb".utf8)
        let value = [UInt8](repeating: 0x61, count: 4_000)
        let entry: [UInt8] = [0x40, UInt8(name.count)] + name + [0x7F, 0xA1, 0x1E] + value
        peer.send(Peer.frame(1, flags: 5, 1, [0x88] + entry))
        #expect(peer.settled.count == 1 && peer.machine.phase == .open)
        // A thousand references to it take 1,000 bytes on the wire and 4 MB in memory.
        peer.send(Peer.frame(1, flags: 5, 3, [0x88] + [UInt8](repeating: 0xBE, count: 1_000)))
        #expect(peer.violation == .headersTooLarge)
        #expect(peer.settled.count == 2)
    }

    @Test func `table size updates without end are an error`() throws {
        var peer = try Peer.accepting()
        peer.open(try Make.push())
        peer.send(Peer.frame(1, flags: 5, 1, [UInt8](repeating: 0x20, count: 8_000) + [0x88]))
        #expect(peer.settled.count == 1)
        #expect(peer.violation == .headerCompression)
    }

    @Test func `integers of HPACK have an end`() throws {
        var peer = try Peer.accepting()
        peer.open(try Make.push())
        peer.send(Peer.frame(1, flags: 5, 1, [0xFF] + [UInt8](repeating: 0xFF, count: 200) + [0x01]))
        #expect(peer.violation == .headerCompression)
        #expect(peer.settled.count == 1)
    }

    @Test func `a Huffman text of ones is an error, not a crash`() throws {
        var peer = try Peer.accepting()
        peer.open(try Make.push())
        peer.send(Peer.frame(1, flags: 5, 1, [0x00, 0x01, 0x78, 0x84, 0xFF, 0xFF, 0xFF, 0xFF]))
        #expect(peer.violation == .headerCompression)
    }

    @Test func `CONTINUATION frames, empty or full, end within their bounds`() throws {
        for fragment in [[], [UInt8](repeating: 0x88, count: 16_384)] {
            var peer = try Peer.accepting()
            peer.open(try Make.push())
            peer.send(Peer.frame(1, flags: 1, 1, [0x88]))
            var frames = 0
            while !peer.machine.isClosed, frames < 1_000 {
                peer.send(Peer.frame(9, 1, fragment))
                frames += 1
            }
            #expect(peer.violation == .headersTooLarge)
            #expect(frames <= ConnectionLimits.continuations + 1)
            #expect(peer.settled.count == 1)
        }
    }

    @Test func `a storm of RST_STREAM costs each push its own outcome, and no other`() throws {
        var peer = try Peer.accepting()
        for number in 1...1_000 { peer.open(try Make.push(number)) }
        let ids: [UInt32] = (0..<500).map { UInt32($0 * 4 + 1) }
        let storm: [UInt8] = ids.flatMap { Peer.reset($0, 2) }
        peer.send(storm)
        #expect(peer.machine.phase == .open)
        #expect(peer.settled.count == 500 && peer.machine.openStreams == 500)
        // Once more: the streams are closed by now, so each frame has no effect.
        peer.send(storm + storm)
        for _ in 0..<20 { peer.send(storm) }
        #expect(peer.violation == .flood)
        #expect(peer.settled.count == 1_000)
    }

    @Test func `answers in pieces of one byte, padded and interleaved, are all understood`() throws {
        var peer = try Peer.accepting()
        let body = Array(#"{"reason":"BadDeviceToken"}"#.utf8)
        for number in 1...50 { peer.open(try Make.push(number)) }
        let ids = (0..<50).map { UInt32($0 * 2 + 1) }
        for id in ids { peer.send(peer.block([(":status", "400")], id, endStream: false)) }
        for (index, byte) in body.enumerated() {
            for id in ids {
                let flags: UInt8 = index == body.count - 1 ? 9 : 8
                peer.send(Peer.frame(0, flags: flags, id, [7, byte] + [UInt8](repeating: 0, count: 7)))
            }
        }
        #expect(peer.settled.count == 50 && peer.machine.openStreams == 0)
        for outcome in peer.outcomes {
            guard case .answered(let answer) = outcome else { throw Make.Missing() }
            #expect(answer.reason == .known(.badDeviceToken))
        }
    }

    @Test func `a frame of the largest size is taken, one byte more is not`() throws {
        var peer = try Peer.accepting()
        peer.open(try Make.push(1))
        peer.open(try Make.push(2))
        peer.send(Peer.frame(0xBB, 0, [UInt8](repeating: 0, count: 16_384)))
        peer.send(Peer.frame(0, flags: 8, 1, [255] + [UInt8](repeating: 0, count: 255)))
        #expect(peer.machine.phase == .open)
        peer.send([0, 64, 1, 0xBB, 0, 0, 0, 0, 0])
        #expect(peer.violation == .frameSize(type: 0xBB))
        #expect(peer.settled.count == 2)
    }

    @Test func `a body beyond our window is an error of the connection`() throws {
        var peer = try Peer.accepting()
        peer.open(try Make.push())
        peer.machine.receiveWindow = 100
        peer.send(Peer.frame(0, 1, [UInt8](repeating: 0, count: 101)))
        #expect(peer.violation == .flowControl)
    }

    @Test func `nothing that came in is kept after the end`() throws {
        var peer = try Peer.accepting()
        peer.open(try Make.push())
        peer.send(Array(Peer.frame(1, flags: 1, 1, [UInt8](repeating: 0x88, count: 10_000)).prefix(9_000)))
        #expect(peer.machine.input.readableBytes == 9_000)
        peer.close(.closedByPeer)
        #expect(peer.machine.input.readableBytes == 0 && peer.machine.headerBlock == nil)
        peer.send([UInt8](repeating: 0, count: 1_000))
        #expect(peer.machine.input.readableBytes == 0 && peer.settled.count == 1)
    }
}
