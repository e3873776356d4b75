import APNSModel

// What a phone's word about a card's content says of what it was sent.
extension CardIntake {
    /// Maps the content the phone holds to a revision, and marks the phone behind when it contradicts what was sent.
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
            // One that was not sent the newest state yet contradicts nothing.
            if card.heldRevision >= activity.revision, card.lead == nil {
                draft.count(.confirmation(activity.app, .contradicted))
            }
            contradict(activity, &card)
        }
    }

    /// Takes a report, and counts what it has to tell of the card's being opened: before, since a card that is over may
    /// lose its name, and after, since a new one has none yet.
    func takeCounting(_ report: CardReport, _ draft: inout Draft) throws(Refusal) {
        countOpens(report, &draft)
        try take(report, &draft)
        countOpens(report, &draft)
    }

    /// Counts how often the person opened the app by the card since the phone told of it last.
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

    /// The phone shows something else than it was sent: that comes again.
    private func contradict(_ activity: ActivityRecord, _ card: inout CardMachine) {
        guard card.heldRevision >= activity.revision, card.lead == nil,
            card.revisions.contradictions < Reconciler.maximumContradictions
        else { return }
        card.contradict()
    }

    /// The app changed the card itself: what it was based on need not come again, and what is newer has to.
    ///
    /// - Parameter isNewer: The app's update is newer than anything that was sent; `nil`: it does not say.
    private func goAhead(
        from based: Revision, _ activity: ActivityRecord, _ card: inout CardMachine, isNewer: Bool?
    ) {
        if let isNewer {
            // The same update reported again, or one that a push has overtaken.
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
