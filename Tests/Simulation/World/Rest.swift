import APNSModel
import LiveActivityCore
import TestSupport

/// The end of a history: faults stop, everybody comes back, and there is time.
extension World {
    func rest() {
        guard violations.isEmpty else { return }
        timeline.note(now, "------", "faults stop")
        dice = SeededDice(seed: 1)
        isCalm = true
        apns.weather = .fair
        let steppedAt = faults.serverClock == 0 ? faults.clockSteppedAt : now
        faults = Faults(latestTime: max(faults.latestTime, serverTime), clockSteppedAt: steppedAt)
        backend.open = []
        settleProcesses()
        if scenery.isProvided {
            provider.isUnwell = false
            // A backend says it until it is answered.
            for person in provider.untold.sorted() { askProvider(of: person) }
        }
        listener.mood = .well
        attendListener()
        for phone in phones {
            phone.isOnline = true
            phone.isSignedIn = true
            catchUp(phone)
        }
        advance(by: 2000)
        // A route that is closed is tried each minute.
        advance(by: 150_000)
        see(.alertsAreDue)
        // What a clock put off that was set back since waits as long: `SQLiteStore.prune` finds that, not the model.
        let wasAhead = faults.latestTime > serverTime + .seconds(60)
        for round in 0..<4 where violations.isEmpty {
            timeline.note(now, "------", "rest \(round + 1)")
            for phone in phones {
                // Who a phone is it says once; what it shows again and again.
                if round == 0 { phone.launch(in: self) }
                for index in phone.cards.indices where !phone.cards[index].isOver && phone.cards[index].token == nil {
                    phone.giveToken(index, in: self)
                }
                phone.inventory(in: self)
            }
            // APNs's quarter of an hour, a coalescing window, and a look that comes each minute.
            advance(by: 16 * 60_000)
            if !wasAhead || round > 1 { see(.calm) }
            advance(by: 4 * 60_000)
        }
        guard violations.isEmpty else { return }
        listenPickily()
        // What iOS has ended by itself meanwhile is told, too; and so is what that has made room for.
        for _ in 0..<2 where violations.isEmpty {
            for phone in phones { phone.inventory(in: self) }
            advance(by: 60_000)
        }
        closeGroup()
        guard violations.isEmpty else { return }
        see(.atRest)
    }

    /// One process is left, which works.
    private func settleProcesses() {
        for node in nodes {
            node.crash = nil
            node.frozenUntil = nil
        }
        let working = nodes.filter { $0.isAlive && !$0.isStopping }
        for node in working.dropLast() { node.die("since another has taken over") }
        for node in nodes where node.isStopping { node.die("since it had its time") }
        if working.isEmpty { startNode() }
    }
}
