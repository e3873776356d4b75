import APNSModel

// Two cards of one activity on one phone.
extension CardIntake {
    /// What becomes of the row's card where the phone reports another one that runs.
    enum Succession {
        /// It stays, and the reported one is too many.
        case stays
        /// The reported one takes its place, and it is not there any more or has no token to end it with.
        case replaced
        /// The reported one takes its place. It may be there still, and is ended.
        case ended
        /// It stays for now: nothing can be sent to the reported one, or nothing tells which of the two is newer.
        case undecided
    }

    /// - Returns: `nil`: the report is not of another card than the row's.
    func succession(of report: CardReport, to instance: InstanceRecord, _ draft: Draft) -> Succession? {
        guard report.state.isRunning, let card = instance.localID, card != report.localID else { return nil }
        guard instance.state == .live else { return .replaced }
        let token = draft.snapshot.updateTokens[.init(instance.activity, device.key)]
        let isUsable = report.token.map { draft.snapshot.owners[.init(device.app, TokenValue($0))]?.deadAt == nil }
        // The second card of a renewal takes over with its token, which may come late or never.
        if instance.isRenewing, token?.predecessor == nil { return isUsable == true ? .ended : .undecided }
        if isInventory, !running.contains(card) { return .replaced }
        if let mine = instance.startedAt, let its = report.startedAt { return its < mine ? .stays : .replaced }
        if isInventory {
            // Both are there. The one stays that the server knows, unless only the other can be sent anything.
            return isUsable == true && token.map { $0.deadAt != nil } ?? true ? .replaced : .stays
        }
        return isUsable == true && !isOlder(report, than: instance) ? .ended : .undecided
    }
}
