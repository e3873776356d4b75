import Testing

@testable import APNSClient

@Suite struct ProtocolViolationTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let bytes: [UInt8]
        let violation: ProtocolViolation
        let code: ErrorCode
    }

    @Test(arguments: [
        Case(
            testDescription: "a frame of 16,385 bytes", bytes: [0, 64, 1, 0, 0, 0, 0, 0, 1],
            violation: .frameSize(type: 0), code: .frameSizeError),
        Case(
            testDescription: "SETTINGS of 5 bytes", bytes: Peer.frame(4, 0, [0, 0, 0, 0, 0]),
            violation: .frameSize(type: 4), code: .frameSizeError),
        Case(
            testDescription: "SETTINGS/ACK with content", bytes: Peer.frame(4, flags: 1, 0, [0, 0, 0, 0, 0, 0]),
            violation: .frameSize(type: 4), code: .frameSizeError),
        Case(
            testDescription: "SETTINGS on a stream", bytes: Peer.frame(4, 1), violation: .wrongStream(type: 4),
            code: .protocolError),
        Case(
            testDescription: "ENABLE_PUSH of a server", bytes: Peer.settings([(2, 1)]), violation: .settingValue(id: 2),
            code: .protocolError),
        Case(
            testDescription: "a window size of 2^31", bytes: Peer.settings([(4, 0x8000_0000)]), violation: .flowControl,
            code: .flowControlError),
        Case(
            testDescription: "a frame size of 16,383", bytes: Peer.settings([(5, 16_383)]),
            violation: .settingValue(id: 5), code: .protocolError),
        Case(
            testDescription: "PING of 7 bytes", bytes: Peer.frame(6, 0, [1, 2, 3, 4, 5, 6, 7]),
            violation: .frameSize(type: 6), code: .frameSizeError),
        Case(
            testDescription: "PING on a stream", bytes: Peer.frame(6, 1, [1, 2, 3, 4, 5, 6, 7, 8]),
            violation: .wrongStream(type: 6), code: .protocolError),
        Case(
            testDescription: "GOAWAY of 7 bytes", bytes: Peer.frame(7, 0, [1, 2, 3, 4, 5, 6, 7]),
            violation: .frameSize(type: 7), code: .frameSizeError),
        Case(
            testDescription: "GOAWAY on a stream", bytes: Peer.frame(7, 1, [0, 0, 0, 0, 0, 0, 0, 0]),
            violation: .wrongStream(type: 7), code: .protocolError),
        Case(
            testDescription: "WINDOW_UPDATE of 0", bytes: Peer.windowUpdate(0, 0), violation: .windowIncrement,
            code: .protocolError),
        Case(
            testDescription: "WINDOW_UPDATE of 3 bytes", bytes: Peer.frame(8, 0, [0, 0, 1]),
            violation: .frameSize(type: 8), code: .frameSizeError),
        Case(
            testDescription: "WINDOW_UPDATE on an idle stream", bytes: Peer.windowUpdate(9, 1),
            violation: .idleStream(type: 8), code: .protocolError),
        Case(
            testDescription: "RST_STREAM on an idle stream", bytes: Peer.reset(9, 8), violation: .idleStream(type: 3),
            code: .protocolError),
        Case(
            testDescription: "RST_STREAM on stream 0", bytes: Peer.reset(0, 8), violation: .wrongStream(type: 3),
            code: .protocolError),
        Case(
            testDescription: "RST_STREAM of 3 bytes", bytes: Peer.frame(3, 1, [0, 0, 0]),
            violation: .frameSize(type: 3), code: .frameSizeError),
        Case(
            testDescription: "PRIORITY of 4 bytes", bytes: Peer.frame(2, 1, [0, 0, 0, 0]),
            violation: .frameSize(type: 2), code: .frameSizeError),
        Case(
            testDescription: "PRIORITY on stream 0", bytes: Peer.frame(2, 0, [0, 0, 0, 0, 0]),
            violation: .wrongStream(type: 2), code: .protocolError),
        Case(
            testDescription: "PUSH_PROMISE", bytes: Peer.frame(5, flags: 4, 1, [0, 0, 0, 2]), violation: .pushPromise,
            code: .protocolError),
        Case(
            testDescription: "HEADERS on stream 0", bytes: Peer.frame(1, flags: 5, 0, [0x88]),
            violation: .wrongStream(type: 1), code: .protocolError),
        Case(
            testDescription: "HEADERS on an even stream", bytes: Peer.frame(1, flags: 5, 2, [0x88]),
            violation: .idleStream(type: 1), code: .protocolError),
        Case(
            testDescription: "HEADERS on an idle stream", bytes: Peer.frame(1, flags: 5, 3, [0x88]),
            violation: .idleStream(type: 1), code: .protocolError),
        Case(
            testDescription: "HEADERS too short for a priority", bytes: Peer.frame(1, flags: 0x25, 1, [0, 0, 0, 0]),
            violation: .frameSize(type: 1), code: .frameSizeError),
        Case(
            testDescription: "padding longer than the frame", bytes: Peer.frame(1, flags: 0xD, 1, [3, 0x88, 0]),
            violation: .padding, code: .protocolError),
        Case(
            testDescription: "padded DATA without a length", bytes: Peer.frame(0, flags: 8, 1, []),
            violation: .frameSize(type: 0), code: .frameSizeError),
        Case(
            testDescription: "DATA on stream 0", bytes: Peer.frame(0, 0, [1]), violation: .wrongStream(type: 0),
            code: .protocolError),
        Case(
            testDescription: "DATA on an idle stream", bytes: Peer.frame(0, 5, [1]), violation: .idleStream(type: 0),
            code: .protocolError),
        Case(
            testDescription: "CONTINUATION of nothing", bytes: Peer.frame(9, flags: 4, 1, [0x88]),
            violation: .headerBlockInterrupted, code: .protocolError),
        Case(
            testDescription: "CONTINUATION of another stream",
            bytes: Peer.frame(1, flags: 1, 1, [0x88]) + Peer.frame(9, flags: 4, 3, []),
            violation: .headerBlockInterrupted, code: .protocolError),
        Case(
            testDescription: "PING within a header block",
            bytes: Peer.frame(1, flags: 1, 1, [0x88]) + Peer.frame(6, 0, [1, 2, 3, 4, 5, 6, 7, 8]),
            violation: .headerBlockInterrupted, code: .protocolError),
        Case(
            testDescription: "an index that does not exist", bytes: Peer.frame(1, flags: 5, 1, [0xFF, 0xFF, 0x7F]),
            violation: .headerCompression, code: .compressionError),
        Case(
            testDescription: "a table larger than ours",
            bytes: Peer.frame(1, flags: 5, 1, [0x3F, 0xFF, 0xFF, 0x7F, 0x88]),
            violation: .headerCompression, code: .compressionError),
        Case(
            testDescription: "nine CONTINUATION frames",
            bytes: Peer.frame(1, flags: 1, 1, []) + (0..<9).flatMap { _ in Peer.frame(9, 1, []) },
            violation: .headersTooLarge, code: .enhanceYourCalm),
        Case(
            testDescription: "a header block of 20,000 bytes",
            bytes: Peer.frame(1, flags: 1, 1, Array(repeating: 0x88, count: 10_000))
                + Peer.frame(9, 1, Array(repeating: 0x88, count: 10_000)),
            violation: .headersTooLarge, code: .enhanceYourCalm),
        Case(
            testDescription: "a header list of 42 bytes a byte",
            bytes: Peer.frame(1, flags: 5, 1, Array(repeating: 0x88, count: 1_000)),
            violation: .headersTooLarge, code: .enhanceYourCalm),
    ])
    func `what RFC 9113 forbids ends the connection with its code`(example: Case) throws {
        var peer = try Peer()
        peer.open(try Make.push())
        peer.send(example.bytes)
        #expect(peer.violation == example.violation)
        #expect(peer.goAwayCode == example.code)
        #expect(peer.settled.count == 1)
    }

    @Test func `the first frame is SETTINGS`() throws {
        for bytes in [
            Peer.frame(6, 0, [1, 2, 3, 4, 5, 6, 7, 8]), Peer.frame(4, flags: 1), Array("HTTP/1.1 400 Bad".utf8),
        ] {
            var peer = try Peer(settings: nil)
            peer.send(bytes)
            #expect(peer.machine.isClosed)
            #expect(peer.goAwayCode == .protocolError || peer.goAwayCode == .frameSizeError)
        }
    }

    @Test(arguments: [
        ("SETTINGS", Peer.settings([])), ("PING", Peer.frame(6, 0, [0, 0, 0, 0, 0, 0, 0, 1])),
        ("PING/ACK", Peer.frame(6, flags: 1, 0, [0, 0, 0, 0, 0, 0, 0, 1])), ("RST_STREAM", Peer.reset(1, 8)),
        ("empty DATA", Peer.frame(0, 1)), ("WINDOW_UPDATE", Peer.windowUpdate(0, 1)),
        ("unknown frames", Peer.frame(99, 0)), ("GOAWAY", Peer.goAway(0x7FFF_FFFF)),
        ("HEADERS", Peer.frame(1, flags: 4, 1, [0x88])),
    ])
    func `a flood ends the connection`(name: String, frame: [UInt8]) throws {
        var peer = try Peer.accepting()
        peer.open(try Make.push(1))
        peer.answer(1, status: 200)
        peer.open(try Make.push(2))
        let burst = (0..<200).flatMap { _ in frame }
        for _ in 0..<4 { peer.send(burst) }
        #expect(!peer.machine.isClosed, "\(name)")
        for _ in 0..<2 { peer.send(burst) }
        #expect(peer.violation == .flood)
        #expect(peer.goAwayCode == .enhanceYourCalm)
        #expect(peer.settled.count == 2)
    }

    @Test func `a peer that answers pushes never looks like a flood`() throws {
        var peer = try Peer.accepting()
        for number in 1...5_000 {
            peer.open(try Make.push(number))
            let id = UInt32(number * 2 - 1)
            peer.send(Peer.settings([(3, number.isMultiple(of: 2) ? 1 : 500)]) + Peer.windowUpdate(0, 400))
            peer.send(Peer.windowUpdate(id, 400))
            peer.answer(id, status: 200)
        }
        #expect(peer.machine.phase == .open)
        #expect(peer.settled.count == 5_000)
    }
}
