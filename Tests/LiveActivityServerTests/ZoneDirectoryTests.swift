import APNSModel
import Foundation
import LiveActivityCore
import LiveActivityServer
import Testing

struct ZoneDirectoryTests {
    private let directory = ZoneDirectory()

    @Test(arguments: ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca", "Asia/Kolkata"])
    func `A zone shows what the system's clock shows, around every change`(name: String) throws {
        let rules = try #require(directory.rules(of: name))
        let zone = try #require(TimeZone(identifier: name))
        var times = rules.transitions.flatMap { [$0.at.seconds - 1, $0.at.seconds, $0.at.seconds + 1] }
        times += stride(from: Int64(1_710_000_000), to: 2_200_000_000, by: 1_000_003)
        for seconds in times {
            let offset = zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(seconds)))
            #expect(rules.offset(at: UnixTime(seconds: seconds)) == offset, "\(name) at \(seconds)")
        }
    }

    @Test func `A change of standard time is found as well as summer time`() throws {
        // Kazakhstan went from +06 to +05 on 2024-03-01.
        let rules = try #require(directory.rules(of: "Asia/Almaty"))
        #expect(rules.offset(at: UnixTime(seconds: 1_709_200_000)) == 6 * 3600)
        #expect(rules.offset(at: UnixTime(seconds: 1_709_300_000)) == 5 * 3600)
    }

    @Test(arguments: ["", "Nowhere/Land", "../etc/passwd"])
    func `A name that is no zone has no rules`(name: String) {
        #expect(directory.rules(of: name) == nil)
    }
}
