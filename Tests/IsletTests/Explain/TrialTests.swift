import APNSModel
import Foundation
import JSONText
import LiveActivityCore
import StorageSQL
import StorageSQLite
import Testing

@testable import LiveActivityServer
@testable import islet

@Suite struct TrialTests {
    /// Returns a sample of a card with this many changes at this interval.
    private func changes(_ count: Int, every pause: Duration, more: String = "") -> RecordedSample {
        var sample = RecordedSample()
        sample.hasCard()
        for number in 0..<count { sample.set(pause * number, more: more) }
        return sample
    }

    @Test func `ten changes within a second are two pushes, and a longer window makes the second one late`()
        async throws
    {
        let sample = changes(10, every: .milliseconds(100))
        let second = try await sample.figures()
        #expect((second.pushes, second.updates, second.changes.sent, second.changes.together) == (2, 2, 2, 8))
        #expect(second.waits == [.zero, .milliseconds(100)])
        let minute = try await sample.figures { $0.coalescingWindow = .seconds(60) }
        #expect((minute.pushes, minute.changes.sent, minute.changes.together) == (2, 2, 8))
        #expect(minute.waits == [.zero, .milliseconds(59_100)] && minute.wait(0.5) == .zero)
        #expect(minute.changes.unsent == 0 && minute.refused == 0 && minute.starts == 0)
    }

    @Test func `ten changes of five seconds each are ten pushes, or two with a window of a minute`() async throws {
        let sample = changes(10, every: .seconds(5))
        let second = try await sample.figures()
        #expect((second.updates, second.changes.sent, second.changes.together) == (10, 10, 0))
        let minute = try await sample.figures { $0.coalescingWindow = .seconds(60) }
        #expect((minute.updates, minute.changes.sent, minute.changes.together) == (2, 2, 8))
        #expect(minute.reasons == [.newState: 2] && minute.low == 2 && minute.alerts == 0)
    }

    @Test func `a budget that is used up lowers pushes, and so does the interval`() async throws {
        let sample = changes(12, every: .seconds(120), more: #","priority":"high""#)
        let now = try await sample.figures()
        #expect((now.high, now.low, now.loweredByBudget, now.loweredByInterval) == (12, 0, 0, 0))
        // Two pushes at once, of which a tenth is kept for alerts; one refills in half an hour. They are the first push
        // and the one at 6 minutes.
        let little = try await sample.figures { $0.budgets.high = BudgetLimit(perHour: 4, perDay: 100) }
        #expect((little.high, little.low, little.loweredByBudget, little.loweredByInterval) == (2, 10, 10, 0))
        let seldom = try await sample.figures { $0.highPriorityInterval = .seconds(600) }
        #expect((seldom.high, seldom.low, seldom.loweredByBudget, seldom.loweredByInterval) == (3, 9, 0, 9))
    }

    @Test func `what a rule calls worth it goes at high priority, and nothing that was wished is lost`() async throws {
        let sample = changes(3, every: .seconds(120))
        #expect(try await sample.figures().high == 0)
        let rule = TypePolicy.HighWhen(pointer: JSONPointer(tokens: ["step"]), values: [3])
        let figures = try await sample.figures { $0.highWhen = rule }
        #expect((figures.high, figures.low) == (1, 2))
        let alert = changes(1, every: .zero, more: #","alert":{"title":"Ready"}"#)
        #expect(try await alert.figures().alerts == 1)
    }

    @Test func `quiet hours hold a start back, and a fallback takes the place of one that cannot be`() async throws {
        var sample = RecordedSample()
        sample.from = RecordedSample.noon + .seconds(10 * 3600)
        sample.to = sample.from + .seconds(2 * 3600)
        sample.set(.seconds(1800))
        let now = try await sample.figures(zone: "UTC")
        #expect((now.starts, now.alerts, now.held, now.changes.unsent) == (1, 1, [:], 0))
        let zones = PolicyBuilder.zones
        let (from, to) = (try #require(TimeOfDay("22:00")), try #require(TimeOfDay("07:00")))
        let quiet = QuietHours(from: from, to: to, zone: nil, holdsAlerts: false, zones: zones)
        let night = try await sample.figures(zone: "UTC") { $0.quietHours = quiet }
        #expect((night.pushes, night.held, night.changes.unsent) == (0, [.quietHours: 1], 1))
        sample.hasStartToken = false
        let words = AlertTemplate(PushAlert(title: .text("Your order")))
        let fallback = try await sample.figures { $0.fallback = words }
        #expect((fallback.pushes, fallback.fallbacks) == (0, 1))
    }

    @Test func `at the ceiling a start waits, or another card makes room`() async throws {
        var sample = RecordedSample()
        sample.set(.seconds(10))
        var day = sample.day()
        // Another activity begins when the first card is there.
        var later = RecordedSample()
        later.set(.seconds(60))
        var other = try #require(later.day().activities.first)
        other.record.id = ActivityID(stored: "order-2")
        day.activities.append(other)
        #expect(try await sample.figures(day).starts == 2)
        let waiting = try await sample.figures(day) { policy in
            policy.atCeiling = .wait
            policy.ceiling = 1
        }
        #expect((waiting.starts, waiting.held, waiting.changes.unsent) == (1, [.atCeiling: 1], 1))
    }

    @Test func `an activity that nobody sets any more is ended when the policy says so`() async throws {
        let sample = changes(1, every: .zero)
        let now = try await sample.figures()
        #expect((now.ends, now.endedIdle) == (0, 0))
        let sooner = try await sample.figures { $0.endAfter = .seconds(3600) }
        #expect((sooner.ends, sooner.endedIdle, sooner.reasons[.activityEnded]) == (1, 1, 1))
    }

    @Test func `phones answer as they did`() async throws {
        // The person tapped Allow ten minutes after the start.
        var sample = RecordedSample()
        sample.set(.seconds(10))
        sample.accepted(.start, .seconds(10), .firstState)
        sample.set(.seconds(60))
        sample.phone(.tokenReported, .seconds(610), "abcd…")
        sample.set(.seconds(900))
        sample.phone(.reported, .seconds(1000), "dismissed")
        sample.set(.seconds(1100))
        let figures = try await sample.figures()
        #expect(figures.reasons == [.firstState: 1, .freshToken: 1, .newState: 1])
        #expect((figures.changes.sent, figures.changes.unsent) == (3, 1))
        // A phone that never answered gets only its start.
        var silent = RecordedSample()
        silent.set(.seconds(10))
        silent.accepted(.start, .seconds(10), .firstState)
        silent.set(.seconds(600))
        #expect(try await silent.figures().reasons == [.firstState: 1])
        // An app that starts the card itself.
        var app = RecordedSample()
        app.set(.seconds(10))
        app.phone(.tokenReported, .seconds(20), "abcd…")
        app.set(.seconds(600))
        let own = try await app.figures { $0.start = .appOnly }
        #expect((own.starts, own.updates) == (0, 2))
    }

    @Test func `a trial ends when its time is over, and with its task`() async throws {
        let sample = changes(3, every: .seconds(5))
        await #expect(throws: PolicyTrials.Stopped.self) { _ = try await sample.figures(isOver: { true }) }
        let cancelled = await withTaskGroup(of: Bool.self) { group in
            group.cancelAll()
            group.addTask {
                do {
                    _ = try await sample.figures()
                    return false
                } catch { return error is CancellationError }
            }
            return await group.next() ?? false
        }
        #expect(cancelled)
    }

    @Test func `nothing is left of it, whatever happens`() async throws {
        struct Fault: Error {}
        func folder(_ fails: Bool) async throws -> (path: String, isLeft: Bool) {
            var path = ""
            do {
                try await TrialStore.with { store in
                    path = try #require(store.database as? SQLiteDatabase).path
                    #expect(FileManager.default.fileExists(atPath: path))
                    if fails { throw Fault() }
                }
            } catch is Fault { #expect(fails) }
            let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
            return (path, FileManager.default.fileExists(atPath: folder))
        }
        for fails in [false, true] {
            let (path, isLeft) = try await folder(fails)
            #expect(path.contains("islet-trial-") && !isLeft)
        }
    }

    // MARK: - Words

    private func policy(_ change: JSONObject, over present: TypePolicy) throws(PolicyTrials.Faults) -> TypePolicy {
        try PolicyTrials.played.policy(present.described, change)
    }

    @Test func `words are laid over the present policy, and null takes one away`() throws {
        let folder = try Folder()
        let text =
            "{startAlert: {title: 'Order {/id|new}', body: {locKey: ON_ITS_WAY, locArgs: ['{/eta}']}}, "
            + "staleAfter: 90s, coalescingWindow: 1.5, budgets: {highPerHour: 30, reserve: 20}, dismissAfter: 30m, "
            + "endAfter: 0s, highWhen: {pointer: /status, values: [ready, 5, null]}, atCeiling: wait, ceiling: 3, "
            + "join: open, quietHours: {from: '22:00', to: '07:00', zone: Europe/Berlin, holdAlerts: true}, "
            + "renewal: true, fallback: {title: Order}, restart: onAlert, reusable: true, authority: app, "
            + "startGrace: 0s}"
        let settings = try folder.load(Sample.file(policy: text))
        let present = try #require(settings.apps.first?.types["Order"]?.policy)
        #expect(try policy([:], over: present) == present)
        var expected = present
        expected.coalescingWindow = .seconds(30)
        expected.quietHours = nil
        expected.budgets.high.perHour = 40
        let changed = try policy(
            ["coalescingWindow": "30s", "quietHours": nil, "budgets": ["highPerHour": 40]], over: present)
        #expect(changed == expected)
    }

    @Test(
        arguments: [
            (["coalescingWindow": "0s"], "/coalescingWindow"), (["coalescingWindow": "soon"], "/coalescingWindow"),
            (["quietHours": ["from": "25:00", "to": "07:00"]], "/quietHours/from"), (["windows": 3], "/windows"),
            (["windows": nil], "/windows"), (["budgets": ["highPerHour": 1]], "/budgets/highPerHour"),
            (["budgets": ["perHour": 5]], "/budgets/perHour"), (["startAlert": nil], "/startAlert"),
            (["startAlert": ["title": "{/x}"]], "/startAlert/title"),
            (["highWhen": ["values": [1]]], "/highWhen/pointer"),
            (["highWhen": ["pointer": "x", "values": [1]]], "/highWhen/pointer"), (["start": "perhaps"], "/start"),
        ] as [(JSONObject, String)])
    func `words that mean nothing are refused with their place`(_ change: JSONObject, _ place: String) throws {
        let faults = #expect(throws: PolicyTrials.Faults.self) {
            try policy(change, over: RecordedSample.type().policy)
        }
        #expect(faults?.all.map(\.pointer) == [place], "\(faults?.all ?? [])")
        #expect(faults?.all.first?.problem.isEmpty == false)
    }

    @Test func `everything that is wrong is said at once`() {
        let faults = #expect(throws: PolicyTrials.Faults.self) {
            try policy(
                ["ceiling": 900, "endAfter": "1m", "windows": 1, "atCeiling": "fall"],
                over: RecordedSample.type().policy)
        }
        #expect(
            Set(faults?.all.map(\.pointer) ?? []) == ["/ceiling", "/endAfter", "/windows", "/atCeiling"])
    }
}
