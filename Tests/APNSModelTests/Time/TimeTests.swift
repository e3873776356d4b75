import APNSModel
import Foundation
import TestSupport
import Testing

struct TimeTests {
    @Test func `an instant is printed as Foundation prints it`() {
        let seed: UInt64 = 20_261_121
        var dice = SeededDice(seed: seed)
        let formatter = ISO8601DateFormatter()
        formatter.timeZone = .gmt
        for _ in 0..<2000 {
            // Years 1583 to 9999. Before that, Foundation's calendar is not the proleptic Gregorian calendar.
            let milliseconds = Int64.random(in: -12_212_553_600_000...253_402_300_799_999, using: &dice)
            let time = UnixTime(milliseconds: milliseconds)
            let date = Date(timeIntervalSince1970: Double(time.seconds))
            #expect(time.description == formatter.string(from: date), "seed \(seed), \(milliseconds) ms")
        }
    }

    @Test(arguments: [
        (0, 0), (999, 0), (1000, 1), (-1, -1), (-999, -1), (-1000, -1), (-1001, -2), (1_795_271_520_999, 1_795_271_520),
    ]) func `whole seconds are rounded down`(milliseconds: Int64, seconds: Int64) {
        #expect(UnixTime(milliseconds: milliseconds).seconds == seconds)
    }

    @Test func `durations are added and measured to the millisecond`() {
        let time = UnixTime(seconds: 10)
        #expect((time + .milliseconds(1500)).milliseconds == 11_500)
        #expect((time - .seconds(11)).milliseconds == -1000)
        #expect(time + .seconds(3) - time == .seconds(3))
        let start = MonotonicTime(nanoseconds: 5)
        #expect(start + .seconds(1) - start == .seconds(1))
        #expect(start < start + .nanoseconds(1))
    }

    @Test func `an instant is coded as one number`() throws {
        let coded = try JSONEncoder().encode([UnixTime(milliseconds: 1_795_271_520_123)])
        #expect(String(decoding: coded, as: UTF8.self) == "[1795271520123]")
        #expect(try JSONDecoder().decode([UnixTime].self, from: coded) == [UnixTime(milliseconds: 1_795_271_520_123)])
    }
}
