import APNSModel
import LiveActivityCore
import TestSupport
import Testing

struct HistoryCoderTests {
    private static let seed: UInt64 = 12

    private func entry(_ dice: inout SeededDice) -> HistoryEntry {
        func number(_ dice: inout SeededDice) -> Int64 {
            dice.pick([0, 1, -1, .max, .min, Int64(bitPattern: dice.next()), Int64(dice.roll(1000))])
        }
        func reason(_ dice: inout SeededDice) -> Reason? {
            dice.chance(30)
                ? nil : Reason(dice.pick(Reason.Code.allCases), "a\(dice.roll(3))", dice.pick(["", "ü😀", "x"]))
        }
        return HistoryEntry(
            dice.pick(HistoryEntry.Kind.allCases), device: dice.chance(50) ? number(&dice) : nil,
            at: UnixTime(milliseconds: number(&dice)), revision: number(&dice), timestamp: number(&dice),
            priority: dice.pick([0, 5, 10]), carriesAlert: dice.chance(50), status: dice.pick([0, 200, 410, 599]),
            reason: reason(&dice), outcome: reason(&dice), detail: dice.pick(["", "active", "über", "abcd…"]),
            pushID: dice.chance(50) ? PushID(random: dice.next(), dice.next()) : nil)
    }

    @Test func `what was written is read`() {
        var dice = SeededDice(seed: Self.seed)
        for number in 0..<300 {
            let entries = (0..<dice.roll(20)).map { _ in entry(&dice) }
            let seed = dice.chance(50) ? dice.next() : 0
            let read = HistoryCoder.decode(HistoryCoder.encode(entries, seed: seed))
            #expect(read?.entries == entries && read?.seed == seed, "seed \(Self.seed), case \(number)")
        }
    }

    @Test func `damaged bytes are refused or read, never fatal`() {
        var dice = SeededDice(seed: Self.seed)
        for _ in 0..<2000 {
            var bytes = HistoryCoder.encode((0..<dice.roll(5)).map { _ in entry(&dice) })
            for _ in 0...dice.roll(4) {
                switch dice.roll(3) {
                case 0: bytes.removeLast(min(bytes.count, dice.roll(9)))
                case 1: if !bytes.isEmpty { bytes[dice.roll(bytes.count)] = UInt8(dice.roll(256)) }
                default: bytes.insert(UInt8(dice.roll(256)), at: dice.roll(bytes.count + 1))
                }
            }
            _ = HistoryCoder.decode(bytes)
        }
        for _ in 0..<2000 { _ = HistoryCoder.decode([2, 0] + (0..<dice.roll(40)).map { _ in UInt8(dice.roll(256)) }) }
    }

    @Test func `another version, a cut row and bytes too many are refused`() {
        var dice = SeededDice(seed: Self.seed)
        let bytes = HistoryCoder.encode([entry(&dice), entry(&dice)])
        #expect(HistoryCoder.decode([]) == nil && HistoryCoder.decode([1] + bytes.dropFirst()) == nil)
        for length in 0..<bytes.count { #expect(HistoryCoder.decode(Array(bytes.prefix(length))) == nil) }
        #expect(HistoryCoder.decode(bytes + [0]) == nil)
        // An index beyond the table of texts.
        #expect(HistoryCoder.decode([2, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 9, 0, 0]) == nil)
    }

    @Test func `a push among its like costs about twenty bytes, its id none`() {
        let entries = (0..<1000).map { index in
            HistoryEntry(
                .update, device: DeviceKey(index) << 50, at: Sample.now, revision: 7, timestamp: Sample.now.seconds,
                priority: 5, status: 200, reason: Reason(.newState), outcome: Reason(.accepted),
                pushID: .of(DeviceKey(index) << 50, seed: 77))
        }
        let bytes = HistoryCoder.encode(entries, seed: 77)
        #expect(bytes.count < 20 * entries.count, "\(bytes.count)")
        #expect(HistoryCoder.decode(bytes)?.entries == entries)
    }

    @Test(arguments: Reason.Code.allCases) func `every reason is stored, read, and put into words`(code: Reason.Code) {
        for reason in [
            Reason(code), Reason(code, ""), Reason(code, "one"), Reason(code, "one", "two", "three", "four"),
        ] {
            #expect(Reason(stored: reason.stored) == reason)
            #expect(reason.text.count > 10)
        }
        #expect(!Reason(code, "A1", "B2", "C3", "D4").text.contains("?"))
    }

    @Test func `a text that is no reason is none`() {
        for text in ["", "nonsense", "\u{1F}", "accepted "] { #expect(Reason(stored: text) == nil) }
    }

    @Test func `every kind of entry has its own name`() {
        #expect(Set(HistoryEntry.Kind.allCases.map(\.name)).count == HistoryEntry.Kind.allCases.count)
        #expect(PushKind.allCases.map { HistoryEntry.Kind($0).name } == PushKind.allCases.map(\.name))
    }
}
