import APNSModel
import JSONText
import LiveActivityCore
import TestSupport
import Testing

/// Tests of what is read from timelines, so that a day can be replayed.
struct RecordedCardTests {
    private static let device: DeviceKey = 5

    private static func entry(
        _ kind: HistoryEntry.Kind, _ seconds: Int, _ detail: String = "", _ code: Reason.Code? = nil,
        outcome: Reason.Code? = .accepted, revision: Revision = 1, priority: Int = 10
    ) -> HistoryEntry {
        let isPush = [.start, .update, .end].contains(kind)
        return HistoryEntry(
            kind, device: [.stateSet, .ended, .reopened].contains(kind) ? nil : device,
            at: Sample.now + .seconds(seconds), revision: revision, priority: isPush ? priority : 0,
            reason: code.map { Reason($0) }, outcome: isPush ? outcome.map { Reason($0) } : nil, detail: detail)
    }

    private static func card(_ entries: [HistoryEntry], from seconds: Int = 0) throws -> RecordedCard {
        let record = ActivityRecord(
            number: 1, app: Sample.bundleID, id: Sample.activityID("a"), type: "order", at: Sample.now)
        let facts = DeviceFacts(
            key: device, id: Sample.device("p"), userID: Sample.user("ada"), contactAt: Sample.now)
        let card = CardMachine(activity: 1, device: device, run: 1, at: Sample.now - .seconds(9999))
        let activity = RecordedActivity(
            record, attributes: [:], phones: [PhoneSituation(card: card, device: facts)], entries: entries,
            from: Sample.now + .seconds(seconds), to: Sample.now + .seconds(100_000))
        return try #require(activity.cards[device])
    }

    @Test func `how long a phone takes is learnt from the first time that it was seen`() throws {
        let card = try Self.card([
            Self.entry(.start, 0, "", .firstState), Self.entry(.reported, 4, "active"),
            Self.entry(.tokenReported, 60, "abcd…"), Self.entry(.tokenReported, 90, "ef01…"),
            Self.entry(.end, 100, "", .activityEnded), Self.entry(.reported, 103, "ended"),
        ])
        #expect(card.reports == .after(.seconds(4)) && card.token == .after(.seconds(60)))
        #expect(card.confirmsEnd == .after(.seconds(3)) && card.standing == .nothing)
        #expect(card.acts == [.init(at: Sample.now + .seconds(90), .newToken)])
    }

    @Test func `one that did not answer never does, and of one that was not asked nothing is known`() throws {
        let silent = try Self.card([Self.entry(.start, 0, "", .firstState), Self.entry(.end, 9, "", .activityEnded)])
        #expect(silent.reports == .never && silent.token == .never && silent.confirmsEnd == .never)
        let refused = try Self.card([Self.entry(.start, 0, "", .firstState, outcome: .tokenInactive)])
        #expect(refused.reports == .unknown && refused.token == .unknown)
    }

    @Test func `a phone that is quicker than the answer was asked by that push all the same`() throws {
        let card = try Self.card([
            Self.entry(.tokenReported, 10, "abcd…"), Self.entry(.reported, 10, "active"),
            Self.entry(.start, 11, "", .firstState), Self.entry(.reported, 60, "ended"),
            Self.entry(.end, 61, "", .activityEnded),
        ])
        #expect(card.acts.isEmpty)
        #expect(card.reports == .after(.zero) && card.token == .after(.zero) && card.confirmsEnd == .after(.zero))
        // The report came long before the push, so the app had started the card.
        let own = try Self.card([Self.entry(.reported, 10, "active"), Self.entry(.start, 30, "", .firstState)])
        #expect(own.acts.map(\.deed) == [.starts] && own.reports == .never)
    }

    @Test func `what a phone does of itself is kept, and where it stood when the stretch began`() throws {
        let entries = [
            Self.entry(.tokenReported, 0, "abcd…"), Self.entry(.reported, 50, "dismissed"),
            Self.entry(.reported, 60, "active"), Self.entry(.reported, 70, "not in the inventory"),
            Self.entry(.audienceChanged, 80, "left"),
        ]
        #expect(try Self.card(entries).acts.map(\.deed) == [.starts, .dismisses, .starts, .loses, .leaves])
        let later = try Self.card(entries, from: 20)
        #expect(later.standing == .live(hasToken: true))
        #expect(later.acts.map(\.deed) == [.dismisses, .starts, .loses, .leaves])
        #expect(try Self.card(entries, from: 55).standing == .dismissed)
        #expect(try Self.card(entries, from: 65).standing == .live(hasToken: false))
        #expect(try Self.card(entries, from: 999).standing == .nothing)
    }

    @Test func `a day's figures are those of what was accepted inside of it`() {
        let timeline = [
            Self.entry(.stateSet, -5, "{}", revision: 1), Self.entry(.start, -4, "", .firstState, revision: 1),
            Self.entry(.stateSet, 0, "{}", revision: 2), Self.entry(.stateSet, 1, "{}", revision: 3),
            Self.entry(.update, 3, "", .newState, outcome: .serviceTrouble, revision: 3),
            Self.entry(.update, 9, "", .newState, revision: 3, priority: 5),
            Self.entry(.update, 10, "", .staleDateRenewed, revision: 3, priority: 5),
            Self.entry(.stateSet, 20, "{}", revision: 4), Self.entry(.fallback, 21, "", .noPushToStartToken),
            Self.entry(.ended, 30, "{}", .nobodyEnded, revision: 5),
            Self.entry(.end, 31, "", .activityEnded, revision: 5),
            Self.entry(.update, 50, "", .newState, revision: 5),
        ]
        let figures = DayFigures(counting: [timeline], from: Sample.now, to: Sample.now + .seconds(40))
        #expect((figures.starts, figures.updates, figures.ends, figures.fallbacks) == (0, 2, 1, 1))
        #expect((figures.high, figures.low, figures.alerts, figures.endedIdle) == (1, 2, 0, 1))
        #expect(figures.reasons == [.newState: 1, .staleDateRenewed: 1, .activityEnded: 1])
        // The fourth state was sent with the end.
        #expect((figures.changes.sent, figures.changes.together, figures.changes.unsent) == (1, 2, 0))
        #expect(figures.waits == [.seconds(8)] && figures.wait(0.5) == .seconds(8) && DayFigures().wait(1) == nil)
    }
}
