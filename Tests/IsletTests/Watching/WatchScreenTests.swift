import JSONText
import LiveActivityAPI
import Testing

@testable import islet

struct WatchScreenTests {
    private static let now = Instant(milliseconds: 1_795_272_300_000) ?? .current

    private static func moment(_ secondsAgo: Int) -> Instant {
        Instant(clampingMilliseconds: now.milliseconds - secondsAgo * 1000)
    }

    private static func phone(_ name: String, _ revision: Int, shown: Int? = nil, state: String = "live") -> DeviceView
    {
        DeviceView(
            device: name, user: "ada", localID: nil, state: state, revision: revision, shownRevision: shown,
            confirmation: shown == nil ? .accepted : .held, lastDelivery: nil,
            reason: Reason(code: "up-to-date", text: "the phone holds the newest state"))
    }

    private static func screen(_ phones: [DeviceView], phase: String = "active", counts: [String: Int]) -> WatchScreen {
        WatchScreen(
            view: ActivityView(
                activity: "order-1", type: "Order", phase: phase, run: 1, revision: 4, state: ["eta": 5],
                attributes: [:], updatedAt: moment(12), counts: counts, devices: phones),
            timeline: [
                .init(
                    at: moment(12), kind: "update", device: "p1", revision: 4, code: "accepted",
                    text: "APNs accepted the push", status: 200)
            ], now: now)
    }

    private static let two = screen([phone("p1", 4, shown: 4), phone("p2", 3)], counts: ["live": 2])

    @Test func `it says what should be shown, how far that has come, and what happens with each phone`() {
        #expect(
            Self.two.lines(.init()) == [
                "order-1  Order, active, run 1, revision 4, changed 12 s ago",
                #"{"eta":5}"#, "",
                "accepted  ████████████░░░░░░░░░░░░  1 of 2 phones were sent revision 4 and APNs accepted it",
                "held      ████████████░░░░░░░░░░░░  1 of 2 phones confirmed it",
                "live 2", "",
                "PHONE  PERSON  CARD  REVISION  CONFIRMED  STATUS",
                "p2     ada     live  3         accepted   the phone holds the newest state",
                "p1     ada     live  4         held       the phone holds the newest state", "",
                "14:44:48  update            p1: r4 APNs accepted the push (200)",
            ])
    }

    @Test func `a fan-out has a bar, with what is left as soon as its pace is known`() {
        var screen = Self.two
        screen = WatchScreen(
            view: screen.view.with(fanOut: .init(done: 5_000, phones: 20_000)), timeline: [], now: Self.now)
        #expect(screen.lines(.init())[3] == "sending   ██████░░░░░░░░░░░░░░░░░░  5,000 of 20,000 phones processed")
        screen.secondsLeft = 30
        #expect(screen.lines(.init())[3].hasSuffix("processed, about 30 s left"))
    }

    @Test func `the pace is that of the change which is on its way`() {
        var pace = FanOutPace()
        func see(_ done: Int?, _ seconds: Int, revision: Int = 4) {
            pace.see(done.map { .init(done: $0, phones: 1000) }, of: revision, at: Self.moment(100 - seconds))
        }
        func left() -> Int? { pace.secondsLeft(of: .init(done: 0, phones: 1000)) }
        see(0, 0)
        #expect(left() == nil)
        see(100, 1)
        #expect(left() == 9)
        see(300, 2)
        #expect(left() == 5)
        see(10, 3, revision: 5)
        #expect(left() == nil)
        see(20, 4, revision: 5)
        #expect(left() == 98)
        see(nil, 5)
        #expect(left() == nil)
    }

    @Test func `few lines, many phones, and what holds everything back`() {
        let phones = (0..<40).map { Self.phone("p\($0)", 4) }
        var view = Self.screen(phones, counts: ["live": 40, "starting": 2, "gone": 0]).view
        view.more = 960
        view.next = "1k"
        view.reason = Reason(code: "halted", text: "APNs refuses the key")
        var screen = WatchScreen(view: view, timeline: [], now: Self.now)
        screen.trouble = "nobody answers"
        let lines = screen.lines(.init(columns: 40, phones: 3, entries: 0))
        #expect(lines[2...3] == ["! APNs refuses the key", "! nobody answers"])
        #expect(lines.contains("live 40, starting 2, and 960 not counted") && lines.contains("and 997 more"))
        #expect(lines.allSatisfy { $0.count <= 40 })
        #expect(lines.count { $0.hasPrefix("p") } == 3)
    }

    @Test(arguments: [
        // In order: everything fits; the phones give way to the events; nothing of the table fits; the head hardly
        // fits.
        (40, 20, 6), (30, 13, 6), (18, 4, 3), (12, 0, 1), (6, 0, 0),
    ])
    func `a terminal's rows are shared, and never exceeded`(rows: Int, phones: Int, entries: Int) {
        let entry = Self.two.timeline[0]
        var screen = WatchScreen(
            view: Self.screen((0..<20).map { Self.phone("p\($0)", 4) }, counts: ["live": 20]).view,
            timeline: Array(repeating: entry, count: 6), now: Self.now)
        screen.trouble = "nobody answers"
        let lines = screen.lines(.init(columns: 100, rows: rows, phones: 1000, entries: 10))
        #expect(lines.count <= rows && lines[2] == "! nobody answers")
        #expect(lines.count { $0.hasPrefix("p") } == phones && lines.count { $0.hasPrefix("14:") } == entries)
        #expect(phones == 20 || phones == 0 || lines.contains("and \(20 - phones) more"))
    }

    @Test func `what moves a terminal's cursor is not drawn`() {
        let lines = Self.screen([Self.phone("\u{1B}[2Jp\n", 4)], counts: [:]).lines(.init())
        #expect(!lines.joined().unicodeScalars.contains { $0.value < 32 })
        #expect(lines.contains { $0.hasPrefix("�[2Jp�") })
    }

    @Test(arguments: [
        ("ended", ["ended": 2], true), ("ended", ["dismissed": 1, "gone": 1, "absent": 3], true),
        ("ended", ["ending": 1], false), ("ended", ["unconfirmed": 1], false), ("active", ["ended": 2], false),
    ])
    func `it is over when no card is left`(phase: String, counts: [String: Int], isOver: Bool) {
        let screen = Self.screen([], phase: phase, counts: counts)
        #expect(screen.isOver == isOver)
        #expect(
            !WatchScreen(view: screen.view.with(fanOut: .init(done: 1, phones: 2)), timeline: [], now: Self.now).isOver)
    }

    @Test(arguments: [(-5, "0 s"), (119, "119 s"), (120, "2 min"), (7199, "119 min"), (7200, "2 h"), (172_800, "2 d")])
    func `how long ago is said in the unit that fits`(seconds: Int, text: String) {
        #expect(Wording.ago(Self.moment(seconds), now: Self.now) == "\(text) ago")
    }
}

extension ActivityView {
    fileprivate func with(fanOut: FanOut) -> Self {
        var view = self
        view.fanOut = fanOut
        return view
    }
}
