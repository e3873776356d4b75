import APNSModel
import JSONText
import LiveActivityCore
import LiveActivityStorage
import TestSupport

/// Steps of a history.
extension World {
    func begin() {
        for index in 0..<1 + dice.roll(3) {
            let isTaxi = index > 0 && scenery.subjects.contains { $0.app == Scenery.taxi } && dice.chance(60)
            let phone = Phone(
                index: index, app: scenery.app(isTaxi ? Scenery.taxi : Scenery.pizza), user: pick(Scenery.people), &dice
            )
            phones.append(phone)
            phone.takeTokens(in: self)
        }
        startNode()
        isCalm = true
        for phone in phones { phone.launch(in: self) }
        advance(by: 100)
        isCalm = false
    }

    func play(_ step: Int, of plan: Plan) {
        dice = SeededDice(seed: plan.dice(ofStep: step))
        isCalm = plan.calm.contains(step)
        timeline.note(now, "------", "step \(step)")
        act()
        if scenery.isTold, dice.chance(12) { changeListener() }
        if scenery.isPestered, dice.chance(15) { invent() }
        let pause: Int64 = pick([0, 3, 60, 400, 900, 1100, 2500, 9000, 16_000, 70_000])
        advance(by: pause)
    }

    private func act() {
        switch dice.roll(200) {
        case 0..<44: put()
        case 44..<52: endSubject()
        case 52..<62: changeAudience()
        case 62..<68: notifySomebody()
        case 68..<76: tryAgain()
        case 76..<90: toggle()
        case 90..<106: allowOrRotate()
        case 106..<116: swipe()
        case 116..<136: somebody()?.launch(in: self)
        case 136..<140: somebody()?.isKilled = true
        case 140..<145: rotateStartToken()
        case 145..<151: startItself()
        case 151..<155: changeItself()
        case 155..<160: changeHands()
        case 160..<163: somebody()?.reinstall(in: self)
        case 163..<172: changeWeather()
        case 172..<184: breakProcess()
        case 184..<188, 199: stepClock()
        case 188..<191: storeTrouble()
        case 191..<196: advance(by: pick([900_000, 3_600_000, 8_000_000, 27_000_000]))
        case 196: crowd()
        case 197..<199: toggleActivities()
        default: break
        }
    }

    private func somebody() -> Phone? { phones.isEmpty ? nil : pick(phones) }

    // MARK: - The backend

    private func newCall(
        _ subject: Scenery.Subject, _ what: Backend.Call.What, hasKey: Bool, _ words: String
    ) -> Backend.Call {
        backend.made += 1
        return Backend.Call(number: backend.made, subject: subject, what: what, hasKey: hasKey, words: words)
    }

    private func nextSequence(_ subject: Scenery.Subject) -> Int64? {
        guard dice.chance(40) else { return nil }
        backend.sequences[subject, default: 0] += 1
        return backend.sequences[subject]
    }

    private func put() {
        if scenery.isProvided, dice.chance(40) { return changeProvided() }
        put(pick(scenery.subjects))
    }

    /// - Parameter people: Audience that the call names, or `nil` to let the dice decide.
    private func put(_ subject: Scenery.Subject, for people: [String]? = nil) {
        if dice.chance(85) || backend.steps[subject] == nil { backend.steps[subject, default: 0] += 1 }
        let step = backend.steps[subject] ?? 1
        var body = SetDesiredState.Body(state: Scenery.state(step))
        body.attributes = subject.type == "ride" ? ["shop": "here"] : ["shop": "here", "name": .string(subject.id)]
        body.reopen = dice.chance(50)
        body.priority = pick(ActivityRecord.PriorityWish.allCases)
        body.devices = dice.chance(80) ? .all : .lastActive
        if let people {
            body.users = people.map(Sample.user)
        } else if backend.wishes[subject] == nil || dice.chance(12) {
            body.users = (dice.chance(70) ? Scenery.people : [pick(Scenery.people)]).map(Sample.user)
        }
        if dice.chance(30) {
            var wish = SetDesiredState.AlertWish(Sample.alert)
            if dice.chance(50) {
                // Some states name an alert that another state has brought.
                let earlier = backend.alerts[subject, default: []]
                wish.id = !earlier.isEmpty && dice.chance(15) ? pick(earlier) : "alert-\(backend.made)"
                backend.alerts[subject, default: []].append(wish.id ?? "")
            }
            wish.keep = dice.chance(40)
            wish.onUnknown = dice.chance(20) ? .repeat : .drop
            if dice.chance(20) { wish.expiresAfter = .seconds(30) }
            body.alert = wish
        }
        if dice.chance(15) { body.staleAfter = .seconds(120) }
        let sequence = nextSequence(subject)
        var words = "PUT \(subject.app) \(subject.id) step \(step) \(body.priority.rawValue)"
        if let users = body.users { words += " for \(users.map(\.text))" }
        if let alert = body.alert {
            words += " ALERT\(alert.keep ? " keep" : "")\(alert.onUnknown == .repeat ? " repeat" : "")"
        }
        if body.reopen { words += " reopen" }
        if let sequence { words += " sequence \(sequence)" }
        attempt(newCall(subject, .put(body, step: step, sequence: sequence), hasKey: dice.chance(60), words))
        if body.alert != nil, chance(42) { overtakeAlert(of: subject) }
    }

    /// Interferes while a push with an alert is on its way. The app changes the card, or iOS gives it another token
    /// and the app reports what it shows.
    private func overtakeAlert(of subject: Scenery.Subject) {
        let isByToken = dice.chance(40)
        after(pick([10, 60, 150, 400, 1200])) { [self] in
            for phone in phones where phone.app.bundleID == subject.app && phone.isSignedIn {
                let open = phone.cards.firstIndex { $0.activity == subject.id && !$0.isOver }
                guard let open else { continue }
                guard isByToken else {
                    count(.alertOvertaken)
                    phone.changeItself(open, in: self)
                    continue
                }
                count(.alertToOldToken)
                phone.giveToken(open, in: self)
                phone.report(open, in: self)
                // Reports again before the push to the new token has arrived.
                after(pick([30, 200, 1500, 4000])) { [self] in
                    if phone.cards.indices.contains(open), !phone.cards[open].isOver { phone.inventory(in: self) }
                }
            }
        }
    }

    /// Gives an audience more people than one call may name.
    ///
    /// Some leave, and a state that names the whole audience joins the same commit.
    private func crowd() {
        let subject = pick(scenery.subjects)
        guard backend.wishes[subject]?.isEnded == false else { return }
        count(.crowded)
        func all(_ numbers: Range<Int>) -> [String] { numbers.map { "one-of-many-\($0)" } }
        let most = ChangeAudience.maximumUsers
        func change(add: [String] = [], remove: [String] = []) {
            attempt(
                newCall(
                    subject, .audience(add: add, remove: remove), hasKey: false,
                    "ADD \(add.count) and REMOVE \(remove.count) people of \(subject.id)"))
        }
        change(add: all(0..<most))
        change(add: all(most..<most + 5))
        closeGroup()
        beginGroup(of: 2)
        change(remove: all(0..<10))
        put(subject, for: [pick(Scenery.people)])
        closeGroup()
        // Removes the crowd in case the state was lost.
        change(remove: all(10..<most))
        change(remove: all(most..<most + 5))
    }

    private func endSubject() {
        let subject = pick(scenery.subjects)
        var step: Int?
        if dice.chance(50) {
            backend.steps[subject, default: 0] += 1
            step = backend.steps[subject]
        }
        let words = "END \(subject.app) \(subject.id)" + (step.map { " with step \($0)" } ?? "")
        attempt(newCall(subject, .end(step: step, sequence: nextSequence(subject)), hasKey: dice.chance(60), words))
    }

    private func changeAudience() {
        let subject = pick(scenery.subjects)
        let person = pick(Scenery.people)
        switch dice.roll(3) {
        case 0:
            attempt(
                newCall(
                    subject, .audience(add: [person], remove: []), hasKey: true, "ADD \(person) to \(subject.id)"))
        case 1:
            attempt(
                newCall(
                    subject, .audience(add: [], remove: [person]), hasKey: true,
                    "REMOVE \(person) from \(subject.id)"))
            guard chance(30) else { return }
            // They come back later.
            after(pick([400, 5000, 60_000])) { [self] in
                attempt(
                    newCall(
                        subject, .audience(add: [person], remove: []), hasKey: true, "ADD \(person) to \(subject.id)"))
            }
        default:
            attempt(
                newCall(subject, .replaceAudience([person]), hasKey: true, "ONLY \(person) sees \(subject.id)"))
        }
    }

    private func notifySomebody() {
        let (subject, person) = (pick(scenery.subjects), pick(Scenery.people))
        let kind: NotificationRecord.Kind = dice.chance(70) ? .alert : .background
        attempt(
            newCall(
                subject, .notify(person, kind, dice.next()), hasKey: true, "NOTIFY \(person) (\(kind.name))"))
    }

    private func tryAgain() {
        guard !backend.open.isEmpty else { return put() }
        count(.callRepeated)
        attempt(backend.open.remove(at: dice.roll(backend.open.count)))
    }

    // MARK: - Phones

    private func toggle() {
        guard let phone = somebody() else { return }
        phone.isOnline.toggle()
        if !phone.isOnline { phone.offlineSince = now }
        if phone.isOnline, now - phone.offlineSince > 3_600_000 { count(.hoursOffline) }
        note(phone.name, phone.isOnline ? "is on the network again" : "is off the network")
        if phone.isOnline { catchUp(phone) }
    }

    func catchUp(_ phone: Phone) {
        after(isCalm ? 1 : pick([1, 50, 1500])) { [self] in deliverStored(to: phone) }
        guard let stored = phone.stored else { return }
        phone.stored = nil
        after(isCalm ? 1 : pick([1, 50, 1500])) { [self] in arrive(stored.push, at: stored.destination) }
    }

    private func openCard() -> (phone: Phone, index: Int)? {
        let open = phones.flatMap { phone in
            phone.cards.indices.filter { !phone.cards[$0].isOver }.map { (phone: phone, index: $0) }
        }
        return open.isEmpty ? nil : pick(open)
    }

    private func allowOrRotate() {
        guard let (phone, index) = openCard() else { return toggle() }
        if phone.cards[index].token != nil { count(.tokenReplaced) }
        phone.giveToken(index, in: self)
        note(phone.name, "has a new token for \(phone.cards[index].local)")
        if phone.isSignedIn, !phone.isKilled || dice.chance(50) { phone.report(index, in: self) }
    }

    private func swipe() {
        guard let (phone, index) = openCard() else { return toggle() }
        note(phone.name, "\(phone.cards[index].local) is swiped away")
        phone.cards[index].isSwiped = true
        count(.swiped)
        phone.close(index, in: self)
        if phone.isSignedIn, dice.chance(60) { phone.report(index, .dismissed, in: self) }
    }

    private func rotateStartToken() {
        guard let phone = somebody() else { return }
        apns.withdraw(phone.startToken, at: now, knownAfter: pick([0, 1000, 60_000]))
        phone.startToken = apns.issue(.start, phone)
        count(.startTokenReplaced)
        note(phone.name, "has a new start token")
        if phone.isSignedIn, dice.chance(70) { phone.register(in: self) }
    }

    private func toggleActivities() {
        // A person who forbids Live Activities is the first to allow them again.
        let denying = phones.first { !$0.allowsActivities }
        guard let phone = denying ?? (dice.chance(25) ? somebody() : nil) else { return }
        phone.toggleActivities(in: self)
        if phone.isSignedIn, dice.chance(70) { phone.launch(in: self) }
    }

    private func startItself() {
        guard let phone = somebody(), phone.isOnline, phone.isSignedIn, phone.allowsActivities else { return }
        let subjects = scenery.subjects.filter { subject in
            subject.app == phone.app.bundleID
                && !phone.cards.contains { $0.activity == subject.id && !$0.isOver }
                && instance(of: subject, on: phone).map { $0.activity.phase == .active && $0.instance.isWanted } == true
        }
        guard !subjects.isEmpty else { return }
        phone.startItself(pick(subjects), in: self)
    }

    private func changeItself() {
        guard let (phone, index) = openCard(), phone.isSignedIn else { return }
        let times: Int64 = dice.chance(25) ? pick([60, 150, 600, 2000]) : 1
        if times > 1 { count(.appFarAhead) }
        phone.changeItself(index, times: times, in: self)
    }

    private func changeHands() {
        guard let phone = somebody() else { return }
        if phone.isSignedIn, dice.chance(50) {
            phone.signOut(in: self)
        } else {
            let other = pick(Scenery.people)
            // On sign-out the app requests new tokens, so the old ones are dead.
            if other != phone.user || !phone.isSignedIn {
                apns.withdraw(phone.startToken, at: now, knownAfter: 0)
                apns.withdraw(phone.deviceToken, at: now, knownAfter: 0)
                phone.takeTokens(in: self)
            }
            if other != phone.user {
                count(.changedHands)
                phone.user = other
            }
            phone.isSignedIn = true
            phone.launch(in: self)
        }
    }

    // MARK: - Faults

    private func changeWeather() {
        guard !isCalm else { return }
        apns.weather = dice.chance(50) ? .fair : pick(VirtualAPNS.Weather.allCases)
        note("APNs", "weather: \(apns.weather.rawValue)")
    }

    private func breakProcess() {
        guard !isCalm, let node = nodes.first(where: \.isUp) else { return }
        switch dice.roll(10) {
        case 0..<6:
            node.crash = (pick(FaultPoint.allCases.filter { !$0.rawValue.hasPrefix("prune") }), 1 + dice.roll(3))
            count { $0.crashes += 1 }
            note(node.name, "will die at \(node.crash?.point.rawValue ?? "")")
            replace(node, after: nil)
        case 6:
            node.die("at once")
            count { $0.crashes += 1 }
            replace(node, after: nil)
        case 7:
            node.stop()
            replace(node, after: nil)
        case 8: node.freeze(for: pick([500, 7000, 13_000, 30_000]))
        default:
            // The next process is up while this one still works.
            count { $0.overlaps += 1 }
            count(.twoProcesses)
            startNode()
            after(pick([2000, 20_000])) { [self] in
                // Keeps this process if the next one was asked to stop meanwhile.
                guard nodes.contains(where: { $0 !== node && $0.isAlive && !$0.isStopping }) else { return }
                node.die("after the next has taken over")
            }
        }
    }

    /// Starts another process some time after this one dies.
    private func replace(_ node: Node, after delay: Int64?) {
        let delay = delay ?? pick([0, 500, 3000, 20_000, 90_000])
        after(max(1, delay)) { [self] in
            if node.isAlive, !node.isOver { return replace(node, after: 1000) }
            guard !nodes.contains(where: { $0.isAlive && !$0.isStopping }) else { return }
            count(.processReplaced)
            startNode()
        }
    }

    private func stepClock() {
        guard !isCalm else { return }
        faults.latestTime = max(faults.latestTime, serverTime)
        let (steps, far): ([Int64], Int64) = ([1500, 30_000, 300_000], 2_400_000)
        // From one extreme to the other is more than an hour, further than a timestamp may be ahead of the clock.
        if abs(faults.serverClock) == far, chance(40) {
            faults.serverClock = -faults.serverClock
        } else {
            faults.serverClock = pick([0, far, -far] + steps + steps.map(-))
        }
        faults.clockSteppedAt = now
        count(.clockStepped)
        note("server", "its wall clock is \(faults.serverClock) ms off")
    }

    private func storeTrouble() {
        guard !isCalm else { return }
        faults.store = faults.store > 0 ? 0 : pick([5, 20, 60])
        note("store", "fails \(faults.store) of 100 commits")
    }
}
