import IsletBasics
import LiveActivityServer
import NIOCore
import Testing

@Suite struct LineTests {
    private static let text = "{\"a\":1}\n\n  \r\n" + String(repeating: "x", count: 40) + "\nb\r\n\nlast"

    @Test(arguments: 1...80)
    func `lines are the same, whatever pieces they come in`(size: Int) {
        var splitter = LineSplitter(limit: 20)
        var lines: [(Int, LineSplitter.Line)] = []
        var rest = Array(Self.text.utf8)[...]
        while !rest.isEmpty {
            splitter.append(ByteBuffer(bytes: rest.prefix(size)))
            rest = rest.dropFirst(size)
            while let line = splitter.next() { lines.append((splitter.count, line)) }
        }
        if let line = splitter.finish() { lines.append((splitter.count, line)) }
        #expect(lines.map(\.0) == [1, 4, 5, 7])
        #expect(
            lines.map(\.1) == [
                .text(Array("{\"a\":1}".utf8)), .tooLong, .text(Array("b".utf8)), .text(Array("last".utf8)),
            ])
        #expect(splitter.finish() == nil)
    }

    @Test(arguments: UInt64(1)...120)
    func `answers come in the order of lines, and lines of one subject one after another`(seed: UInt64) {
        var dice = SplitMix64(seed: seed)
        func roll(_ sides: Int) -> Int { Int(dice.next() % UInt64(sides)) }
        var window = LineWindow<Int>(maximumOpen: 8, maximumUnread: 40)
        var running: [LineWindow<Int>.Entry] = []
        var done: [String: [Int]] = [:]
        var (sent, written): (Int, [UInt8]) = (0, [])
        while !window.isOver {
            switch roll(3) {
            case 0 where sent < 100 && window.hasRoom:
                let subject = roll(4)
                if roll(10) == 0 {
                    window.answer([UInt8(sent)])
                } else if let entry = window.admit(sent, subject: subject == 0 ? nil : "\(subject)") {
                    running.append(entry)
                }
                sent += 1
            case 1 where !running.isEmpty:
                let entry = running.remove(at: roll(running.count))
                if let subject = entry.subject {
                    #expect(!running.contains { $0.subject == subject }, "seed \(seed)")
                    done[subject, default: []].append(entry.work)
                }
                if let next = window.finish(entry, [UInt8(entry.work)]) { running.append(next) }
            case 2:
                let bytes = window.takeAnswers(5)
                written += bytes
                window.written(bytes.count)
            default: break
            }
            #expect(running.count <= 8)
            if sent == 100, running.isEmpty { window.close() }
        }
        #expect(written == (0..<100).map { UInt8($0) }, "seed \(seed)")
        for order in done.values { #expect(order == order.sorted(), "seed \(seed)") }
    }

    @Test func `no further line is taken while too many are open, or too many answers are unread`() {
        var window = LineWindow<Int>(maximumOpen: 2, maximumUnread: 3)
        let first = window.admit(0, subject: nil)
        #expect(window.hasRoom)
        _ = window.admit(1, subject: "a")
        #expect(!window.hasRoom)
        if let first { _ = window.finish(first, [1, 2, 3]) }
        #expect(!window.hasRoom)
        let bytes = window.takeAnswers()
        // Accepted bytes are not yet written, because the connection may be slow.
        #expect(bytes == [1, 2, 3] && !window.hasRoom)
        window.written(3)
        #expect(window.hasRoom)
    }
}
