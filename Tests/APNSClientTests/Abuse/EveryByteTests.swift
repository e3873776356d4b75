import APNSModel
import Testing

@testable import APNSClient

/// A whole conversation, cut after each of its bytes.
@Suite struct EveryByteTests {
    private static let pushes = 6

    /// The bytes of a peer: SETTINGS, answers of every form, PING, WINDOW_UPDATE and GOAWAY.
    private func conversation(_ peer: inout Peer) -> [UInt8] {
        var bytes = Peer.settings([(3, 100), (4, 70_000)])
        bytes += Peer.frame(6, 0, [1, 2, 3, 4, 5, 6, 7, 8])
        bytes += peer.block([(":status", "200"), ("apns-id", PushID(high: 1, low: 1).description)], 1, endStream: true)
        bytes += Peer.windowUpdate(0, 1_000) + Peer.windowUpdate(3, 10)
        bytes += peer.block([(":status", "410"), ("content-type", "application/json")], 3, endStream: false)
        bytes += peer.block([(":status", "200")], 5, endStream: false)
        bytes += Peer.frame(0, flags: 9, 3, [4] + Array(#"{"reason":"Unregistered"}"#.utf8) + [0, 0, 0, 0])
        bytes += Peer.frame(0, flags: 1, 5)
        let block = peer.encode([(":status", "200"), ("date", "Sun, 06 Nov 1994 08:49:37 GMT")])
        bytes += Peer.frame(1, flags: 1, 7, Array(block.prefix(3))) + Peer.frame(9, flags: 4, 7, Array(block[3...]))
        bytes += Peer.reset(9, 7)
        bytes += Peer.settings([(3, 1)]) + Peer.frame(4, flags: 1)
        bytes += Peer.goAway(9, 0, debug: #"{"reason":"Shutdown"}"#)
        return bytes
    }

    private func play(cutAt cut: Int, pieces: Int) throws -> Peer {
        var peer = try Peer.accepting(settings: [(3, 1_000)])
        for number in 1...Self.pushes { peer.open(try Make.push(number, fill: 200)) }
        let bytes = conversation(&peer).prefix(cut)
        for start in stride(from: 0, to: bytes.count, by: pieces) {
            peer.send(Array(bytes[start..<min(start + pieces, bytes.count)]))
        }
        peer.close(.closedByPeer)
        return peer
    }

    @Test(arguments: [1, 3, 64, 100_000])
    func `a peer that closes behind any byte leaves one typed outcome a push`(pieces: Int) throws {
        var scratch = try Peer.accepting()
        let length = conversation(&scratch).count
        #expect(length > 250)
        var answeredBefore = 0
        for cut in 0...length {
            let peer = try play(cutAt: cut, pieces: pieces)
            #expect(peer.settled.count == Self.pushes, "cut at \(cut)")
            #expect(Set(peer.settled.map(\.streamID)).count == Self.pushes, "cut at \(cut)")
            #expect(peer.machine.openStreams == 0 && peer.violation == nil, "cut at \(cut)")
            let answered = peer.outcomes.count { if case .answered = $0 { true } else { false } }
            #expect(answered >= answeredBefore, "what was answered stays so: cut at \(cut)")
            answeredBefore = answered
        }
        #expect(answeredBefore == 4, "200, 410, 200 and 200; the fifth is refused, the sixth above GOAWAY's last")
    }

    @Test func `every single byte that is wrong leaves one outcome a push`() throws {
        var scratch = try Peer.accepting()
        let length = conversation(&scratch).count
        for place in 0..<length {
            for change: UInt8 in [1, 0x80, 0xFF] {
                var peer = try Peer.accepting(settings: [(3, 1_000)])
                for number in 1...Self.pushes { peer.open(try Make.push(number, fill: 200)) }
                var bytes = conversation(&peer)
                bytes[place] ^= change
                peer.send(bytes)
                peer.tick(2_000)
                peer.close(.closedByPeer)
                #expect(peer.settled.count == Self.pushes, "byte \(place) changed by \(change)")
                #expect(peer.machine.openStreams == 0, "byte \(place) changed by \(change)")
            }
        }
    }
}
