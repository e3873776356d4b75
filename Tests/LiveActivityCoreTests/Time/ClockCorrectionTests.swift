import APNSModel
import Testing

@testable import LiveActivityCore

struct ClockCorrectionTests {
    private static let noon = UnixTime(seconds: 1_790_000_000)

    private func at(_ seconds: Int64) -> MonotonicTime { MonotonicTime(nanoseconds: seconds * 1_000_000_000) }
    private func noon(_ seconds: Int64) -> UnixTime { Self.noon + .seconds(seconds) }

    @Test func `before APNs has answered, the machine's clock is the time`() {
        #expect(ClockCorrection().time(local: noon(7200), at: at(0)) == noon(7200))
    }

    @Test(arguments: [-10, -1, 0, 1, 10])
    func `a clock that agrees within ten seconds is left alone`(_ seconds: Int64) {
        var clock = ClockCorrection()
        clock.learn(noon(0), local: noon(0), at: at(100))
        #expect(clock.time(local: noon(30 + seconds), at: at(130)) == noon(30 + seconds))
    }

    @Test(arguments: [-90_000, -7200, -11, 11, 7200, 90_000])
    func `a clock that is further off, or jumps, is corrected by APNs's date and the time since`(_ seconds: Int64) {
        var clock = ClockCorrection()
        clock.learn(noon(0), local: noon(0), at: at(100))
        #expect(clock.time(local: noon(seconds), at: at(100)) == noon(0))
        #expect(clock.time(local: noon(86_400 + seconds), at: at(86_500)) == noon(86_400), "a day without answers")
        #expect(clock.time(local: noon(86_400), at: at(86_500)) == noon(86_400), "set right again")
    }

    @Test func `an answer that came late, or in another order, takes nothing back`() {
        var clock = ClockCorrection()
        clock.learn(noon(0), local: noon(0), at: at(100))
        // Two answers that are read 50 s late: one in the same span, one in the next.
        clock.learn(noon(0), local: noon(0), at: at(150))
        #expect(clock.time(local: noon(7200), at: at(150)) == noon(50))
        clock.learn(noon(55), local: noon(55), at: at(205))
        #expect(clock.time(local: noon(7200), at: at(205)) == noon(105))
        // A later date is believed at once.
        clock.learn(noon(130), local: noon(130), at: at(210))
        #expect(clock.time(local: noon(7200), at: at(210)) == noon(130))
    }

    @Test func `a clock of APNs that steps back is followed after two spans`() {
        var clock = ClockCorrection()
        clock.learn(noon(3600), local: noon(3600), at: at(0))
        clock.learn(noon(60), local: noon(60), at: at(60))
        #expect(clock.time(local: noon(61), at: at(61)) == noon(3661))
        clock.learn(noon(120), local: noon(120), at: at(120))
        #expect(clock.time(local: noon(121), at: at(121)) == noon(121))
    }

    @Test func `APNs is asked when a clock that was right is far off, once a minute until it answers`() {
        var clock = ClockCorrection()
        func doubts(_ local: Int64, _ seconds: Int64) -> Bool { clock.doubts(local: noon(local), at: at(seconds)) }
        #expect(!doubts(7200, 0), "nothing is known yet")
        clock.learn(noon(0), local: noon(3), at: at(100))
        #expect(!doubts(10, 100))
        // The machine stood still for two hours, and none of its clocks counted them.
        #expect(doubts(7210, 110))
        #expect(!doubts(7211, 111) && !doubts(7269, 169) && doubts(7270, 170))
        clock.learn(noon(7271), local: noon(7271), at: at(171))
        #expect(!doubts(7272, 172))
        #expect(clock.time(local: noon(7272), at: at(172)) == noon(7272))
    }

    @Test func `a clock that APNs has called wrong is in no doubt until it is right again`() {
        var clock = ClockCorrection()
        func doubts(_ local: Int64, _ seconds: Int64) -> Bool { clock.doubts(local: noon(local), at: at(seconds)) }
        clock.learn(noon(0), local: noon(7200), at: at(100))
        #expect(!doubts(9000, 130))
        clock.learn(noon(60), local: noon(60), at: at(160))
        #expect(doubts(7261, 161))
    }
}
