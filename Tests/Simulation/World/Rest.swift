import APNSModel
import LiveActivityCore
import TestSupport

/// End of a history: faults stop, every phone and process comes back, and time passes.
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
            // A backend repeats its call until it is answered.
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
        // A closed route is tried each minute.
        advance(by: 150_000)
        see(.alertsAreDue)
        // Work deferred by a clock that was set back later waits that much longer. Only `SQLStore.prune` finds it;
        // the model does not.
        let wasAhead = faults.latestTime > serverTime + .seconds(60)
        for round in 0..<4 where violations.isEmpty {
            timeline.note(now, "------", "rest \(round + 1)")
            for phone in phones {
                // A phone registers once, but reports its cards again and again.
                if round == 0 { phone.launch(in: self) }
                for index in phone.cards.indices where !phone.cards[index].isOver && phone.cards[index].token == nil {
                    phone.giveToken(index, in: self)
                }
                phone.inventory(in: self)
            }
            // Time for APNs's 15 minutes, a coalescing window, and a check that runs each minute.
            advance(by: 16 * 60_000)
            if !wasAhead || round > 1 { see(.calm) }
            advance(by: 4 * 60_000)
        }
        guard violations.isEmpty else { return }
        listenPickily()
        // Phones report the cards that iOS has ended, and then those that this has made room for.
        for _ in 0..<2 where violations.isEmpty {
            for phone in phones { phone.inventory(in: self) }
            advance(by: 60_000)
        }
        closeGroup()
        guard violations.isEmpty else { return }
        see(.atRest)
    }

    /// Leaves one working process.
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
