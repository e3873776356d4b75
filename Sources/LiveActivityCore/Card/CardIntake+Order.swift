import APNSModel

// Order of a phone's reports, of its cards, and of the activity's runs.
extension CardIntake {
    /// Returns `true` if the phone has already said something newer about this card.
    ///
    /// | newer | overtakes |
    /// |---|---|
    /// | a later report that showed the card | any report that shows it as running |
    /// | a later inventory, whether or not it lists the card | any report that shows it as running |
    /// | any later report of the phone | a report that shows a card as running that counts as over |
    ///
    /// A report that a card is over stays true, however late it arrives. An inventory that a card's own report has
    /// overtaken is old only for that card: the token it names was replaced. It still counts for the phone's other
    /// cards.
    func isOvertaken(_ report: CardReport, _ draft: inout Draft) -> Bool {
        guard report.state.isRunning, let sequence = report.sequence else { return false }
        if sequence < device.inventorySequence { return true }
        let isOver = draft.snapshot.tombstones[.init(device.key, report.localID)]?.isOver == true
        if isOver, sequence < device.reportSequence { return true }
        for key in draft.phones(on: device.key) {
            guard let card = draft.snapshot.cards[key], card.localID == report.localID else { continue }
            return isOlder(report, than: card)
        }
        return false
    }

    /// Returns `true` if the phone made the report before the newest report of this row's card, or before its open
    /// start.
    func isOlder(_ report: CardReport, than card: CardMachine) -> Bool {
        // A phone that was handed over may count from the beginning again.
        guard let sequence = report.sequence, card.reportSequence <= device.reportSequence else { return false }
        return sequence < card.reportSequence || card.hasOpenStart && sequence == card.reportSequence
    }

    /// Returns `true` if the report's card began before the row's. A phone's dates are precise to a second.
    func began(_ report: CardReport, before card: CardMachine) -> Bool {
        guard let its = report.startedAt, let mine = card.startedAt else { return false }
        return its + .seconds(1) < mine
    }

    /// Dates a run anew that begins in the future: the clock has been set back since it began. Cards that begin from
    /// now on then count as this run's.
    ///
    /// - Returns: `true` if the run is dated anew. The date of a card that this report is about then tells nothing.
    func redate(_ activity: inout ActivityRecord, _ draft: inout Draft) -> Bool {
        guard activity.run > 1, activity.runStartedAt > now else { return false }
        activity.runStartedAt = now
        draft.put(activity)
        return true
    }

    /// Returns `true` if the row awaits a card on a channel, and the report may be of it: it names neither token nor
    /// channel.
    private func isUnseenStart(_ report: CardReport, of card: CardMachine) -> Bool {
        guard report.state != .requesting, !report.isServed else { return false }
        return card.life.openStart?.channel != nil && !isOlder(report, than: card)
    }

    /// Returns `true` if the report is about a card that began before the current run.
    func isOfOldRun(
        _ report: CardReport, _ card: CardMachine, _ activity: ActivityRecord, isRedated: Bool
    ) -> Bool {
        if card.run < activity.run, card.localID == report.localID { return true }
        if isUnseenStart(report, of: card), card.run < activity.run, report.startedAt == nil { return true }
        // A card that began before this run belongs to an earlier one. A phone's dates are precise to a second.
        guard !isRedated, activity.run > 1, let startedAt = report.startedAt else { return false }
        return startedAt + .seconds(1) < activity.runStartedAt && card.localID != report.localID
    }
}
