import APNSModel

// What a phone's word about a card's content says of what it was sent.
extension CardIntake {
    /// Maps the content the phone holds to a revision, and marks the phone behind when it contradicts what was sent.
    func confirm(
        _ report: CardReport, _ activity: ActivityRecord, _ instance: inout InstanceRecord, isNewToken: Bool,
        isNewer: Bool?, _ draft: inout Draft
    ) {
        guard activity.phase != .announced, instance.run == activity.run,
            let desired = draft.snapshot.contents[activity.number]
        else { return }
        let comparison = ReportComparison(app.types[activity.type], build: device.build)
        if let content = report.contentState, comparison.digest(ofState: content) == comparison.stateDigest(desired) {
            draft.count(.confirmation(activity.app, .held))
            instance.shownRevision = activity.revision
            instance.contradictions = 0
            if instance.isLocalAhead, instance.tries == 0 { instance.dueAt = nil }
            instance.isLocalAhead = false
        } else if let based = report.basedOn {
            draft.count(.confirmation(activity.app, .local))
            goAhead(from: based, activity, &instance, isNewer: isNewer)
        } else if report.contentState != nil, !isNewToken {
            // One that was not sent the newest state yet contradicts nothing.
            if instance.heldRevision >= activity.revision, !instance.isLocalAhead {
                draft.count(.confirmation(activity.app, .contradicted))
            }
            contradict(activity, &instance)
        }
    }

    /// The phone shows something else than it was sent: that comes again.
    private func contradict(_ activity: ActivityRecord, _ instance: inout InstanceRecord) {
        guard instance.heldRevision >= activity.revision, !instance.isLocalAhead,
            instance.contradictions < Reconciler.maximumContradictions
        else { return }
        instance.contradictions += 1
        instance.sentRevision = 0
        instance.shownRevision = 0
    }

    /// The app changed the card itself: what it was based on need not come again, and what is newer has to.
    ///
    /// - Parameter isNewer: The app's update is newer than anything that was sent; `nil`: it does not say.
    private func goAhead(
        from based: Revision, _ activity: ActivityRecord, _ instance: inout InstanceRecord, isNewer: Bool?
    ) {
        if let isNewer {
            // The same update reported again, or one that a push has overtaken.
            guard isNewer else { return contradict(activity, &instance) }
        } else {
            guard !instance.isLocalAhead, instance.contradictions < Reconciler.maximumContradictions else { return }
            // Nobody can tell whether it is the same one again: as often as any report that contradicts.
            instance.contradictions += 1
        }
        instance.isLocalAhead = true
        instance.sentRevision = min(max(based, 0), activity.revision)
        instance.shownRevision = instance.sentRevision
        instance.tries = 0
        let authority = app.types[activity.type]?.policy.authority ?? .server
        instance.dueAt = authority == .server ? now + Reconciler.localAheadLease : nil
    }
}
