import LiveActivityCore
import Testing

struct RetryDelayTests {
    @Test(arguments: [
        (0, 2), (1, 2), (2, 4), (3, 8), (5, 32), (8, 256), (9, 300), (50, 300), (Int.max, 300),
    ]) func `429 waits from 1 second to 5 minutes`(tries: Int, most: Int) {
        #expect(RetryDelay.token(tries: tries, dice: 0) == .seconds(1))
        #expect(RetryDelay.token(tries: tries, dice: 1) == .seconds(most))
    }

    @Test(arguments: [
        (1, 0.75, 1.25), (2, 0.4, 4), (3, 1.6, 16), (4, 6.4, 64), (5, 25.6, 256), (6, 90, 900), (99, 90, 900),
    ]) func `5xx waits about a second, then 4, 16 and so on to 15 minutes`(tries: Int, least: Double, most: Double) {
        #expect(RetryDelay.service(tries: tries, dice: 0) == .milliseconds(Int64(least * 1000)))
        #expect(RetryDelay.service(tries: tries, dice: 1) == .milliseconds(Int64(most * 1000)))
    }

    @Test(arguments: [(1, 1.25), (3, 16), (4, 60), (6, 60), (99, 60)])
    func `what may have arrived is sent again after a minute at the latest`(tries: Int, most: Double) {
        #expect(RetryDelay.unknownFate(tries: tries, dice: 1) == .milliseconds(Int64(most * 1000)))
    }

    @Test(arguments: [1, 2, 3, 10]) func `no two phones that met a 429 together come back together`(tries: Int) {
        let waits = (0...100).map { RetryDelay.token(tries: tries, dice: Double($0) / 100) }
        #expect(Set(waits).count == waits.count && waits == waits.sorted())
        #expect(waits[0] == .seconds(1) && waits[50] == (waits[0] + waits[100]) / 2, "half of them in either half")
    }

    @Test func `dice beyond their range do no harm`() {
        #expect(
            RetryDelay.service(tries: 3, dice: 7) == .seconds(16)
                && RetryDelay.service(tries: 3, dice: -7) == .milliseconds(1600))
        #expect(RetryDelay.token(tries: 2, dice: 7) == .seconds(4))
        #expect(RetryDelay.token(tries: 2, dice: -7) == .seconds(1))
    }
}
