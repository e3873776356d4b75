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
            guard let instance = draft.snapshot.instances[key], instance.localID == report.localID else { continue }
            return isOlder(report, than: instance)
        }
        return false
    }

    /// The phone sent it before the newest report of this row's card, or before the start whose card is awaited.
    func isOlder(_ report: CardReport, than instance: CardMachine) -> Bool {
        // A phone that was handed over may count from the beginning.
        guard let sequence = report.sequence, instance.reportSequence <= device.reportSequence else { return false }
        return sequence < instance.reportSequence || instance.hasOpenStart && sequence == instance.reportSequence
    }

    /// The report's card began before the row's: a second is the precision of a phone's dates.
    func began(_ report: CardReport, before instance: CardMachine) -> Bool {
        guard let its = report.startedAt, let mine = instance.startedAt else { return false }
        return its + .seconds(1) < mine
    }
}
