import APNSModel
import TestSupport
import Testing

@testable import LiveActivityCore

/// Tests each cell of the table *state × event → state* of `CardLife` and of the document against the machine.
struct CardLifeTests {
    private static let now = Sample.now
    private static let local = Sample.local("card")

    private static let plan = PushPlan(
        kind: .start, revision: 2, priority: .high, alertRevision: 0, expiresAt: now + .seconds(300),
        reason: Reason(.firstState))

    private typealias Call = @Sendable (inout CardMachine) -> Void

    private static let other = Sample.local("other")

    /// Calls of each event. All calls of one event must lead to the same state.
    private static let events: [String: [Call]] = [
        "a start is claimed": [{ $0.claimStart(plan, timestamp: 9, reportSequence: 4, at: now) }],
        "a renewal is claimed": [{ $0.claimRenewal(plan, timestamp: 9, reportSequence: 4, at: now) }],
        "a start is taken, or may be": [{ $0.acceptStart() }, { $0.doubtStart() }],
        "a start is refused": [{ $0.refuseStart() }],
        "an end is taken": [
            { $0.acceptEnd(ofToken: true, isNews: true, beginsRun: false, at: now) },
            { $0.acceptEnd(ofToken: true, isNews: false, beginsRun: false, at: now) },
            { $0.acceptEnd(ofToken: true, isNews: true, beginsRun: true, at: now) },
        ],
        "a token is inactive": [
            { $0.loseCard(toEnd: true, beginsRun: false, at: now) },
            { $0.loseCard(toEnd: false, beginsRun: true, at: now) },
        ],
        "a flight is lost": [{ _ = $0.loseFlight(claimedAt: now) }],
        "the app requests": [{ $0.request(until: now) }],
        "the app takes its request back": [{ $0.withdrawRequest() }],
        "a card is shown": [
            { $0.show(CardSighting(localID: local), isUnwelcome: false, at: now) },
            { $0.show(CardSighting(localID: other, startedAt: now, sequence: 4), isUnwelcome: false, at: now) },
        ],
        "an unwelcome card is shown": [{ $0.show(CardSighting(localID: other), isUnwelcome: true, at: now) }],
        "a card is reported over": [
            { $0.finish(local, .ended) }, { $0.finish(local, .dismissed) }, { $0.finish(local, .gone) },
        ],
        "an inventory lacks the card": [{ $0.lose() }],
        "an inventory lacks the start's card": [{ $0.missStart() }],
        "no end has come to the card": [{ $0.outliveEnd() }],
        "a run begins": [{ $0.beginRun(2, at: now) }],
        "a person comes back": [{ $0.joinAfterEnd(in: 1, at: now) }, { $0.joinAfterEnd(in: 2, at: now) }],
        "a person comes back to a renewal": [comeBackToRenewal],
        "anything else": membership + answers + reports,
    ]

    private static func comeBackToRenewal(_ card: inout CardMachine) {
        var columns = card.columns
        columns.successorAt = now
        columns.successorExpiresAt = now + .seconds(300)
        card = CardMachine(columns)
        card.joinAfterEnd(in: 1, at: now)
    }

    private static let membership: [Call] = [
        { $0.admit(isSignedIn: true) }, { $0.admit(isSignedIn: false) }, { $0.waitForAudience(until: now) },
        { $0.beNamed(mayStart: false, alerted: 3) }, { $0.join(alerted: 3) }, { $0.leave(at: now) },
        { $0.evict(at: now) }, { $0.fallBack(3) }, { $0.takeFallBackBack() },
    ]

    private static let answers: [Call] = [
        { $0.loseAlert(3, of: 9) }, { $0.stopAwaiting() }, { $0.hold(3) }, { $0.takeHigh(claimedAt: now, at: now) },
        { $0.acceptUpdate(nextAt: now) }, { $0.acceptEnd(ofToken: false, isNews: true, beginsRun: false, at: now) },
        { $0.retry(at: now, counts: true) }, { $0.refuseRenewal() }, { $0.park(3) }, { $0.wait(until: now) },
        { $0.loseToken(9) }, { $0.use(9) }, { $0.retryPredecessor(at: now) }, { $0.forgetPredecessor() },
        { $0.note(LastDelivery(kind: .update, at: now, revision: 2, status: 200, reason: Reason(.accepted))) },
    ]

    private static let reports: [Call] = [
        { $0.findStray() }, { $0.giveWay() }, { $0.collapse() }, { $0.lookAfterPredecessor() }, { $0.takeToken() },
        { $0.confirm(3) }, { $0.contradict() }, { $0.lead(from: 1, until: now, isCertain: false) },
        { $0.confirmOver() }, { $0.confirmOver(.dismissed) }, { $0.repeatEnd(at: now) },
    ]

    /// Machines of a column. The state after a refused start depends on the state before it.
    private static func machines(_ column: String) -> [CardMachine] {
        var columns = CardColumns(activity: 1, device: 7, run: 1, at: now - .seconds(60))
        columns.timestamp = 5
        if column != "absent" { columns.startedAt = now - .seconds(30) }
        func made(_ state: CardState, _ change: (inout CardColumns) -> Void = { _ in }) -> CardMachine {
            var columns = columns
            columns.state = state
            change(&columns)
            return CardMachine(columns)
        }
        return switch column {
        case "absent": [made(.absent), made(.absent) { $0.startExpiresAt = now }]
        case "requesting": [made(.requesting), made(.requesting) { $0.stateBefore = .dismissed }]
        case "starting": [made(.starting), made(.starting) { $0.stateBefore = .gone }]
        case "unconfirmed": [made(.unconfirmed), made(.unconfirmed) { $0.stateBefore = .ended }]
        case "live": [made(.live) { $0.localID = local }, made(.live)]
        case "ending":
            [
                made(.ending) {
                    $0.localID = local; $0.tries = 1
                }, made(.ending) { $0.tries = 4 },
            ]
        case "over": [CardState.ended, .dismissed, .gone].map { made($0) { $0.localID = local } }
        default: []
        }
    }

    @Test(arguments: events.keys.sorted()) func `Each cell of the table is what the machine does`(_ name: String) throws
    {
        let cells = try #require(LifeTable.ofSource.rows[name], "the table has no line for this event")
        let calls = try #require(Self.events[name])
        for (state, cell) in zip(LifeTable.ofSource.columns, cells) {
            var seen: Set<String> = []
            for machine in Self.machines(state) {
                for call in calls {
                    var after = machine
                    call(&after)
                    seen.insert(after.state.column)
                    if cell == "never" { #expect(after.life == machine.life, "\(name) in \(state)") }
                }
            }
            #expect(seen == Set(LifeTable.ofSource.after(name, state)), "\(name) in \(state)")
        }
    }

    @Test func `The document has the same table, and the table has no line without an event`() throws {
        let source = LifeTable.ofSource
        #expect(LifeTable.ofDocument.columns == source.columns)
        #expect(LifeTable.ofDocument.rows.filter { source.rows[$0.key] != nil } == source.rows)
        #expect(Set(source.rows.keys) == Set(Self.events.keys))
    }

    @Test func `A machine laid out flat is the same machine again`() {
        for state in ["absent", "requesting", "starting", "unconfirmed", "live", "ending", "over"] {
            for machine in Self.machines(state) {
                for (name, calls) in Self.events {
                    for call in calls {
                        var after = machine
                        call(&after)
                        #expect(CardMachine(CardColumns(after)) == after, "\(name) in \(state)")
                    }
                }
            }
        }
    }
}
