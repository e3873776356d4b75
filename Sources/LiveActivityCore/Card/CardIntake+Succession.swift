import APNSModel

// Rules for two cards of one activity on one phone.
extension CardIntake {
    /// Fate of the row's card when the phone reports another running one.
    enum Succession {
        /// The row's card stays. The reported card is one too many.
        case stays
        /// The reported card replaces the row's, which no longer exists or cannot be ended.
        case replaced
        /// The reported card replaces the row's, which may still exist and is ended.
        case ended
        /// The row's card stays for now: the reported one's token is dead, or nothing tells which card is newer.
        case undecided
    }

    /// Decides between the row's card and a reported one.
    ///
    /// - Returns: `nil` if the report is not about another running card.
    func succession(of report: CardReport, to card: CardMachine, _ draft: Draft) -> Succession? {
        guard report.state.isRunning, let local = card.localID, local != report.localID else { return nil }
        guard card.state == .live else { return .replaced }
        // A card on a channel and one with a token are no duplicates. The server can serve the one with a token, and
        // ends neither for the other.
        if (report.channel == nil) != (card.channel == nil) {
            let isAway = isInventory && !running.contains(local) && card.successor == nil
            return report.channel == nil || isAway ? .replaced : .undecided
        }
        let mine = draft.snapshot.updateTokens[.init(card.activity, device.key)]
        let its = report.token.map { TokenValue($0) }
        let isDead = its.map { draft.snapshot.owners[.init(device.app, $0)]?.deadAt != nil } ?? false
        // A renewal's second card takes over as soon as its token is known. That may be late, or never.
        if card.successor != nil { return its == nil || isDead ? .undecided : .ended }
        if isInventory, !running.contains(local) { return .replaced }
        if let began = card.startedAt, let its = report.startedAt {
            if its < began { return .stays }
            // An inventory that lists both proves that the older one exists. Otherwise the app may be ending it right
            // now.
            return isInventory ? .ended : .replaced
        }
        if isInventory {
            // Both cards exist. The known one stays if both can be sent pushes, if neither can, or if the reported
            // one's token is dead. A reachable known card is ended for one without a token, because nothing but the
            // row would keep track of that one. A reachable reported card replaces an unreachable known one.
            let isReachable = mine.map { $0.deadAt == nil } ?? false
            if its == nil { return isReachable ? .ended : .stays }
            return isDead || isReachable ? .stays : .replaced
        }
        // Without a number and a token, a late report cannot be told from news.
        let isVague = its == nil && report.sequence == nil
        return isDead || isVague || isOlder(report, than: card) ? .undecided : .ended
    }

    /// Remembers a renewal's second card that has no token yet. A card started later must not be mistaken for it.
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

    /// Returns `true` if the phone reported this second card after the start was claimed, so it is that start's card.
    func isCard(_ second: TombstoneRecord, of start: CardLife.Start) -> Bool { !second.isOver && start.at <= second.at }

    /// Handles a report of a renewal's second card whose row has or awaits the card of a later start. The report says
    /// nothing about that later card. The second card is ended where possible.
    ///
    /// - Parameter second: Record of the second card.
    /// - Returns: `true` if nothing more is to be done with the report.
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
