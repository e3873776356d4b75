import IsletBasics
import Testing

@testable import APNSClient
@testable import APNSModel

@Suite struct ProviderTokenScheduleTests {
    /// The start of a day, so that minutes of the day are minutes of slots.
    private static let midnight: Int64 = 1_763_683_200

    private func issuedAt(_ schedule: inout ProviderTokenSchedule, _ minute: Double) -> Int64 {
        let time = schedule.issuedAt(
            wall: UnixTime(seconds: Self.midnight + Int64(minute * 60)), monotonic: Make.time(minute * 60))
        return (time.seconds - Self.midnight) / 60
    }

    /// Each row: minute of the first use, then pairs of a minute and the expected start of its slot.
    @Test(
        arguments: [
            (0.0, [(0.0, 0), (29.9, 0), (30.0, 30), (59.0, 30), (60.0, 60)]),
            (29.0, [(30.0, 0), (48.9, 0), (49.0, 30), (68.9, 30), (69.0, 60)]),
            (10.0, [(29.9, 0), (30.0, 30), (59.9, 30), (60.0, 60)]),
            (5.0, [(300.0, 300)]),
        ] as [(Double, [(Double, Int64)])])
    func `a token is kept until its slot ended and 20 minutes passed`(first: Double, steps: [(Double, Int64)]) {
        var schedule = ProviderTokenSchedule()
        #expect(issuedAt(&schedule, first) == Int64(first) / 30 * 30)
        for (minute, expected) in steps { #expect(issuedAt(&schedule, minute) == expected, "at minute \(minute)") }
    }

    @Test func `no connection ever changes within 20 minutes or sends a token past 50`() {
        for seed in UInt64(0)..<100 {
            var dice = SplitMix64(seed: seed)
            var schedule = ProviderTokenSchedule()
            var minute = Double.random(in: 0..<30, using: &dice)
            var last: (issuedAt: Int64, since: Double)?
            for _ in 0..<200 {
                let issued = issuedAt(&schedule, minute)
                #expect(minute - Double(issued) <= 50, "seed \(seed)")
                if let known = last, known.issuedAt != issued {
                    #expect(minute - known.since >= 20, "seed \(seed)")
                    last = (issued, minute)
                } else if last == nil {
                    last = (issued, minute)
                }
                minute += Double.random(in: 0..<9, using: &dice)
            }
        }
    }

    @Test func `a wall clock that steps back does not pin a token`() {
        var schedule = ProviderTokenSchedule()
        let wall = UnixTime(seconds: Self.midnight + 3_600)
        let first = schedule.issuedAt(wall: wall, monotonic: Make.time(0))
        let back = UnixTime(seconds: Self.midnight)
        #expect(schedule.issuedAt(wall: back, monotonic: Make.time(29 * 60)) == first)
        #expect(schedule.issuedAt(wall: back, monotonic: Make.time(30 * 60)) == back)
    }

    @Test func `a refused change takes up the token before and keeps it for 20 minutes`() {
        var schedule = ProviderTokenSchedule()
        #expect(issuedAt(&schedule, 10) == 0)
        #expect(issuedAt(&schedule, 30) == 30)
        schedule.changeWasRefused(at: Make.time(31 * 60))
        #expect(issuedAt(&schedule, 31) == 0)
        #expect(issuedAt(&schedule, 49.9) == 0)
        #expect(issuedAt(&schedule, 50) == 30)
    }

    @Test func `a renewal takes the newest slot at once`() {
        var schedule = ProviderTokenSchedule()
        #expect(issuedAt(&schedule, 29) == 0)
        #expect(!schedule.mayChange(at: Make.time(45 * 60)))
        schedule.renew(wall: UnixTime(seconds: Self.midnight + 45 * 60), monotonic: Make.time(45 * 60))
        #expect(issuedAt(&schedule, 45) == 30)
    }

    @Test func `a clock that APNs calls wrong is corrected, once per token`() throws {
        let signer = ProviderTokenSigner(try Make.key())
        var tokens = TokenUse(signer: signer)
        let wall = UnixTime(seconds: Self.midnight)
        let first = try #require(try tokens.token(wall: wall, Make.time(0), nextStreamID: 1))
        #expect(try tokens.token(wall: wall, Make.time(1), nextStreamID: 3)?.issuedAt == nil)
        let apns = wall + .seconds(7_200)
        #expect(tokens.expired(1, apnsDate: apns, wall: wall, Make.time(2)) == .needsNewConnection)
        var next = TokenUse(signer: signer)
        let second = try #require(try next.token(wall: wall, Make.time(3), nextStreamID: 1))
        #expect(second.issuedAt - first.issuedAt == .seconds(7_200))
        let later = Make.time(25 * 60)
        #expect(next.expired(9, apnsDate: apns + .seconds(1_500), wall: wall + .seconds(1_500), later) == .renewed)
        #expect(next.expired(11, apnsDate: nil, wall: wall, later) == .alreadyRenewed)
    }

    @Test func `a connection that has to keep its token goes back to the very same one`() throws {
        let signer = ProviderTokenSigner(try Make.key())
        func token(_ tokens: inout TokenUse, _ minutes: Double) throws -> ProviderToken? {
            let wall = UnixTime(seconds: Self.midnight) + .milliseconds(Int64(minutes * 60_000))
            return try tokens.token(wall: wall, Make.time(minutes * 60), nextStreamID: 1)
        }
        var tokens = TokenUse(signer: signer)
        let first = try #require(try token(&tokens, 10))
        let second = try #require(try token(&tokens, 30))
        #expect(first.text != second.text)
        _ = tokens.changeRefused(Make.time(31 * 60), dice: 1)
        let again = try #require(try token(&tokens, 31))
        #expect(again.text == first.text)
        // Other connections go on with the newest token.
        var other = TokenUse(signer: signer)
        #expect(try token(&other, 32)?.text == second.text)
    }

    @Test func `the answers to one change are one refusal, and each later one costs a longer pause`() throws {
        var tokens = TokenUse(signer: ProviderTokenSigner(try Make.key()))
        let until = tokens.changeRefused(Make.time(100), dice: 1)
        #expect(until == Make.time(101))
        for number in 0..<500 {
            #expect(tokens.changeRefused(Make.time(100 + Double(number) / 1_000), dice: 1) == until)
        }
        #expect(tokens.changeRefused(Make.time(102), dice: 1) == Make.time(104))
        #expect(tokens.changeRefused(Make.time(110), dice: 1) == Make.time(114))
        #expect(tokens.changeRefused(Make.time(234), dice: 1) == Make.time(235))
    }
}
