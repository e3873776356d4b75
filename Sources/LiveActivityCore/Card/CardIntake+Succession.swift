import APNSModel

// Two cards of one activity on one phone.
extension CardIntake {
    /// What becomes of the row's card where the phone reports another one that runs.
    enum Succession {
        /// It stays, and the reported one is too many.
        case stays
        /// The reported one takes its place, and it is not there any more or cannot be ended.
        case replaced
        /// The reported one takes its place. It may be there still, and is ended.
        case ended
        /// It stays for now: the reported one's token is dead, or nothing tells which of the two is newer.
        case undecided
    }

    /// - Returns: `nil`: the report is not of another card than the row's.
    func succession(of report: CardReport, to card: CardMachine, _ draft: Draft) -> Succession? {
        guard report.state.isRunning, let local = card.localID, local != report.localID else { return nil }
        guard card.state == .live else { return .replaced }
        // Two ways to one activity are no duplicates: the card with a token is the one that the server can do something
        // for, and neither is ended for the other.
        if (report.channel == nil) != (card.channel == nil) {
            let isAway = isInventory && !running.contains(local) && card.successor == nil
            return report.channel == nil || isAway ? .replaced : .undecided
        }
        let mine = draft.snapshot.updateTokens[.init(card.activity, device.key)]
        let its = report.token.map { TokenValue($0) }
        let isDead = its.map { draft.snapshot.owners[.init(device.app, $0)]?.deadAt != nil } ?? false
        // The second card of a renewal takes over with its token, which may come late or never.
        if card.successor != nil { return its == nil || isDead ? .undecided : .ended }
        if isInventory, !running.contains(local) { return .replaced }
        if let began = card.startedAt, let its = report.startedAt {
            if its < began { return .stays }
            // Where both are there, the older is one too many; else the app may be ending it as it speaks.
            return isInventory ? .ended : .replaced
        }
        if isInventory {
            // Both are there. Of two that can be sent something, and of two that cannot, the one stays that is known.
            // Else the one that can is ended, since nothing but the row would tell of the other.
            let isReachable = mine.map { $0.deadAt == nil } ?? false
            if its == nil { return isReachable ? .ended : .stays }
            return isDead || isReachable ? .stays : .replaced
        }
        // Without a number and without a token, nothing tells an old report from news.
        let isVague = its == nil && report.sequence == nil
        return isDead || isVague || isOlder(report, than: card) ? .undecided : .ended
    }

    /// Remembers the second card of a renewal, which the row does not go on with as long as it has no token: whatever
    /// is started later is another card.
    func rememberSecond(_ report: CardReport, _ card: CardMachine, _ draft: inout Draft) {
        guard card.successor != nil, report.channel == nil,
            draft.snapshot.tombstones[.init(device.key, report.localID)] == nil
        else {
            return
        }
        draft.put(
            TombstoneRecord(
                device: device.key, localID: report.localID, activity: card.activity, state: .live, at: now))
    }

    /// The phone had told of the second card of a renewal after this start was claimed: it is this start's.
    func isCard(_ second: TombstoneRecord, of start: CardLife.Start) -> Bool { !second.isOver && start.at <= second.at }

    /// The report is of a renewal's second card, and the row has or awaits the card of a later start: it tells nothing
    /// of that one, and the card is ended where that can be.
    ///
    /// - Parameter second: What the phone had said of that card before.
    /// - Returns: Nothing more is to be done with it.
    func passOver(
        _ report: CardReport, _ second: TombstoneRecord, _ card: CardMachine, of activity: ActivityRecord,
        _ draft: inout Draft
    ) -> Bool {
        let later = card.localID == report.localID ? nil : card.life.card?.startedAt
        guard let began = card.life.openStart?.at ?? later, second.at < began else { return false }
        switch report.state {
        case .ended, .duplicate: bury(report.localID, activity.number, .ended, &draft)
        case .dismissed: bury(report.localID, activity.number, .dismissed, &draft)
        case .gone: bury(report.localID, activity.number, .gone, &draft)
        case .pending, .active, .stale: endStray(report, activity.number, .gone, &draft)
        case .requesting, .notStarted: break
        }
        return true
    }
}
