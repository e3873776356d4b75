// One machine in one file, so that nothing else can change it.

package import APNSModel

/// One activity on one device: the unit that is reconciled.
///
/// Each method is an event, and nothing else changes the machine. An event that does not concern the life that the card
/// has leaves it as it is.
package struct CardMachine: Sendable, Hashable {
    package let activity: ActivityNumber
    package let device: DeviceKey
    /// The run of the activity this is about.
    package let run: Int
    package let createdAt: UnixTime
    package private(set) var life: CardLife
    package private(set) var membership: Membership
    /// A push may start the card here; on a person's other devices it is only kept up to date where it is shown.
    package private(set) var mayStart: Bool
    package private(set) var alerts: AlertLedger
    package private(set) var revisions: CardRevisions
    package private(set) var attempts: Attempts
    /// Of the end of the card that another took the place of.
    package private(set) var predecessor: Attempts
    /// The timestamp of the newest push that may have arrived, or of the phone's own newest update.
    package private(set) var timestamp: Int64
    package private(set) var tokenGeneration: Int64
    /// Until then the answer to the newest push is awaited, and the same is not sent again; `nil`: it has come.
    package private(set) var awaitedUntil: UnixTime?
    package private(set) var last: LastDelivery?
    package private(set) var lastHighAt: UnixTime?
    /// The card was ended to make room for another; it does not come back in this run.
    package private(set) var isEvicted: Bool
    /// When a claim is to look at this phone by itself; `nil`: with the next lap of its lane. The index that `Lanes`
    /// keeps, and no part of the card's life.
    package var lookAt: UnixTime?

    // MARK: - The activity and its audience

    /// Another run of the activity begins here: nothing of the old life counts.
    ///
    /// A minute's one high push is counted for the activity and the phone, whatever card it is. Revisions go on from
    /// run to run, and so does what was said before the person came. The old card's timestamp binds the new card's only
    /// if it were the same card, but going on is never wrong.
    package mutating func beginRun(_ run: Int, at now: UnixTime) {
        var fresh = Self(
            activity: activity, device: device, run: run, at: now, membership: membership, mayStart: mayStart,
            alerted: alerts.given)
        fresh.tokenGeneration = tokenGeneration
        fresh.timestamp = timestamp
        fresh.lastHighAt = lastHighAt
        self = fresh
    }

    /// Its person belongs to the audience, and is signed in on the phone or not.
    package mutating func admit(isSignedIn: Bool) { membership = isSignedIn ? .member : .left }

    /// Its person is not in the audience.
    mutating func waitForAudience(until time: UnixTime) { membership = .waiting(until: time) }

    /// Its person is named in the audience: what the phone had reported counts from now on.
    ///
    /// - Parameter alerted: What was said before is not for them.
    mutating func beNamed(mayStart: Bool, alerted: Revision) {
        membership = .member
        self.mayStart = mayStart
        alerts = AlertLedger(pushed: alerted)
    }

    /// Its person is back.
    mutating func join(alerted: Revision) {
        membership = .member
        alerts.skip(to: alerted)
    }

    /// The card that ended because its person left makes room for another in this run.
    ///
    /// Where a second card had been started before that one's time was over, it may be there yet: nothing was there to
    /// end it with.
    mutating func joinAfterEnd(in run: Int, at now: UnixTime) {
        guard self.run == run else { return beginRun(run, at: now) }
        let (successor, alerts) = (life.card?.successor, alerts)
        beginRun(run, at: now)
        if let successor { life = .unconfirmed(successor) }
        // What was told in place of a card is not shown by one as well.
        if alerts.told != nil { self.alerts = alerts }
    }

    /// Its person left: the card's end waits for nothing but the answer to what is on its way.
    mutating func leave(at now: UnixTime) {
        membership = .left
        hurry(at: now)
    }

    /// The card makes room for another.
    mutating func evict(at now: UnixTime) {
        isEvicted = true
        hurry(at: now)
    }

    private mutating func hurry(at now: UnixTime) {
        attempts.wait(until: awaitedUntil.flatMap { now < $0 ? $0 : nil })
    }

    /// A notification says in the card's place what is to be said up to this revision.
    mutating func fallBack(_ revision: Revision) {
        alerts.fallBack(revision)
        attempts.wait(until: nil)
    }

    /// The notification in the card's place did not arrive.
    mutating func takeFallBackBack() { alerts.takeFallBackBack() }

    // MARK: - Claims

    /// A push is to start a card: written down before it leaves, since its fate decides about every later start.
    mutating func claimStart(_ plan: PushPlan, timestamp: Int64, reportSequence: Int64, at now: UnixTime) {
        life.start(at: now, expiresAt: plan.expiresAt, reportSequence: reportSequence)
        attempts.wait(until: nil)
        use(timestamp)
    }

    /// A push is to start a second card before this one's time is over.
    mutating func claimRenewal(_ plan: PushPlan, timestamp: Int64, reportSequence: Int64, at now: UnixTime) {
        guard case .live = life else { return }
        life.update {
            $0.successor = CardLife.Start(at: now, expiresAt: plan.expiresAt, reportSequence: reportSequence)
        }
        use(timestamp)
    }

    /// A push with this timestamp may arrive, or the phone applied it itself, in seconds. Where the clock was set back,
    /// it may be less than that of a card that is there after all.
    mutating func use(_ timestamp: Int64) { self.timestamp = max(self.timestamp, timestamp) }

    /// What a lost process had claimed may have arrived: its timestamp is used.
    ///
    /// Where the clock was set back, the card's timestamp is further ahead than the push's. It is kept, since the clock
    /// may be set right again, and the next push does not share the second (`Reconciler.inItsOwnSecond`).
    ///
    /// - Returns: The timestamp that the push had.
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

    /// The alert of a lost process's push may have arrived. The process may be late and not lost, and come to say that
    /// APNs never took it.
    mutating func loseAlert(_ alert: Revision, of timestamp: Int64) { alerts.await(alert, of: timestamp) }

    // MARK: - Answers

    /// The answer to this push is awaited: nothing else of its kind is sent before that instant.
    mutating func awaitAnswer(to seat: Flight.Seat, until time: UnixTime) {
        awaitedUntil = time
        let plan = seat.plan
        if plan.part == .predecessor { return predecessor.wait(until: time) }
        attempts.wait(until: time)
        // The app's own state had its time: what is newer is on its way, or the end is.
        if plan.kind == .end || plan.kind == .update && revisions.held < plan.revision { life.update { $0.lead = nil } }
    }

    /// The answer that was awaited has come.
    mutating func stopAwaiting() { awaitedUntil = nil }

    /// The phone has the push, or may have it.
    ///
    /// - Parameter givesAlert: Its alert counts as given. Else it is given again.
    mutating func mayHave(_ seat: Flight.Seat, givesAlert: Bool) {
        use(seat.timestamp)
        if seat.plan.carriesAlert, givesAlert { alerts.arrives(seat.plan.alertRevision) }
    }

    /// The push's answer is awaited, and its alert counts as given until then.
    mutating func mayAlert(_ seat: Flight.Seat) {
        if seat.plan.carriesAlert { alerts.await(seat.plan.alertRevision, of: seat.timestamp) }
    }

    /// APNs definitely has not taken the push: its alert is still to come.
    mutating func giveAlertBack(_ seat: Flight.Seat) {
        alerts.giveBack(seat.plan.alertRevision, of: seat.timestamp, to: seat.phone.card.alerts.pushed)
    }

    /// What the phone's newest push met.
    mutating func note(_ delivery: LastDelivery) {
        if let last, last.revision < delivery.revision { revisions.beginRevision() }
        last = delivery
    }

    /// APNs took a push of this state since the card has this token.
    mutating func hold(_ revision: Revision) { revisions.accept(revision) }

    /// APNs took a high push.
    ///
    /// A flight from before the clock was set forward may be settled after a later one.
    mutating func takeHigh(claimedAt: UnixTime, at now: UnixTime) {
        lastHighAt = max(claimedAt, min(lastHighAt ?? claimedAt, now))
    }

    /// APNs took the start.
    mutating func acceptStart() {
        life.startMayArrive()
        attempts.succeed(nextAt: nil)
    }

    /// APNs took the update: the next one waits until then.
    mutating func acceptUpdate(nextAt time: UnixTime?) {
        life.update { $0.lead = nil }
        attempts.succeed(nextAt: time)
    }

    /// APNs took the end. It is repeated until the phone confirms it.
    ///
    /// - Parameters:
    ///   - ofToken: Another token has the card by now where this is `false`.
    ///   - isNews: It brought a last state that was not sent before.
    ///   - beginsRun: The card is of an earlier run, whose successor may begin.
    mutating func acceptEnd(ofToken: Bool, isNews: Bool, beginsRun: Bool, at now: UnixTime) {
        life.update { $0.lead = nil }
        attempts.wait(until: nil)
        guard ofToken else { return }
        life.end(isRepeat: !isNews)
        // From here on the ends count, and not the tries.
        guard case .ending(_, let ends) = life else { return }
        let repeatAt = ends <= Reconciler.endRepeats.count ? now + Reconciler.endRepeats[ends - 1] : nil
        attempts.succeed(nextAt: beginsRun ? now : repeatAt)
    }

    /// The push is tried again then.
    mutating func retry(at time: UnixTime, counts: Bool) {
        // An ending card counts the ends that APNs took: what became of another does not change that.
        if case .ending = life { attempts.wait(until: time) } else { attempts.fail(retryAt: time, counts: counts) }
    }

    /// The start may have arrived, so that no other follows.
    mutating func doubtStart() {
        life.startMayArrive()
        attempts.wait(until: nil)
    }

    /// The start did not arrive, which frees the way for another.
    mutating func refuseStart() { life.refuseStart() }

    /// No second card came of the renewal.
    mutating func refuseRenewal() { life.update { $0.successor = nil } }

    /// APNs refused the revision for a fault of ours: it is not sent again.
    mutating func park(_ revision: Revision) {
        revisions.park(revision)
        attempts.wait(until: nil)
    }

    /// The next push waits until then: for its lane alone where that is `nil`.
    mutating func wait(until time: UnixTime?) { attempts.wait(until: time) }

    /// The token is dead. What follows in the same second has a timestamp of its own, by which the answers are told
    /// apart.
    mutating func loseToken(_ timestamp: Int64) {
        attempts.wait(until: nil)
        use(timestamp)
    }

    /// APNs calls the card's token inactive: after our end that was to be expected; else nobody knows why.
    ///
    /// - Parameter beginsRun: The card is of an earlier run, whose successor may begin.
    mutating func loseCard(toEnd isEnd: Bool, beginsRun: Bool, at now: UnixTime) {
        life.loseToken(toEnd: isEnd)
        if beginsRun { attempts.wait(until: now) }
    }

    // MARK: - The card that another took the place of

    /// Its end is tried again then.
    mutating func retryPredecessor(at time: UnixTime) { predecessor.fail(retryAt: time) }

    /// It is over, or is not ended once more.
    mutating func forgetPredecessor() {
        predecessor.clear()
        life.update { $0.endsOther = false }
    }

    /// A card that should be over, and that is to be ended before another is started.
    mutating func findStray() {
        predecessor.clear()
        if case .live = life { lookAfterPredecessor() }
    }

    // MARK: - Reports

    /// The app is about to start a card: its word holds until then.
    mutating func request(until time: UnixTime) {
        if life.request(until: time) { attempts.wait(until: nil) }
    }

    /// The app does not start the card after all.
    mutating func withdrawRequest() { life.withdrawRequest() }

    /// The phone has reported a card that runs.
    mutating func show(_ sighting: CardSighting, isUnwelcome: Bool, at now: UnixTime) {
        if life.show(sighting, isUnwelcome: isUnwelcome, at: now) { attempts.clear() }
    }

    /// Another card takes the place of this one. What is on its way to the old token says nothing about the new one.
    mutating func giveWay() {
        changeCard()
        predecessor.clear()
    }

    /// The card was one too many and is away. Nothing is known of the one that stays: its report makes it this card,
    /// however old it is.
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

    /// The phone is looked at until the card that this one took the place of is ended.
    mutating func lookAfterPredecessor() { life.update { $0.endsOther = true } }

    /// The card has another token: what it was sent may be lost, its end as well.
    mutating func takeToken() {
        tokenGeneration += 1
        revisions.changeToken()
        life.countEnds(atMost: 0)
        attempts.wait(until: nil)
    }

    /// The phone shows this revision.
    mutating func confirm(_ revision: Revision) {
        revisions.show(revision)
        life.update { $0.lead = nil }
    }

    /// The phone shows something else than it was sent: that comes again.
    mutating func contradict() {
        revisions.contradict()
        revisions.forget()
    }

    /// The app changed the card itself: what it was based on need not come again, and what is newer has to.
    ///
    /// - Parameters:
    ///   - lease: When the server's state may replace it; `nil`: only a newer one does.
    ///   - isCertain: The app's update is newer than what was sent. Else nobody can tell whether it is the same one
    ///     again, which counts like a contradiction.
    mutating func lead(from based: Revision, until lease: UnixTime?, isCertain: Bool) {
        if !isCertain { revisions.contradict() }
        revisions.base(on: based)
        life.update { $0.lead = CardLife.Lead(until: lease) }
        attempts.clear()
    }

    /// The person has opened the app by the card.
    ///
    /// - Parameter opens: How often, so far.
    /// - Returns: How often since the phone told of it last.
    mutating func open(_ opens: Int) -> Int {
        guard let known = life.card?.opens, opens > known else { return 0 }
        life.update { $0.opens = opens }
        return opens - known
    }

    /// The phone has reported that its card is over.
    mutating func finish(_ localID: LocalID, _ how: CardLife.Outcome) {
        life.finish(localID, how)
        attempts.clear()
    }

    /// The phone's inventory lacks the card.
    mutating func lose() {
        life.lose()
        attempts.clear()
    }

    /// The start has failed: an inventory that was sent after its expiration lacks the card.
    mutating func missStart() {
        life.missStart()
        attempts.clear()
    }

    /// The phone says itself what a dead token had made likely.
    ///
    /// - Parameter how: How the card ended, if the phone says that.
    mutating func confirmOver(_ how: CardLife.Outcome? = nil) { life.confirmOver(how) }

    /// No end has come to the card: it got lost, or there was no token to send one to.
    mutating func outliveEnd() {
        life.outliveEnd()
        attempts.clear()
    }

    /// The phone shows a card whose end APNs took a while ago: its next repeat is due.
    mutating func repeatEnd(at now: UnixTime) {
        life.countEnds(atMost: Reconciler.endRepeats.count)
        attempts.wait(until: now)
    }
}

extension CardMachine {
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
