import APNSModel
import JSONText
import LiveActivityCore
import TestSupport

/// The app's calls to the server. Each travels separately and in order, and some are lost or arrive twice.
extension Phone {
    /// Sends a call that arrives after a delay, or not at all.
    ///
    /// - Parameter mayComeTwice: `true` if a late second copy can be recognized. Calls that name a device's tokens do
    ///   not allow that.
    private func send(
        _ what: String, mayComeTwice: Bool = false, in world: World, _ perform: @escaping () -> Void
    ) {
        let delay: Int64 = world.isCalm ? 1 : world.pick([1, 10, 40, 400, 2500])
        callsUntil = max(callsUntil, world.now + delay)
        let arrives = callsUntil - world.now
        // The network delivers a second copy long after the app got its answer or gave up.
        let again: Int64? =
            mayComeTwice && world.chance(80, in: 1000) ? arrives + world.pick([1000, 20_000, 120_000]) : nil
        func arrive() {
            guard isOnline else { return world.note(name, "does not get through: \(what)") }
            world.note(name, what)
            perform()
        }
        world.after(arrives, arrive)
        if let again {
            let (session, handOvers) = (session, handOvers)
            world.after(again) { [self] in
                // A backend passes on what the signed-in person says.
                guard session == self.session, handOvers == self.handOvers else {
                    return world.note(name, "is another person's by now: \(what)")
                }
                world.note(name, "(a second time)")
                world.count(.callLate)
                arrive()
            }
        }
    }

    /// Makes a call. Returns `true` if the app received a positive answer.
    @discardableResult
    private func call<C: Command>(
        _ command: C, _ what: Report.What, _ device: String, shows: [String] = [], sequence: Int64 = 0,
        timestamps: [String: Int64] = [:], in world: World
    ) -> Bool {
        let now = world.serverTime
        let answer = world.call(command) { [self] _ in
            if case .registered(let user, _) = what { isKnown(as: user) }
            for local in shows { newestTaken[local] = max(newestTaken[local] ?? 0, sequence) }
            world.see(
                .reported(Report(phone: self, device: device, what: what, timestamps: timestamps, now: now)))
        }
        switch answer {
        case .answered(.success):
            knownClock = world.faults.serverClock
            applyAnswer(in: world)
            return true
        case .answered(.failure(let refusal)): world.note(name, "  refused: \(refusal)")
        case .lost: world.note(name, "  no answer")
        }
        return false
    }

    // MARK: - Calls

    /// Registers the phone and reports all its cards, when the app starts or comes to the foreground.
    func launch(in world: World) {
        isKilled = false
        guard isSignedIn else { return }
        register(in: world)
        inventory(in: world)
    }

    func register(in world: World) {
        let (device, user) = (device, user)
        let (start, own) = (startToken, deviceToken)
        send("registers for \(user)", in: world) { [self] in
            var body = RegisterDevice.Body(user: Sample.user(user))
            body.osVersion = OSVersion(18, 0)
            body.activitiesEnabled = allowsActivities
            body.frequentPushesEnabled = allowsFrequent
            body.notificationAuthorization = "authorized"
            body.environment = namesEnvironment ? environment : nil
            body.channels = hasChannels
            body.deviceToken = try? DeviceToken(hex: own)
            call(
                RegisterDevice(
                    app: app, id: Sample.device(device), body: body, now: world.serverTime, freshKey: Self.key(device)),
                .registered(user: user, deviceToken: own), device, in: world)
        }
        for type in Set(world.subjects.filter { $0.app == app.bundleID }.map(\.type)).sorted() {
            send("names its start token for \(type)", in: world) { [self] in
                guard let token = try? PushToStartToken(hex: start) else { return }
                call(
                    RegisterPushToStartToken(
                        app: app, id: Sample.device(device), type: type, token: token, now: world.serverTime),
                    .startToken(start, type: type), device, in: world)
            }
        }
    }

    func signOut(in world: World) {
        let device = device
        isSignedIn = false
        send("signs out", in: world) { [self] in
            call(
                SignOutDevice(app: app.bundleID, id: Sample.device(device), now: world.serverTime), .signedOut, device,
                in: world)
        }
    }

    func report(_ index: Int, _ state: CardReport.State = .active, in world: World) {
        let (device, card) = (device, cards[index])
        guard var report = wording(card, state) else { return }
        sequence += 1
        report.sequence = sequence
        let token = report.token?.hex
        send(
            "reports \(card.local) \(state.rawValue), step \(card.step), token \(token?.prefix(6) ?? "-")",
            mayComeTwice: true, in: world
        ) {
            [self] in
            let what = Report.What.card(local: card.local, activity: card.activity, state: state, token: token)
            call(
                ReportCard(app: app, device: Sample.device(device), report: report, now: world.serverTime),
                isOvertaken(report, device, in: world) ? .superseded : what, device,
                shows: state == .active ? [card.local] : [], sequence: report.sequence ?? 0,
                timestamps: card.ownTimestamp.map { [card.local: $0] } ?? [:], in: world)
        }
    }

    /// Returns `true` if the server has taken a newer report or inventory, so that this report changes nothing.
    private func isOvertaken(_ report: CardReport, _ device: String, in world: World) -> Bool {
        guard report.state == .active, let sequence = report.sequence else { return false }
        if sequence < world.store.rows.devices[Self.key(device)]?.inventorySequence ?? 0 { return true }
        return isOvertaken(report.localID.text, sequence, device, in: world)
    }

    /// Returns `true` if a newer report of the card was taken, or if the card is over and any newer report was taken.
    private func isOvertaken(_ local: String, _ sequence: Int64, _ device: String, in world: World) -> Bool {
        let isOver = world.store.rows.tombstones[.init(Self.key(device), Sample.local(local))] != nil
        let newest = isOver ? world.store.rows.devices[Self.key(device)]?.reportSequence : newestTaken[local]
        return newest.map { sequence < $0 } ?? false
    }

    func inventory(in world: World) {
        endDuplicates(in: world)
        sequence += 1
        for card in cards.indices { cards[card].isOverUnseen = false }
        let (device, sequence, shown) = (device, sequence, cards.filter { !$0.isOver })
        let reports = shown.compactMap { wording($0, .active) }
        send("inventory \(sequence): \(shown.map(\.local))", mayComeTwice: true, in: world) { [self] in
            // An inventory that was sent before one that was already taken changes nothing.
            let isOld = sequence <= (world.store.rows.devices[Self.key(device)]?.inventorySequence ?? 0)
            let listed = shown.map { card in
                (card.local, card.activity, isOvertaken(card.local, sequence, device, in: world) ? nil : card.token)
            }
            let what: Report.What = isOld ? .superseded : .inventory(listed)
            call(
                ReportInventory(
                    app: app, device: Sample.device(device), sequence: sequence, reports: reports,
                    now: world.serverTime), what, device, shows: isOld ? [] : shown.map(\.local), sequence: sequence,
                in: world)
        }
    }

    private func wording(_ card: Card, _ state: CardReport.State) -> CardReport? {
        guard let type = app.types[card.type] else { return nil }
        var report = CardReport(localID: Sample.local(card.local), type: type, state: state)
        report.activity = Sample.activityID(card.activity)
        report.token = state == .active ? card.token.flatMap { try? UpdateToken(hex: $0) } : nil
        // iOS does not tell the app which channel a push has put the card on.
        report.channel = state == .active && card.isApps ? card.channel : nil
        report.startedAt = card.saysStartedAt
        report.lastTimestamp = card.ownTimestamp
        if state == .active {
            report.contentState = Scenery.state(card.step)
            if card.step < 0 { report.basedOn = card.revision }
        }
        return report
    }

    // MARK: - The app's own cards

    /// Announces a start by the app, and starts the card once the server has agreed.
    func startItself(_ subject: Scenery.Subject, in world: World) {
        guard let type = app.types[subject.type] else { return }
        let device = device
        var word = CardReport(localID: Sample.local("\(device)-soon\(cardsMade)"), type: type, state: .requesting)
        word.activity = Sample.activityID(subject.id)
        send("is about to start \(subject.id)", in: world) { [self] in
            let isAnswered = call(
                ReportCard(app: app, device: Sample.device(device), report: word, now: world.serverTime),
                .card(local: word.localID.text, activity: subject.id, state: .requesting, token: nil), device, in: world
            )
            guard isAnswered, device == self.device, let row = world.instance(of: subject, on: self),
                row.instance.state == .requesting,
                !cards.contains(where: { $0.activity == subject.id && !$0.isOver })
            else { return }
            if world.chance(15) { return failToStart(word, in: world) }
            var card = newCard(
                subject.id, subject.type, step: world.step(of: subject), run: row.activity.run, in: world)
            card.isApps = true
            if let id = world.channelForApp(subject, on: self) {
                card.channel = id
                // iOS drops a stored message from before the start, as it drops an update of a past timestamp. One that
                // a clock ahead has dated later is not the server's to prevent.
                card.timestamp = max(time(in: world).seconds, world.newestTimestamp(on: id))
            } else if world.chance(35) {
                card.channel = Sample.channel
                world.count(.onChannel)
            }
            card.saysStartedAt = time(in: world)
            card.revision = row.activity.revision
            cards.append(card)
            giveToken(cards.count - 1, in: world)
            world.note(name, "starts \(card.local) of \(subject.id) itself")
            report(cards.count - 1, in: world)
            if world.chance(20) { goBack(card.local, in: world) }
        }
    }

    /// Reports that iOS has refused the app's card.
    private func failToStart(_ announced: CardReport, in world: World) {
        var word = announced
        word.state = .notStarted
        world.count(.notStarted)
        send("could not start \(word.localID)", in: world) { [self] in
            _ = call(
                ReportCard(app: app, device: Sample.device(device), report: word, now: world.serverTime),
                .card(local: word.localID.text, activity: word.activity?.text ?? "", state: .notStarted, token: nil),
                device, in: world)
        }
    }

    /// Shows an older kept state on a card and reports it, so that the server sends the newest state again.
    private func goBack(_ local: String, in world: World) {
        world.after(world.pick([300, 3000, 9000])) { [self] in
            guard let index = cards.firstIndex(where: { $0.local == local && !$0.isOver }), cards[index].step > 0,
                cards[index].timestamp == 0
            else { return }
            cards[index].step -= 1
            world.count(.wentBack)
            world.note(name, "shows \(local) an older state")
            report(index, in: world)
        }
    }

    /// Changes a card in the app, without the server.
    ///
    /// - Parameter times: Number of changes at this instant. Each has a timestamp one second after the previous one.
    func changeItself(_ index: Int, times: Int64 = 1, in world: World) {
        let timestamp = max((cards[index].ownTimestamp ?? 0) + 1, time(in: world).seconds) + times - 1
        guard timestamp > cards[index].timestamp else { return }
        cards[index].timestamp = timestamp
        cards[index].ownTimestamp = timestamp
        cards[index].step = -abs(cards[index].step) - 1
        world.note(name, "changes \(cards[index].local) itself, ts \(cards[index].timestamp)")
        report(index, in: world)
    }
}
