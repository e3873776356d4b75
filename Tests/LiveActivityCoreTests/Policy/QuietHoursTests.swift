import APNSModel
import LiveActivityCore
import TestSupport
import Testing

struct QuietHoursTests {
    private static let zones = ZoneTable(["Europe/Berlin": berlin, "Etc/UTC": .utc])

    private static func hours(
        _ from: String, _ to: String, zone: String? = nil, holdsAlerts: Bool = false
    ) -> QuietHours {
        QuietHours(
            from: TimeOfDay(from) ?? TimeOfDay(minute: 0), to: TimeOfDay(to) ?? TimeOfDay(minute: 0), zone: zone,
            holdsAlerts: holdsAlerts, zones: zones)
    }

    /// Berlin's clock goes forward at 2026-03-29T01:00:00Z (02:00 to 03:00) and back at 2026-10-25T01:00:00Z.
    @Test(arguments: [
        ("ordinary night", "22:00", "07:00", "2026-01-10T21:00:00Z", "2026-01-11T06:00:00Z"),
        ("after midnight", "22:00", "07:00", "2026-01-11T05:59:59Z", "2026-01-11T06:00:00Z"),
        ("it is over", "22:00", "07:00", "2026-01-11T06:00:00Z", nil),
        ("not begun", "22:00", "07:00", "2026-01-10T20:59:59Z", nil),
        ("within a day", "12:00", "13:30", "2026-07-01T10:00:00Z", "2026-07-01T11:30:00Z"),
        ("until midnight", "20:00", "00:00", "2026-01-10T19:00:00Z", "2026-01-10T23:00:00Z"),
        ("a night of 23 hours", "22:00", "07:00", "2026-03-28T21:00:00Z", "2026-03-29T05:00:00Z"),
        ("a night of 25 hours", "22:00", "07:00", "2026-10-24T20:00:00Z", "2026-10-25T06:00:00Z"),
        ("its end is jumped over", "01:00", "02:30", "2026-03-29T00:30:00Z", "2026-03-29T01:00:00Z"),
        ("its beginning is jumped over", "02:30", "04:00", "2026-03-29T01:00:00Z", "2026-03-29T02:00:00Z"),
        ("it lies in the gap", "02:10", "02:50", "2026-03-29T00:59:59Z", nil),
        ("the clock goes back into it", "02:00", "02:30", "2026-10-25T00:15:00Z", "2026-10-25T00:30:00Z"),
        ("the second time", "02:00", "02:30", "2026-10-25T01:00:00Z", "2026-10-25T01:30:00Z"),
        ("through both", "01:30", "02:30", "2026-10-25T00:20:00Z", "2026-10-25T00:30:00Z"),
        ("to the doubled hour's second end", "01:30", "03:00", "2026-10-25T00:20:00Z", "2026-10-25T02:00:00Z"),
    ])
    func `Quiet hours end by the phone's clock, on the days of a change too`(
        name: String, from: String, to: String, now: String, end: String?
    ) throws {
        let quiet = Self.hours(from, to)
        let time = try #require(Self.time(now))
        #expect(quiet.end(at: time, zone: "Europe/Berlin")?.description == end, "\(name)")
    }

    @Test func `A phone without a zone follows the one that is named for it, or none`() throws {
        let night = try #require(Self.time("2026-01-11T02:00:00Z"))
        #expect(Self.hours("22:00", "07:00").end(at: night, zone: nil) == nil)
        #expect(Self.hours("22:00", "07:00").end(at: night, zone: "Nowhere/Land") == nil)
        let named = Self.hours("22:00", "07:00", zone: "Europe/Berlin")
        #expect(named.end(at: night, zone: "Nowhere/Land")?.description == "2026-01-11T06:00:00Z")
        #expect(named.end(at: night, zone: "Etc/UTC")?.description == "2026-01-11T07:00:00Z")
    }

    @Test func `A fraction of a second is no reason to start early or late`() throws {
        let time = try #require(Self.time("2026-01-11T05:59:59Z")) + .milliseconds(999)
        #expect(
            Self.hours("22:00", "07:00").end(at: time, zone: "Europe/Berlin")?.description == "2026-01-11T06:00:00Z")
    }

    @Test func `In any zone, whatever its clock does, the end is the first instant that is not quiet`() {
        let seed: UInt64 = 5
        var dice = SeededDice(seed: seed)
        for number in 0..<3000 {
            var at: Int64 = 1_700_000_000
            let transitions = (0..<dice.roll(5)).map { _ in
                at += Int64(dice.roll(200_000)) + 1
                return ZoneRules.Transition(at: UnixTime(seconds: at), offset: (dice.roll(53) - 24) * 1800)
            }
            let rules = ZoneRules(offset: (dice.roll(53) - 24) * 1800, transitions: transitions)
            let (from, to) = (TimeOfDay(minute: dice.roll(1440)), TimeOfDay(minute: dice.roll(1440)))
            guard from != to else { continue }
            let quiet = QuietHours(from: from, to: to, zones: ZoneTable(["z": rules]))
            func isQuiet(_ time: UnixTime) -> Bool {
                let minute = rules.local(time).second / 60
                return from < to
                    ? from.minute <= minute && minute < to.minute : from.minute <= minute || minute < to.minute
            }
            let now = UnixTime(milliseconds: 1_700_000_000_000 + Int64(dice.roll(900_000_000)))
            let label: Comment = "seed \(seed), case \(number): \(from) to \(to) at \(now)"
            guard let end = quiet.end(at: now, zone: "z") else {
                #expect(!isQuiet(now), label)
                continue
            }
            #expect(isQuiet(now) && end > now && !isQuiet(end) && isQuiet(end - .milliseconds(1)), label)
            var probe = now
            while probe < end {
                #expect(isQuiet(probe), label)
                probe = probe + .seconds(577)
            }
        }
    }

    // MARK: - Starts

    private func scene(holdsAlerts: Bool = false) throws -> Scene {
        var scene = Scene(Sample.type { $0.quietHours = Self.hours("22:00", "07:00", holdsAlerts: holdsAlerts) })
        // 23:30 in Berlin.
        scene.now = try #require(Self.time("2026-01-10T22:30:00Z"))
        try scene.register()
        scene.store.edit { draft in
            guard var device = draft.snapshot.devices[7] else { return }
            device.timeZone = "Europe/Berlin"
            draft.put(device)
        }
        scene.wait(.seconds(120))
        return scene
    }

    @Test func `A start waits for the morning, and goes out by itself`() throws {
        var scene = try scene()
        try scene.put(users: ["ann"])
        #expect(try scene.deliver().isEmpty)
        #expect(try scene.decision().reason.code == .quietHours)
        #expect(scene.store.nextWakeAt?.description == "2026-01-11T06:00:00Z")
        scene.now = try #require(scene.store.nextWakeAt)
        #expect(try scene.deliver().map(\.plan.kind) == [.start])
    }

    @Test(arguments: [false, true])
    func `A start with an alert of the call's goes out, unless alerts are held`(holdsAlerts: Bool) throws {
        var scene = try scene(holdsAlerts: holdsAlerts)
        try scene.put(users: ["ann"]) { $0.alert = .init(Sample.alert) }
        #expect(try scene.deliver().map(\.plan.kind) == (holdsAlerts ? [] : [.start]))
    }

    @Test func `A card that is there is updated and ended at night`() throws {
        var scene = try scene()
        try scene.report(activity: "a", token: "u1")
        try scene.put(users: ["ann"])
        #expect(try scene.deliver().map(\.plan.kind) == [.update])
        try scene.end()
        scene.wait(.seconds(2))
        #expect(try scene.deliver().map(\.plan.kind) == [.end])
    }

    @Test func `What ends before the morning is never started`() throws {
        var scene = try scene()
        try scene.put(users: ["ann"])
        try scene.deliver()
        try scene.end()
        scene.wait(.seconds(12 * 3600))
        #expect(try scene.deliver().isEmpty)
        #expect(try scene.decision().reason.code == .endedUnseen)
    }

    static func time(_ text: String) -> UnixTime? {
        // Inverts a time's description, using the lengths of the months.
        let parts = text.dropLast().split(whereSeparator: { "-T:".contains($0) }).compactMap { Int64($0) }
        guard parts.count == 6 else { return nil }
        func isLeap(_ year: Int64) -> Bool { year.isMultiple(of: 4) && !year.isMultiple(of: 100) }
        var days = parts[2] - 1
        for year in 1970..<parts[0] { days += isLeap(year) || year == 2000 ? 366 : 365 }
        let lengths: [Int64] = [31, isLeap(parts[0]) ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        for month in 0..<Int(parts[1]) - 1 { days += lengths[month] }
        let seconds: Int64 = parts[3] * 3600 + parts[4] * 60 + parts[5]
        return UnixTime(seconds: days * 86_400 + seconds)
    }
}
