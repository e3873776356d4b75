import APNSModel
import JSONText
import LiveActivityCore
import TestSupport
import Testing

/// A situation and the decision about it.
struct Situation: Sendable, CustomTestStringConvertible {
    var desired: DesiredSituation
    var phone: PhoneSituation
    var now = Sample.now
    let name: String

    /// An active activity at revision 3, begun an hour ago, on a phone that has no card and can be started.
    init(_ name: String, _ change: (inout Situation) -> Void = { _ in }) {
        self.name = name
        var activity = ActivityRecord(
            number: 1, app: Sample.bundleID, id: Sample.activityID("a"), type: "order", at: Sample.now - .seconds(3600))
        activity.revision = 3
        desired = DesiredSituation(activity: activity, type: Sample.type(), isHighState: false)
        phone = PhoneSituation(
            card: CardMachine(activity: 1, device: 7, run: 1, at: Sample.now - .seconds(3600)),
            device: Sample.deviceRecord().facts, pushToStartToken: Sample.startToken())
        change(&self)
    }

    var testDescription: String { name }
    var decision: Decision { Reconciler.decide(desired, phone, now: now) }

    mutating func makeLive(sent: Revision = 2, state: CardState = .live) {
        phone.card.columns.state = state
        phone.card.columns.localID = Sample.local("card")
        phone.card.columns.sentRevision = sent
        phone.card.columns.startedAt = Sample.now - .seconds(3000)
        phone.card.columns.tokenGeneration = 1
        phone.updateToken = Sample.updateToken()
        phone.card.columns.last = LastDelivery(
            kind: .update, at: Sample.now - .seconds(60), revision: sent, status: 200, reason: Reason(.accepted))
    }

    mutating func makeStarted(_ state: CardState, ago: Duration, status: Int = 200) {
        phone.card.columns.state = state
        phone.card.columns.startedAt = now - ago
        phone.card.columns.startExpiresAt = now - ago + .seconds(300)
        phone.card.columns.last = LastDelivery(
            kind: .start, at: now - ago, revision: 3, status: status,
            reason: Reason(status == 200 ? .accepted : .unknownFate))
    }

    mutating func alert(revision: Revision = 3, expiresAt: UnixTime = Sample.now + .seconds(600)) {
        desired.activity.alert = AlertRecord(
            id: "x", revision: revision, alert: Sample.alert, expiresAt: expiresAt, keep: false, onUnknown: .drop)
    }
}

struct ReconcilerTests {
    enum Outcome: Sendable, Equatable { case start, update, end, fallBack, wait, nothing }

    static func outcome(_ decision: Decision) -> Outcome {
        switch decision {
        case .send(let plan):
            switch plan.kind {
            case .start: .start
            case .update: .update
            case .end: .end
            }
        case .fallBack: .fallBack
        case .wait: .wait
        case .nothing: .nothing
        }
    }

    typealias Row = (situation: Situation, outcome: Outcome, code: Reason.Code)

    static let noCard: [Row] = [
        (Situation("absent"), .start, .firstState),
        (Situation("announced") { $0.desired.activity.phase = .announced }, .nothing, .notAnnounced),
        (Situation("signed out") { $0.phone.device.signedOutAt = Sample.now }, .nothing, .signedOut),
        (Situation("ended unseen") { $0.desired.activity.phase = .ended }, .nothing, .endedUnseen),
        (Situation("not wanted") { $0.phone.card.columns.isWanted = false }, .nothing, .leftAudience),
        (Situation("start never") { $0.desired.activity.start = .never }, .nothing, .startNever),
        (Situation("app only") { $0.desired.activity.start = .appOnly }, .nothing, .appOnly),
        (Situation("disabled") { $0.phone.device.activitiesEnabled = false }, .nothing, .activitiesDisabled),
        (Situation("iOS 17.1") { $0.phone.device.osVersion = OSVersion(17, 1) }, .nothing, .belowPushToStart),
        (Situation("iOS 17.2") { $0.phone.device.osVersion = OSVersion(17, 2) }, .start, .firstState),
        (Situation("iOS not known") { $0.phone.device.osVersion = nil }, .start, .firstState),
        (Situation("other device") { $0.phone.card.columns.mayStart = false }, .nothing, .otherDeviceActive),
        (Situation("no start token") { $0.phone.pushToStartToken = nil }, .nothing, .noPushToStartToken),
        (
            Situation("dead start token") { $0.phone.pushToStartToken?.deadAt = Sample.now }, .nothing,
            .pushToStartTokenDead
        ),
        (Situation("nothing to say") { $0.desired.type.policy.startAlert = nil }, .nothing, .noStartAlert),
        (
            Situation("says the alert") {
                $0.desired.type.policy.startAlert = nil; $0.alert()
            }, .start, .firstState
        ),
        (Situation("parked") { $0.phone.card.columns.parkedRevision = 3 }, .nothing, .parked),
        (Situation("parked before") { $0.phone.card.columns.parkedRevision = 2 }, .start, .firstState),
        (
            Situation("payload refused") {
                $0.phone.card.columns.parkedRevision = 3
                $0.phone.card.columns.last = LastDelivery(
                    kind: .start, at: Sample.now, revision: 3, status: 0, reason: Reason(.payloadRefused, "too large"))
            }, .nothing, .payloadRefused
        ),
        (Situation("other start open") { $0.phone.hasOtherOpenStart = true }, .wait, .otherStartOpen),
        (
            Situation("other start, told apart") {
                $0.phone.hasOtherOpenStart = true
                $0.desired.type.activityIDAttribute = Sample.pointer("/orderID")
            }, .start, .firstState
        ),
        (
            Situation("refused a moment ago") { $0.phone.card.columns.dueAt = Sample.now + .seconds(1) }, .wait,
            .retryLater
        ),
        (Situation("refused long ago") { $0.phone.card.columns.dueAt = Sample.now }, .start, .firstState),
        (
            Situation("in touch, new activity") {
                $0.desired.activity.runStartedAt = Sample.now - .seconds(14)
                $0.phone.card.columns.createdAt = Sample.now - .seconds(14)
                $0.phone.device.contactAt = Sample.now - .seconds(59)
            }, .wait, .startGrace
        ),
        (
            Situation("grace is over") {
                $0.desired.activity.runStartedAt = Sample.now - .seconds(15)
                $0.phone.device.contactAt = Sample.now
            }, .start, .firstState
        ),
        (
            Situation("new activity, not in touch") {
                $0.desired.activity.runStartedAt = Sample.now
                $0.phone.device.contactAt = Sample.now - .seconds(60)
            }, .start, .firstState
        ),
        (
            Situation("app is starting") {
                $0.phone.card.columns.state = .requesting
                $0.phone.card.columns.leaseUntil = Sample.now + .seconds(1)
            }, .wait, .requesting
        ),
        (
            Situation("app never did") {
                $0.phone.card.columns.state = .requesting
                $0.phone.card.columns.leaseUntil = Sample.now
            }, .start, .firstState
        ),
        (Situation("start in flight") { $0.makeStarted(.starting, ago: .seconds(1)) }, .nothing, .starting),
        (
            Situation("answer awaited") {
                $0.makeStarted(.starting, ago: .seconds(1))
                $0.phone.card.columns.dueAt = Sample.now + .seconds(5)
            }, .wait, .starting
        ),
        (
            Situation("answer never came") {
                $0.makeStarted(.starting, ago: .seconds(60), status: 0)
                $0.phone.card.columns.dueAt = Sample.now - .seconds(5)
            }, .wait, .startFateUnknown
        ),
        (Situation("unconfirmed") { $0.makeStarted(.unconfirmed, ago: .seconds(1)) }, .wait, .startUnconfirmed),
        (
            Situation("fate unknown") { $0.makeStarted(.unconfirmed, ago: .seconds(1), status: 0) }, .wait,
            .startFateUnknown
        ),
        (
            Situation("unconfirmed, ended") {
                $0.makeStarted(.unconfirmed, ago: .seconds(1))
                $0.desired.activity.phase = .ended
            }, .nothing, .waitingForUpdateToken
        ),
        (
            Situation("earlier run, over") {
                $0.makeLive()
                $0.phone.card.columns.state = .ending
                $0.desired.activity.run = 2
            }, .start, .firstState
        ),
        (
            Situation("earlier run, still there") {
                $0.makeLive()
                $0.desired.activity.run = 2
            }, .end, .earlierRun
        ),
    ]

    static let card: [Row] = [
        (Situation("behind") { $0.makeLive() }, .update, .newState),
        (Situation("up to date") { $0.makeLive(sent: 3) }, .nothing, .upToDate),
        (
            Situation("shown by the phone") {
                $0.makeLive(); $0.phone.card.columns.shownRevision = 3
            }, .nothing, .upToDate
        ),
        (Situation("fresh token") { $0.makeLive(sent: 0) }, .update, .freshToken),
        (
            Situation("no token") {
                $0.makeLive(); $0.phone.updateToken = nil
            }, .nothing, .waitingForUpdateToken
        ),
        (
            Situation("dead token") {
                $0.makeLive(); $0.phone.updateToken?.deadAt = Sample.now
            }, .nothing, .updateTokenDead
        ),
        (
            Situation("live parked") {
                $0.makeLive(); $0.phone.card.columns.parkedRevision = 3
            }, .nothing, .accepted
        ),
        (
            Situation("backing off") {
                $0.makeLive(); $0.phone.card.columns.dueAt = Sample.now + .seconds(1)
            }, .wait, .retryLater
        ),
        (
            Situation("told by itself a moment ago") {
                $0.makeLive()
                $0.phone.card.columns.last?.at = Sample.now
                $0.phone.card.columns.dueAt = Sample.now + .seconds(1)
            }, .wait, .coalescing
        ),
        (
            Situation("told by itself a moment ago, and an alert") {
                $0.makeLive()
                $0.alert()
                $0.phone.card.columns.last?.at = Sample.now
                $0.phone.card.columns.dueAt = Sample.now + .seconds(1)
            }, .update, .newState
        ),
        (
            Situation("contradicted") {
                $0.makeLive(sent: 3)
                $0.phone.card.columns.sentRevision = 0
                $0.phone.card.columns.contradictions = 1
            }, .update, .phoneBehind
        ),
        (
            Situation("ended") {
                $0.makeLive(); $0.desired.activity.phase = .ended
            }, .end, .activityEnded
        ),
        (
            Situation("left") {
                $0.makeLive(sent: 3); $0.phone.card.columns.isWanted = false
            }, .end, .leftAudience
        ),
        (
            Situation("signed out with a card") {
                $0.makeLive(sent: 3)
                $0.phone.card.columns.isWanted = false
                $0.phone.device.signedOutAt = Sample.now
            }, .end, .leftAudience
        ),
        (Situation("card ended") { $0.makeLive(state: .ended) }, .nothing, .cardEnded),
        (Situation("dismissed") { $0.makeLive(state: .dismissed) }, .nothing, .personDismissed),
        (Situation("gone") { $0.makeLive(state: .gone) }, .nothing, .cardGone),
    ]

    static var rows: [Row] { noCard + card + ends }

    /// A situation whose end was accepted the given number of times. The next try is due after `due`.
    static func ending(
        _ name: String, tries: Int, due: Duration?, _ change: (inout Situation) -> Void = { _ in }
    ) -> Situation {
        Situation(name) { situation in
            situation.makeLive(sent: 3, state: .ending)
            situation.desired.activity.phase = .ended
            situation.phone.card.columns.tries = tries
            situation.phone.card.columns.dueAt = due.map { Sample.now + $0 }
            situation.phone.card.columns.last?.kind = .end
            change(&situation)
        }
    }

    static let ends: [Row] = [
        (ending("first repeat not due", tries: 1, due: .seconds(1)), .wait, .endSent),
        (ending("first repeat", tries: 1, due: .seconds(0)), .end, .endRepeated),
        (ending("second repeat", tries: 2, due: .seconds(-1)), .end, .endRepeated),
        (ending("no third repeat", tries: 3, due: nil), .nothing, .endSent),
        (
            ending("another last state", tries: 2, due: .seconds(7000)) {
                $0.desired.activity.revision = 4
                $0.phone.card.columns.last?.at = Sample.now - .seconds(200)
            }, .end, .activityEnded
        ),
        (
            ending("another last state, refused", tries: 1, due: .seconds(9)) {
                $0.desired.activity.revision = 4
                $0.phone.card.columns.last?.reason = Reason(.slowDown, "then")
            }, .wait, .retryLater
        ),
        (
            ending("left and the activity goes on", tries: 1, due: .seconds(5)) {
                $0.desired.activity.phase = .active
                $0.desired.activity.revision = 9
                $0.phone.card.columns.isWanted = false
            }, .wait, .endSent
        ),
    ]

    @Test(arguments: rows.indices) func `each situation has its decision`(index: Int) {
        let row = Self.rows[index]
        let decision = row.situation.decision
        #expect(Self.outcome(decision) == row.outcome, "\(row.situation.name)")
        #expect(decision.reason.code == row.code, "\(row.situation.name)")
    }

    @Test func `every reason the reconciler can give is given by a row`() {
        let codes: [Reason.Code] = [
            .firstState, .newState, .freshToken, .phoneBehind, .activityEnded, .endRepeated, .leftAudience, .requesting,
            .startGrace, .starting, .retryLater, .coalescing, .upToDate, .startUnconfirmed, .startFateUnknown,
            .waitingForUpdateToken,
            .updateTokenDead, .belowPushToStart, .activitiesDisabled, .noPushToStartToken, .pushToStartTokenDead,
            .appOnly, .startNever, .noStartAlert, .otherStartOpen, .personDismissed, .cardGone, .cardEnded, .endSent,
            .endedUnseen, .signedOut, .notAnnounced, .otherDeviceActive, .parked,
        ]
        #expect(Set(codes).isSubset(of: Self.rows.map(\.code)))
    }

    // MARK: - The start rule

    @Test func `a start is followed by none before 12 hours after its expiration`() {
        for state in [CardState.starting, .unconfirmed] {
            var situation = Situation("") { $0.makeStarted(state, ago: .seconds(0)) }
            situation.phone.card.columns.dueAt = state == .starting ? Sample.now + .seconds(15) : nil
            let open = Sample.now + .seconds(300 + 12 * 3600)
            for seconds in [1, 299, 301, 899, 3600, 12 * 3600, 12 * 3600 + 299] {
                situation.now = Sample.now + .seconds(seconds)
                #expect(Self.outcome(situation.decision) == .wait, "\(seconds) s")
                if seconds > 15 { #expect(situation.decision.reason.code == .startUnconfirmed) }
            }
            situation.now = open
            #expect(Self.outcome(situation.decision) == .start)
        }
    }

    @Test func `a new push-to-start token, state or alert does not make a second start`() {
        var situation = Situation("") { $0.makeStarted(.unconfirmed, ago: .seconds(600)) }
        situation.phone.pushToStartToken?.generation = 2
        situation.phone.pushToStartToken?.value = TokenValue(Sample.token("other", as: PushToStartTokenKind.self))
        situation.desired.activity.revision = 9
        situation.alert(revision: 9)
        situation.phone.device.contactAt = situation.now
        #expect(Self.outcome(situation.decision) == .wait)
    }

    typealias RestartRow = (state: CardState, restart: ActivityRecord.Restart, alert: Bool, starts: Bool)
    static let restarts: [RestartRow] = [CardState.ended, .dismissed, .gone].flatMap { state in
        [
            (state, .never, false, false), (state, .never, true, false), (state, .onAlert, false, false),
            (state, .onAlert, true, true), (state, .always, false, true), (state, .always, true, true),
        ]
    }

    @Test(arguments: restarts.indices) func `a card that is over comes back only where that was asked for`(index: Int) {
        let row = Self.restarts[index]
        var situation = Situation("") { $0.makeLive(state: row.state) }
        situation.desired.activity.restart = row.restart
        if row.alert { situation.alert() }
        #expect((Self.outcome(situation.decision) == .start) == row.starts)
        situation.phone.card.columns.dueAt = Sample.now + .seconds(3)
        if row.starts { #expect(situation.decision.reason.code == .retryLater) }
        situation.desired.activity.phase = .ended
        #expect(Self.outcome(situation.decision) == .nothing)
    }
}
