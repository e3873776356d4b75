import APNSModel

// What a phone said first, and which card it began first.
extension CardIntake {
    /// The phone has said something newer of this card: a later report showed it, or a later inventory listed it or did
    /// not. One that counts as over is not brought back by a report that any other has overtaken. That a card is over
    /// stays true, however late it is said.
    ///
    /// An inventory that a card's own report has overtaken says nothing new of that card, its token above all: the one
    /// that it names was replaced. Of the other cards it does.
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

    /// The phone sent it before the newest report of this row's card, or before the start whose card is awaited.
    func isOlder(_ report: CardReport, than card: CardMachine) -> Bool {
        // A phone that was handed over may count from the beginning.
        guard let sequence = report.sequence, card.reportSequence <= device.reportSequence else { return false }
        return sequence < card.reportSequence || card.hasOpenStart && sequence == card.reportSequence
    }

    /// The report's card began before the row's: a second is the precision of a phone's dates.
    func began(_ report: CardReport, before card: CardMachine) -> Bool {
        guard let its = report.startedAt, let mine = card.startedAt else { return false }
        return its + .seconds(1) < mine
    }
}
