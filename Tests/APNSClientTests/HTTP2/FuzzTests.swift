import APNSModel
import IsletBasics
import Testing

@testable import APNSClient

@Suite struct FuzzTests {
    /// Returns a frame that is valid, or almost valid.
    private func frame(_ peer: inout Peer, _ dice: inout SplitMix64) -> [UInt8] {
        let id = UInt32.random(in: 0...40, using: &dice)
        switch Int.random(in: 0..<14, using: &dice) {
        case 0, 1, 2:
            let status = [200, 200, 100, 400, 403, 410, 429, 500].randomElement(using: &dice) ?? 200
            return peer.block(
                [(":status", "\(status)"), ("apns-id", "x")], id | 1, endStream: Bool.random(using: &dice))
        case 3: return Peer.frame(0, flags: UInt8.random(in: 0...1, using: &dice), id, bytes(100, &dice))
        case 4: return Peer.reset(id, UInt32.random(in: 0...14, using: &dice))
        case 5: return Peer.windowUpdate(id, UInt32.random(in: 0...70_000, using: &dice))
        case 6:
            return Peer.settings([(UInt16.random(in: 0...7, using: &dice), UInt32.random(in: 0...70_000, using: &dice))]
            )
        case 7: return Peer.frame(6, flags: UInt8.random(in: 0...1, using: &dice), 0, bytes(8, &dice))
        case 8: return Peer.goAway(id | 1, UInt32.random(in: 0...3, using: &dice), debug: #"{"reason":"Shutdown"}"#)
        case 9: return peer.block([(":status", "200")], id | 1, endStream: true, endHeaders: false)
        case 10: return Peer.frame(9, flags: UInt8.random(in: 0...7, using: &dice), id, bytes(20, &dice))
        case 11:
            let size = Int.random(in: 0...50, using: &dice)
            return Peer.frame(UInt8.random(in: 0...12, using: &dice), flags: dice.byte, id, bytes(size, &dice))
        case 12: return Peer.frame(1, flags: dice.byte, id | 1, bytes(30, &dice))
        default: return bytes(Int.random(in: 1...30, using: &dice), &dice)
        }
    }

    private func bytes(_ count: Int, _ dice: inout SplitMix64) -> [UInt8] {
        (0..<count).map { _ in dice.byte }
    }

    @Test(arguments: 0..<40)
    func `whatever a peer sends, every push is settled exactly once`(block: UInt64) throws {
        for seed in block * 50..<(block + 1) * 50 {
            var dice = SplitMix64(seed: seed)
            var peer = Bool.random(using: &dice) ? try Peer.accepting() : try Peer()
            var opened = 0
            for _ in 0..<60 {
                if peer.capacity > 0, Bool.random(using: &dice) {
                    opened += 1
                    let deadline = Make.time(Double.random(in: 0..<100, using: &dice))
                    peer.open(try Make.push(opened, fill: Int.random(in: 1...3_000, using: &dice), answerBy: deadline))
                }
                var bytes = frame(&peer, &dice)
                if Int.random(in: 0..<10, using: &dice) == 0, !bytes.isEmpty {
                    bytes[Int.random(in: 0..<bytes.count, using: &dice)] = dice.byte
                }
                let cut = Int.random(in: 0...bytes.count, using: &dice)
                peer.send(Array(bytes[..<cut]))
                if Bool.random(using: &dice) { peer.tick(Double.random(in: 0..<3, using: &dice)) }
                peer.send(Array(bytes[cut...]))
                #expect(peer.machine.openStreams <= 1_000, "seed \(seed)")
            }
            peer.close(.closedByPeer)
            #expect(peer.settled.count == opened, "seed \(seed)")
            #expect(Set(peer.settled.map(\.streamID)).count == opened, "seed \(seed)")
            #expect(peer.machine.openStreams == 0, "seed \(seed)")
        }
    }

    /// A peer that keeps the protocol and whose bytes are cut at random. Nothing may be lost or invented.
    @Test(arguments: 0..<20)
    func `a correct peer is understood however its bytes are cut`(seed: UInt64) throws {
        var dice = SplitMix64(seed: seed)
        var peer = try Peer.accepting()
        var stream: [UInt8] = []
        var expected: [Int] = []
        for number in 1...60 {
            peer.open(try Make.push(number))
            let status = [200, 400, 410, 503].randomElement(using: &dice) ?? 200
            expected.append(status)
            let id = UInt32(number * 2 - 1)
            stream += peer.block([(":status", "\(status)")], id, endStream: status == 200)
            if status != 200 {
                stream += Peer.frame(0, flags: 1, id, Array(#"{"reason":"BadTopic"}"#.utf8))
            }
            if Bool.random(using: &dice) { stream += Peer.windowUpdate(0, 1_000) }
        }
        var rest = stream[...]
        while !rest.isEmpty {
            let size = Int.random(in: 1...200, using: &dice)
            peer.send(Array(rest.prefix(size)))
            rest = rest.dropFirst(size)
        }
        let statuses = peer.outcomes.map { outcome -> Int in
            if case .answered(let answer) = outcome { answer.status } else { 0 }
        }
        #expect(statuses == expected, "seed \(seed)")
        #expect(peer.machine.phase == .open)
    }
}

extension SplitMix64 {
    fileprivate var byte: UInt8 {
        mutating get { UInt8.random(in: 0...255, using: &self) }
    }
}
