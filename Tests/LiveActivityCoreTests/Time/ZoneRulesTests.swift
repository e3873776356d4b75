import APNSModel
import LiveActivityCore
import TestSupport
import Testing

/// Berlin in 2026: summer time from March 29 to October 25, 01:00 UTC.
let berlin = ZoneRules(
    offset: 3600,
    transitions: [
        .init(at: UnixTime(seconds: 1_774_746_000), offset: 7200),
        .init(at: UnixTime(seconds: 1_792_890_000), offset: 3600),
    ])

struct ZoneRulesTests {
    @Test(arguments: [
        (1_774_745_999, "2026-03-29", "01:59"), (1_774_746_000, "2026-03-29", "03:00"),
        (1_792_889_999, "2026-10-25", "02:59"), (1_792_890_000, "2026-10-25", "02:00"),
        (-1, "1970-01-01", "00:59"), (-3601, "1969-12-31", "23:59"),
    ])
    func `A clock shows the offset of its instant`(seconds: Int, date: String, time: String) {
        let local = berlin.local(UnixTime(seconds: Int64(seconds)))
        #expect(local.date == date)
        #expect(local.timeOfDay.description == time)
    }

    @Test func `The next day begins at midnight, on the days of a change too`() {
        // 2026-03-28T12:00:00Z, and the two midnights that follow, 23 hours apart.
        let first = berlin.nextDay(after: UnixTime(seconds: 1_774_699_200))
        #expect(first.description == "2026-03-28T23:00:00Z")
        let second = berlin.nextDay(after: first)
        #expect(second.description == "2026-03-29T22:00:00Z")
    }

    @Test func `A midnight that the clock jumps over is the end of the jump`() {
        // Clocks go from 00:00 to 01:00, as in Cairo.
        let jump = UnixTime(seconds: 1_777_068_000)
        let cairo = ZoneRules(offset: 7200, transitions: [.init(at: jump, offset: 10_800)])
        #expect(cairo.local(jump - .seconds(1)).timeOfDay.description == "23:59")
        #expect(cairo.nextDay(after: jump - .seconds(7200)) == jump)
    }

    @Test func `A midnight that the clock goes back from is the second one`() {
        // Clocks go from 24:00 back to 23:00, so the day does not change yet.
        let back = UnixTime(seconds: 1_777_068_000)
        let zone = ZoneRules(offset: 7200, transitions: [.init(at: back, offset: 3600)])
        #expect(zone.nextDay(after: back - .seconds(60)) == back + .seconds(3600))
    }

    @Test func `Any next day is later, of a later date, and the first instant of it`() {
        let seed: UInt64 = 11
        var dice = SeededDice(seed: seed)
        for _ in 0..<2000 {
            var at: Int64 = 1_700_000_000
            let transitions = (0..<dice.roll(6)).map { _ in
                at += Int64(dice.roll(20_000_000)) + 1
                return ZoneRules.Transition(at: UnixTime(seconds: at), offset: (dice.roll(53) - 24) * 1800)
            }
            let zone = ZoneRules(offset: (dice.roll(53) - 24) * 1800, transitions: transitions)
            let time = UnixTime(seconds: 1_700_000_000 + Int64(dice.roll(100_000_000)))
            let next = zone.nextDay(after: time)
            #expect(next > time, "seed \(seed)")
            #expect(zone.local(next).day > zone.local(time).day, "seed \(seed)")
            #expect(zone.local(next - .seconds(1)).day <= zone.local(time).day, "seed \(seed)")
        }
    }

    @Test func `Transitions out of order are left out`() {
        let time = UnixTime(seconds: 100)
        let zone = ZoneRules(offset: 0, transitions: [.init(at: time, offset: 1), .init(at: time, offset: 2)])
        #expect(zone.transitions.count == 1)
    }

    @Test(arguments: [("00:00", 0), ("23:59", 1439), ("07:30", 450)])
    func `A time of day is hours and minutes`(text: String, minute: Int) {
        #expect(TimeOfDay(text)?.minute == minute)
        #expect(TimeOfDay(text)?.description == text)
    }

    @Test(arguments: ["", "24:00", "7:00", "07:60", "07.00", "-1:00", "07:00:00", "٠٧:٠٠"])
    func `What is no time of day is refused`(text: String) {
        #expect(TimeOfDay(text) == nil)
    }
}
