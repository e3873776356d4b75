// The machine is one file, because only methods in this file may change its properties.

package import APNSModel

/// State of one activity on one device. The server reconciles each pair separately.
///
/// Each method is an event. Nothing else changes the machine, except `lookAt`. An event that does not apply to the
/// current `life` leaves the life unchanged. Five facts about APNs, iOS and the network explain the rules:
///
/// - APNs does not deduplicate starts, and a second start makes a second card. So a start is stored before it leaves,
///   and no other follows while its fate is open.
/// - APNs accepts a push without knowing whether the phone shows it. So `revisions` keeps what APNs accepted apart from
///   what the phone reported.
/// - iOS ignores a push whose timestamp is not greater than the card's. So a `timestamp` that may have been used is not
///   used again.
/// - iOS replaces a card's token. So an answer about one token says nothing about the next (`tokenGeneration`).
/// - The network delays and reorders reports. So a report counts only if it is newer than what is known
///   (`reportSequence`).
package struct CardMachine: Sendable, Hashable {
    package let activity: ActivityNumber
    package let device: DeviceKey
    /// Run of the activity that this state is about.
    package let run: Int
    package let createdAt: UnixTime
    package private(set) var life: CardLife
    package private(set) var membership: Membership
    /// `true` if the device was chosen for a card when its person joined: see `ActivityRecord.mayStart`.
    package private(set) var mayStart: Bool
    package private(set) var alerts: AlertLedger
    package private(set) var revisions: CardRevisions
    package private(set) var attempts: Attempts
    /// Attempts to end the card that this one replaced.
    package private(set) var predecessor: Attempts
    /// Timestamp of the newest push that may have arrived, or of the phone's own newest update, in seconds.
    package private(set) var timestamp: Int64
    package private(set) var tokenGeneration: Int64
    /// End of the wait for the answer to the newest push; `nil` if the answer has come. Until then the push is not
    /// repeated.
    package private(set) var awaitedUntil: UnixTime?
    package private(set) var last: LastDelivery?
    package private(set) var lastHighAt: UnixTime?
    /// `true` if the card was ended to make room for another. It does not come back in this run.
    package private(set) var isEvicted: Bool
    /// Time at which a claim looks at this phone separately; `nil` if the next lap of its lane is soon enough.
    ///
    /// An index that `Lanes` maintains. It is not part of the card's life.
    package var lookAt: UnixTime?

    // MARK: - The activity and its audience

    /// Begins another run of the activity. The old life is discarded.
    ///
    /// Besides `membership` and `mayStart`, four values carry over:
    ///
    /// - `lastHighAt`: the limit of one high-priority push a minute applies to the activity on this phone, not to one
    ///   card.
    /// - The revision of the last alert given: revisions grow from run to run, and an old alert must not be given
    ///   again.
    /// - `tokenGeneration`, so that answers about the old token do not apply to the new card.
    /// - `timestamp`: it binds the new card only if it is the same card, but a higher timestamp is never wrong.
    package mutating func beginRun(_ run: Int, at now: UnixTime) {
        var fresh = Self(
            activity: activity, device: device, run: run, at: now, membership: membership, mayStart: mayStart,
            alerted: alerts.given)
        fresh.tokenGeneration = tokenGeneration
        fresh.timestamp = timestamp
        fresh.lastHighAt = lastHighAt
        self = fresh
    }

    /// Makes the phone a member whose person is signed in, or one whose card is only ended.
    package mutating func admit(isSignedIn: Bool) { membership = isSignedIn ? .member : .left }

    /// Records that the person is not in the audience. The report waits until `time` for them to be named there.
    mutating func waitForAudience(until time: UnixTime) { membership = .waiting(until: time) }

    /// Records that the person is now in the audience. Everything that the phone had reported counts from now on.
    ///
    /// - Parameter alerted: Alerts up to this revision are not for the person.
    mutating func beNamed(mayStart: Bool, alerted: Revision) {
        membership = .member
        self.mayStart = mayStart
        alerts = AlertLedger(pushed: alerted)
    }

    /// Records that the person is in the audience again.
    ///
    /// - Parameter alerted: Alerts up to this revision are not for the person.
    mutating func join(alerted: Revision) {
        membership = .member
        alerts.skip(to: alerted)
    }

    /// Prepares a new card in this run for a person who is back. Their card had been ended because they left.
    ///
    /// The second card of a renewal may still appear, because there was no token to end it with. Its start stays open,
    /// so that no third card is started beside it.
    mutating func joinAfterEnd(in run: Int, at now: UnixTime) {
        guard self.run == run else { return beginRun(run, at: now) }
        let (successor, alerts) = (life.card?.successor, alerts)
        beginRun(run, at: now)
        if let successor { life = .unconfirmed(successor) }
        // A card must not show what a notification has already said in its place.
        if alerts.told != nil { self.alerts = alerts }
    }

    /// Records that the person left. The card's end waits only for the answer to the push that is on its way.
    mutating func leave(at now: UnixTime) {
        membership = .left
        hurry(at: now)
    }

    /// Marks the card to be ended, so that another fits on the phone.
    mutating func evict(at now: UnixTime) {
        isEvicted = true
        hurry(at: now)
    }

    private mutating func hurry(at now: UnixTime) {
        attempts.wait(until: awaitedUntil.flatMap { now < $0 ? $0 : nil })
    }

    /// Records that a notification replaces the card for every state up to this revision.
    mutating func fallBack(_ revision: Revision) {
        alerts.fallBack(revision)
        attempts.wait(until: nil)
    }

    /// Records that a notification brings this alert to a person whose card is on a channel.
    mutating func tell(_ alert: Revision) { alerts.arrives(alert) }

    /// Records that the notification of this alert did not arrive.
    mutating func takeAlertBack(_ alert: Revision) { alerts.takeAlertBack(alert) }

    /// Records that the notification did not arrive, so that a card may show the state.
    mutating func takeFallBackBack() { alerts.takeFallBackBack() }

    // MARK: - Claims

    /// Records the claim of a start. It is stored before the push leaves, because its fate decides about every later
    /// start.
    mutating func claimStart(_ plan: PushPlan, timestamp: Int64, reportSequence: Int64, at now: UnixTime) {
        life.start(at: now, expiresAt: plan.expiresAt, reportSequence: reportSequence, on: plan.channel)
        attempts.wait(until: nil)
        use(timestamp)
    }

    /// Records alerts that came to the last card by its channel, so that its successor brings none of them again.
    mutating func heardOnChannel(_ revision: Revision) { alerts.skip(to: revision) }

    /// Records the claim of a renewal: a second card, started before iOS ends this one.
    mutating func claimRenewal(_ plan: PushPlan, timestamp: Int64, reportSequence: Int64, at now: UnixTime) {
        guard case .live = life else { return }
        life.update {
            $0.successor = CardLife.Start(at: now, expiresAt: plan.expiresAt, reportSequence: reportSequence)
        }
        use(timestamp)
    }

    /// Records a timestamp, in seconds, that a push has used or that the phone applied itself.
    ///
    /// After the clock was set back, it may be less than the card's timestamp, which is then kept.
    mutating func use(_ timestamp: Int64) { self.timestamp = max(self.timestamp, timestamp) }

    /// Records that a lost process's push may have arrived. Its timestamp counts as used.
    ///
    /// After the clock was set back, the card's timestamp may be ahead of the push's. It is kept, because the clock may
    /// be corrected again. The next push does not share its second (`Reconciler.inItsOwnSecond`).
    ///
    /// - Returns: The timestamp that the push had, in seconds.
    mutating func loseFlight(claimedAt: UnixTime) -> Int64 {
        if case .starting = life {
            life.startMayArrive()
            return min(timestamp, Flight.latestTimestamp(claimedAt))
        }
        let lost = Flight.timestamp(after: timestamp, now: claimedAt)
        if lost < timestamp {
            let nothing = LastDelivery(
                kind: .update, at: claimedAt, revision: 0, status: 0, reason: Reason(.rescued))
            last = last ?? nothing
            last?.at = claimedAt
        }
        use(lost)
        return lost
    }

    /// Records that the alert of a lost process's push may have arrived. That process may only be slow, and report
    /// later that APNs never accepted the push.
    mutating func loseAlert(_ alert: Revision, of timestamp: Int64) { alerts.await(alert, of: timestamp) }

    // MARK: - Answers

    /// Records that the answer to this push is still awaited. No other push of its part is sent before `time`.
    mutating func awaitAnswer(to seat: Flight.Seat, until time: UnixTime) {
        awaitedUntil = time
        let plan = seat.plan
        if plan.part == .predecessor { return predecessor.wait(until: time) }
        attempts.wait(until: time)
        // The app's own state gives way: a newer state, or the end, is on its way.
        if plan.kind == .end || plan.kind == .update && revisions.held < plan.revision { life.update { $0.lead = nil } }
    }

    /// Records that the awaited answer has come.
    mutating func stopAwaiting() { awaitedUntil = nil }

    /// Records that the push arrived, or may have.
    ///
    /// - Parameter givesAlert: `true` if its alert counts as given. Otherwise the alert is sent again.
    mutating func mayHave(_ seat: Flight.Seat, givesAlert: Bool) {
        use(seat.timestamp)
        if seat.plan.carriesAlert, givesAlert { alerts.arrives(seat.plan.alertRevision) }
    }

    /// Counts the push's alert as given until its answer comes.
    mutating func mayAlert(_ seat: Flight.Seat) {
        if seat.plan.carriesAlert { alerts.await(seat.plan.alertRevision, of: seat.timestamp) }
    }

    /// Records that APNs definitely did not accept the push. Its alert is due again.
    mutating func giveAlertBack(_ seat: Flight.Seat) {
        alerts.giveBack(seat.plan.alertRevision, of: seat.timestamp, to: seat.phone.card.alerts.pushed)
    }

    /// Records the outcome of the phone's newest push.
    mutating func note(_ delivery: LastDelivery) {
        if let last, last.revision < delivery.revision { revisions.beginRevision() }
        last = delivery
    }

    /// Records that APNs accepted this revision for the card's current token.
    mutating func hold(_ revision: Revision) { revisions.accept(revision) }

    /// Records that APNs accepted a high-priority push.
    ///
    /// A flight from before a clock correction may settle late, so `claimedAt` may be older than the stored time: the
    /// newer one stays. A stored time in the future, left by a clock that was ahead, is first cut to `now`.
    mutating func takeHigh(claimedAt: UnixTime, at now: UnixTime) {
        lastHighAt = max(claimedAt, min(lastHighAt ?? claimedAt, now))
    }

    /// Records that APNs accepted the start.
    mutating func acceptStart() {
        life.startMayArrive()
        attempts.succeed(nextAt: nil)
    }

    /// Records that APNs accepted the update. The next one waits until `time`.
    mutating func acceptUpdate(nextAt time: UnixTime?) {
        life.update { $0.lead = nil }
        attempts.succeed(nextAt: time)
    }

    /// Records that APNs accepted the end. The end is repeated until the phone confirms it.
    ///
    /// - Parameters:
    ///   - ofToken: `false` if the card has another token by now, which the end did not reach.
    ///   - isNews: The end carried a last state that had not been sent before.
    ///   - beginsRun: The card is of an earlier run, and the next run may begin.
    mutating func acceptEnd(ofToken: Bool, isNews: Bool, beginsRun: Bool, at now: UnixTime) {
        life.update { $0.lead = nil }
        attempts.wait(until: nil)
        guard ofToken else { return }
        life.end(isRepeat: !isNews)
        // An ending card counts accepted ends in place of failed tries.
        guard case .ending(_, let ends) = life else { return }
        let repeatAt = ends <= Reconciler.endRepeats.count ? now + Reconciler.endRepeats[ends - 1] : nil
        attempts.succeed(nextAt: beginsRun ? now : repeatAt)
    }

    /// Schedules another try of the push.
    ///
    /// - Parameter counts: `true` if the failure lengthens later waits.
    mutating func retry(at time: UnixTime, counts: Bool) {
        // An ending card counts the ends that APNs accepted. A failure of another push does not change that count.
        if case .ending = life { attempts.wait(until: time) } else { attempts.fail(retryAt: time, counts: counts) }
    }

    /// Records that the start may have arrived, so no other start follows.
    mutating func doubtStart() {
        life.startMayArrive()
        attempts.wait(until: nil)
    }

    /// Records that the start did not arrive, so another may follow.
    mutating func refuseStart() { life.refuseStart() }

    /// Records that the renewal produced no second card.
    mutating func refuseRenewal() { life.update { $0.successor = nil } }

    /// Parks a revision that APNs refused through a fault of ours. It is not sent again.
    mutating func park(_ revision: Revision) {
        revisions.park(revision)
        attempts.wait(until: nil)
    }

    /// Delays the next push until `time`; `nil` if only its lane decides.
    mutating func wait(until time: UnixTime?) { attempts.wait(until: time) }

    /// Records that the token is dead. The timestamp counts as used, so that a push of the same second gets another one
    /// and its answer can be told apart.
    mutating func loseToken(_ timestamp: Int64) {
        attempts.wait(until: nil)
        use(timestamp)
    }

    /// Records APNs's answer that the card's token is inactive. After our end that is expected; otherwise nobody knows
    /// why.
    ///
    /// - Parameter beginsRun: The card is of an earlier run, and the next run may begin.
    mutating func loseCard(toEnd isEnd: Bool, beginsRun: Bool, at now: UnixTime) {
        life.loseToken(toEnd: isEnd)
        if beginsRun { attempts.wait(until: now) }
    }

    // MARK: - The card that another took the place of

    /// Schedules another try to end the replaced card.
    mutating func retryPredecessor(at time: UnixTime) { predecessor.fail(retryAt: time) }

    /// Records that the replaced card is over, or that its end is given up.
    mutating func forgetPredecessor() {
        predecessor.clear()
        life.update { $0.endsOther = false }
    }

    /// Records a card that should be over. It is ended before another is started.
    mutating func findStray() {
        predecessor.clear()
        if case .live = life { lookAfterPredecessor() }
    }

    // MARK: - Reports

    /// Records the app's request: it is about to start a card itself. The request is valid until `time`.
    mutating func request(until time: UnixTime) {
        if life.request(until: time) { attempts.wait(until: nil) }
    }

    /// Records that the app does not start the card after all.
    mutating func withdrawRequest() { life.withdrawRequest() }

    /// Records a report of a running card.
    mutating func show(_ sighting: CardSighting, isUnwelcome: Bool, at now: UnixTime) {
        if life.show(sighting, isUnwelcome: isUnwelcome, at: now) { attempts.clear() }
    }

    /// Records that another card replaces this one. Pushes on their way to the old token say nothing about the new one.
    mutating func giveWay() {
        changeCard()
        predecessor.clear()
    }

    /// Records that this card was one too many and is gone. Another card stays, of which nothing is known yet. Its next
    /// report makes it this card, however old it is.
    mutating func collapse() {
        life.update {
            $0.localID = nil
            $0.channel = nil
            $0.startedAt = nil
            $0.opens = 0
        }
        changeCard()
    }

    private mutating func changeCard() {
        tokenGeneration += 1
        revisions.forget()
    }

    /// Keeps looking at the phone until the replaced card is ended.
    mutating func lookAfterPredecessor() { life.update { $0.endsOther = true } }

    /// Records a new token. Earlier pushes may be lost with the old one, the end included.
    mutating func takeToken() {
        tokenGeneration += 1
        revisions.changeToken()
        life.countEnds(atMost: 0)
        attempts.wait(until: nil)
    }

    /// Records that the phone shows this revision.
    mutating func confirm(_ revision: Revision) {
        revisions.show(revision)
        life.update { $0.lead = nil }
    }

    /// Records that the phone shows something other than it was sent. The state is sent again.
    mutating func contradict() {
        revisions.contradict()
        revisions.forget()
    }

    /// Records that the app changed the card itself. The state it was based on is not sent again; a newer one is.
    ///
    /// - Parameters:
    ///   - lease: Time from which the server's state may replace it; `nil` if only a newer state may.
    ///   - isCertain: `true` if the app's update is newer than every push. Otherwise it may be an old update reported
    ///     again, so it counts as a contradiction.
    mutating func lead(from based: Revision, until lease: UnixTime?, isCertain: Bool) {
        if !isCertain { revisions.contradict() }
        revisions.base(on: based)
        life.update { $0.lead = CardLife.Lead(until: lease) }
        attempts.clear()
    }

    /// Records how often the person has opened the app from the card.
    ///
    /// - Parameter opens: Total so far.
    /// - Returns: The number of new openings since the phone's last report.
    mutating func open(_ opens: Int) -> Int {
        guard let known = life.card?.opens, opens > known else { return 0 }
        life.update { $0.opens = opens }
        return opens - known
    }

    /// Records the phone's report that its card is over.
    mutating func finish(_ localID: LocalID, _ how: CardLife.Outcome) {
        life.finish(localID, how)
        attempts.clear()
    }

    /// Records that the phone's inventory lacks the card.
    mutating func lose() {
        life.lose()
        attempts.clear()
    }

    /// Records that the start has failed: an inventory sent after its expiration lacks the card.
    mutating func missStart() {
        life.missStart()
        attempts.clear()
    }

    /// Records the phone's own word that the card is over, which an inactive token had made likely.
    ///
    /// - Parameter how: Outcome of the card, if the phone says it.
    mutating func confirmOver(_ how: CardLife.Outcome? = nil) { life.confirmOver(how) }

    /// Records that no end reached the card: it was lost, or there was no token to send one to.
    mutating func outliveEnd() {
        life.outliveEnd()
        attempts.clear()
    }

    /// Makes the next repeat of the end due, because the phone still shows the card long after APNs accepted its end.
    mutating func repeatEnd(at now: UnixTime) {
        life.countEnds(atMost: Reconciler.endRepeats.count)
        attempts.wait(until: now)
    }
}

extension CardMachine {
    /// Creates the state of a phone without a card.
    ///
    /// - Parameter alerted: Alerts up to this revision are not for the phone.
    package init(
        activity: ActivityNumber, device: DeviceKey, run: Int, at now: UnixTime, membership: Membership = .member,
        mayStart: Bool = true, alerted: Revision = 0
    ) {
        self.init(
            activity: activity, device: device, run: run, createdAt: now, life: .absent(lost: nil),
            membership: membership, mayStart: mayStart, alerts: AlertLedger(pushed: alerted),
            revisions: CardRevisions(), attempts: Attempts(), predecessor: Attempts(), timestamp: 0,
            tokenGeneration: 0, isEvicted: false)
    }
}
