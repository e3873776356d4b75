import APNSModel
import NIOCore

@testable import APNSClient

/// Plays a script of bytes against a `ConnectionMachine` and checks the rules that hold whatever a peer does. The
/// seeded tests, the corpus and the coverage-guided fuzzer all use it.
///
/// The first byte chooses how the connection begins. Operations follow, each a byte and its arguments. Every sequence
/// of bytes is a script, so a fuzzer's change alters the play and never makes it invalid.
struct ConnectionTrial {
    /// The longest script that is played, in bytes.
    static let maximumBytes = 4_096
    private static let statuses = ["200", "200", "103", "400", "403", "410", "429", "503"]

    private var script: ArraySlice<UInt8>
    private var peer: Peer
    private var opened = 0
    private let findings = Findings()

    private final class Findings {
        var problems: [String] = []
    }

    /// Returns the rules that were broken; empty if none was.
    static func problems(of script: [UInt8]) throws -> [String] {
        var trial = try Self(script)
        try trial.play()
        trial.finish()
        return trial.findings.problems
    }

    private init(_ script: [UInt8]) throws {
        self.script = script.prefix(Self.maximumBytes)
        let start = self.script.popFirst() ?? 0
        var limits = ConnectionLimits()
        if start & 4 != 0 { limits.concurrentStreams = 3 }
        if start & 8 != 0 { limits.consecutiveTimeouts = 2 }
        peer = try Peer(limits: limits, settings: start & 1 != 0 ? [(3, 100)] : nil)
        peer.machine.tokenWasAccepted = start & 2 != 0
    }

    // MARK: Playing

    private mutating func play() throws {
        while let operation = script.popFirst() {
            switch operation % 10 {
            case 0, 1: peer.send(bytes())
            case 2: try open()
            case 3: peer.tick(Double(byte()) / 10)
            case 4: peer.send(Peer.frame(byte() % 12, flags: byte(), streamID(), bytes()))
            case 5: answer()
            case 6: peer.send(Peer.settings([(UInt16(byte() % 8), number())]))
            case 7: peer.send(Peer.windowUpdate(streamID(), number()))
            case 8: peer.machine.prove(at: peer.now)
            default: end()
            }
            check()
        }
    }

    private mutating func open() throws {
        let size = Int(byte()) * 12 + 1
        let wait = Double(byte())
        guard peer.capacity > 0 else { return }
        let deadline = peer.now + .milliseconds(Int(wait * 100))
        if peer.open(try Make.push(opened + 1, fill: size, answerBy: deadline)) { opened += 1 }
    }

    private mutating func answer() {
        let how = byte()
        let status = Self.statuses[Int(how) % Self.statuses.count]
        let block = peer.block(
            [(":status", status), ("apns-id", PushID(high: 1, low: UInt64(how)).description)], streamID(),
            endStream: how & 0x40 != 0, endHeaders: how & 0x80 == 0)
        peer.send(block)
    }

    private mutating func end() {
        switch byte() % 4 {
        case 0: peer.machine.beginDraining()
        case 1: peer.send(Peer.goAway(streamID(), UInt32(byte()) % 14, debug: #"{"reason":"Shutdown"}"#))
        case 2: peer.machine.pause(until: peer.now + .milliseconds(Int(byte()) * 10))
        default: peer.close(.closedByPeer)
        }
    }

    private mutating func byte() -> UInt8 { script.popFirst() ?? 0 }

    private mutating func number() -> UInt32 {
        (0..<4).reduce(0) { value, _ in value << 8 | UInt32(byte()) }
    }

    /// Returns the id of a stream, most often one that may be open.
    private mutating func streamID() -> UInt32 {
        let value = byte()
        return value == 255 ? number() : UInt32(value)
    }

    private mutating func bytes() -> [UInt8] {
        let count = min(Int(byte()), script.count)
        defer { script = script.dropFirst(count) }
        return Array(script.prefix(count))
    }

    // MARK: Checking

    private func expect(_ holds: Bool, _ problem: @autoclosure () -> String) {
        if !holds { findings.problems.append(problem()) }
    }

    private func check() {
        let machine = peer.machine
        expect(machine.openStreams <= machine.limits.concurrentStreams, "more streams are open than we allow ourselves")
        expect(machine.openStreams + peer.settled.count >= opened, "a push got lost")
        expect(peer.settled.count <= opened, "a push was settled twice")
        expect(machine.input.readableBytes <= FrameHeader.size + FrameHeader.maximumPayload, "input piles up")
        expect(machine.blocked.count <= opened, "the list of what waits for a window grows")
        if machine.isClosed { expect(machine.openStreams == 0, "a closed connection has open streams") }
    }

    private mutating func finish() {
        peer.close(.stopped)
        check()
        expect(peer.settled.count == opened, "of \(opened) pushes \(peer.settled.count) were settled")
        expect(Set(peer.settled.map(\.streamID)).count == opened, "a stream was settled twice")
        expect(peer.unfinishedOutput == 0, "the last frame that was sent is not whole")
        checkFrames()
    }

    /// Checks that the output keeps RFC 9113, whatever the input was.
    private mutating func checkFrames() {
        var last: UInt32 = 0
        var ended: Set<UInt32> = []
        var reset: Set<UInt32> = []
        for (index, frame) in peer.seen.enumerated() {
            expect(!reset.contains(frame.streamID), "\(frame) follows our RST_STREAM")
            switch frame.type {
            case FrameType.headers:
                expect(frame.streamID % 2 == 1 && frame.streamID > last, "\(frame) does not follow stream \(last)")
                last = frame.streamID
                do { _ = try peer.fields(frame) } catch {
                    findings.problems.append("\(frame) cannot be decoded: \(error)")
                }
            case FrameType.data:
                expect(
                    frame.streamID <= last && !ended.contains(frame.streamID), "\(frame) on a stream that is not open")
                if frame.flags & FrameFlag.endStream != 0 { ended.insert(frame.streamID) }
            case FrameType.rstStream:
                expect(frame.streamID <= last && frame.streamID > 0, "\(frame) resets a stream that never was")
                reset.insert(frame.streamID)
            case FrameType.goAway: expect(index == peer.seen.count - 1, "frames follow our GOAWAY")
            case FrameType.settings, FrameType.ping, FrameType.windowUpdate:
                expect(frame.streamID == 0, "\(frame) on a stream")
            default: findings.problems.append("\(frame) is of a type that we do not send")
            }
        }
    }
}
