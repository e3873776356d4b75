import APNSModel

// Comparison of a card's reported content with what the phone was sent.
extension CardIntake {
    /// Maps the reported content to a revision. Marks the phone as behind if the content contradicts what was sent.
    func confirm(
        _ report: CardReport, _ activity: ActivityRecord, _ card: inout CardMachine, isNewToken: Bool,
        isNewer: Bool?, _ draft: inout Draft
    ) {
        guard activity.phase != .announced, card.run == activity.run,
            let desired = draft.snapshot.contents[activity.number]
        else { return }
        let comparison = ReportComparison(app.types[activity.type], build: device.build)
        if let content = report.contentState, comparison.digest(ofState: content) == comparison.stateDigest(desired) {
            draft.count(.confirmation(activity.app, .held))
            card.confirm(activity.revision)
        } else if let based = report.basedOn {
            draft.count(.confirmation(activity.app, .local))
            goAhead(from: based, activity, &card, isNewer: isNewer)
        } else if report.contentState != nil, !isNewToken {
            // A phone that was not sent the newest state yet contradicts nothing.
            if card.heldRevision >= activity.revision, card.lead == nil {
                draft.count(.confirmation(activity.app, .contradicted))
            }
            contradict(activity, &card)
        }
    }

    /// Applies a report and counts the openings that it tells of.
    ///
    /// It counts before, because a card that is over may lose its local id, and after, because a new card has none
    /// before.
    func takeCounting(_ report: CardReport, _ draft: inout Draft) throws(Refusal) {
        countOpens(report, &draft)
        try take(report, &draft)
        countOpens(report, &draft)
    }

    /// Counts how often the person opened the app from the card since the phone's last report.
    private func countOpens(_ report: CardReport, _ draft: inout Draft) {
        guard report.opens > 0 else { return }
        for key in draft.phones(on: device.key) {
            guard var card = draft.snapshot.cards[key], card.localID == report.localID, card.awaitsUntil == nil,
                let activity = draft.snapshot.activities[key.activity]
            else { continue }
            let new = card.open(report.opens)
            guard new > 0 else { continue }
            draft.put(card)
            draft.count(.opened(activity.app, type: activity.type), new)
        }
    }

    /// Sends the state again if the phone shows another one than it was sent.
    private func contradict(_ activity: ActivityRecord, _ card: inout CardMachine) {
        guard card.heldRevision >= activity.revision, card.lead == nil,
            card.revisions.contradictions < Reconciler.maximumContradictions
        else { return }
        card.contradict()
    }

    /// Records that the app changed the card itself. The state it was based on is not sent again; a newer one is.
    ///
    /// - Parameter isNewer: `true` if the app's update is newer than every push; `nil` if the report does not tell.
    private func goAhead(
        from based: Revision, _ activity: ActivityRecord, _ card: inout CardMachine, isNewer: Bool?
    ) {
        if let isNewer {
            // An update that is not newer was reported before, or a push has overtaken it.
            guard isNewer else { return contradict(activity, &card) }
        } else {
            guard card.lead == nil, card.revisions.contradictions < Reconciler.maximumContradictions else {
                return
            }
        }
        let authority = app.types[activity.type]?.policy.authority ?? .server
        card.lead(
            from: min(max(based, 0), activity.revision),
            until: authority == .server ? now + Reconciler.localAheadLease : nil, isCertain: isNewer != nil)
    }
}
