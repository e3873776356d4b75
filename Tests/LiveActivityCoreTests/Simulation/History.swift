import APNSModel
import JSONText
import LiveActivityCore
import TestSupport

/// One history of a whole system under seeded dice: backend, store, a process that is killed, an APNs that fails, and
/// phones that are off, swipe and rotate. It keeps what an observer who sees everything would note down.
struct History {
    struct Card {
        var id: String
        var activity: String
        var run: Int
        var step: Int
        var timestamp: Int64
        /// iOS hands out a token: at once for a card the app started, else when the person taps Allow.
        var token: String?
        var isOver = false
        var alerts: Set<Revision> = []
        var startedAt: UnixTime
        /// An older SDK leaves the start's time out of its reports.
        var tellsStart: Bool
    }

    struct Phone {
        var name: String
        var key: DeviceKey
        var user: String
        var isOnline = true
        var startToken: String
        var startTokens = 1
        var cards: [Card] = []
        /// Pushes that APNs took: applied when the phone is online.
        var stored: [(seat: Flight.Seat, step: Int)] = []
        var sequence: Int64 = 0
    }

    struct InFlight {
        var flight: Flight
        var settleAt: UnixTime
        var entries: [SettleFlight.Entry]
        var stragglers: [(at: UnixTime, entry: SettleFlight.Entry)]
    }

    let seed: UInt64
    var dice: SeededDice
    var scene: Scene
    var phones: [Phone] = []
    var inFlight: [InFlight] = []
    var late: [(at: UnixTime, flight: Flight, entry: SettleFlight.Entry)] = []
    var steps: [String: Int] = [:]
    /// Tokens that APNs no longer knows, and those whose death the store has recorded.
    var invalid: Set<String> = []
    var timeline: [String] = []
    var violations: [String] = []
    var isHealthy = false
    var cardsMade = 0
    var pushes = 0
    /// Lanes beyond the first of each activity.
    var splits = 0
    var deliveredAlerts: [String: Int] = [:]
    /// How often an alert that says `onUnknown: repeat` may have arrived without anybody knowing.
    var doubtfulAlerts: [String: Int] = [:]
    /// Alerts that a phone got more than once because of that.
    var repeatedAlerts = 0
    var lastTimestamps: [String: Int64] = [:]

    /// - Parameter lanePhones: Phones beyond which a lane splits.
    init(seed: UInt64, lanePhones: Int = LaneRecord.Limits().phones) {
        self.seed = seed
        dice = SeededDice(seed: seed)
        scene = Scene(
            Sample.type { $0.restart = .never },
            Sample.type("ride", activityIDAttribute: "/rideID") { $0.restart = .onAlert })
        scene.limits.width.phones = lanePhones
        scene.limits.width.lanes = 5
    }

    mutating func note(_ text: String) {
        timeline.append("\(scene.now) +\(scene.now.milliseconds % 1000) \(text)")
    }

    mutating func violate(_ text: String) {
        violations.append(text)
        note("VIOLATION: \(text)")
    }

    static let activities = ["order-1", "order-2", "ride-1"]

    func type(of id: String) -> ActivityType {
        scene.app.types[id.hasPrefix("ride") ? "ride" : "order"] ?? Sample.type()
    }

    // MARK: - One history

    mutating func play(steps count: Int) {
        for index in 0..<2 + dice.roll(3) {
            let phone = Phone(
                name: "phone\(index)", key: DeviceKey(dice.next() >> 1), user: dice.pick(["ann", "bob"]),
                startToken: "p2s-\(index)-1")
            phones.append(phone)
            register(index)
        }
        for _ in 0..<count {
            act()
            scene.wait(.milliseconds(Int64(dice.pick([0, 40, 300, 700, 1000, 2500, 9000, 70_000]))))
            tick()
        }
        quiesce()
        check()
    }

    private mutating func act() {
        switch dice.roll(100) {
        case 0..<22: put()
        case 22..<26: end()
        case 26..<32: togglePhone()
        case 32..<44: allowOrRotate()
        case 44..<50: swipe()
        case 50..<62: reportSomething()
        case 62..<68: inventory()
        case 68..<72: rotateStart()
        case 72..<76: startLocally()
        case 76..<80: crash()
        case 80..<83: scene.wait(.seconds(900))
        default: break
        }
    }

    private mutating func put() {
        let id = dice.pick(Self.activities)
        steps[id, default: 0] += dice.chance(85) ? 1 : 0
        let step = max(1, steps[id] ?? 1)
        steps[id] = step
        let (withAlert, reopen, priority) = (
            dice.chance(25), dice.chance(50), dice.pick(ActivityRecord.PriorityWish.allCases)
        )
        let keep = dice.chance(50)
        let users = dice.chance(30) ? [dice.pick(["ann", "bob"]), "ann"] : steps[id] == 1 ? ["ann", "bob"] : nil
        let unknown = dice.pick([AlertRecord.OnUnknown.drop, .drop, .repeat])
        note("PUT \(id) step \(step) users \(users ?? []) alert \(withAlert) reopen \(reopen)")
        let type = type(of: id)
        let reply = try? scene.put(id, step, users: users, type: type) { body in
            body.attributes =
                type.activityIDAttribute == nil ? ["shop": "here", "name": .string(id)] : ["shop": "here"]
            body.reopen = reopen
            body.priority = priority
            body.devices = .all
            if withAlert {
                var wish = SetDesiredState.AlertWish(Sample.alert)
                wish.keep = keep
                wish.onUnknown = unknown
                body.alert = wish
            }
        }
        note(reply.map { "  revision \($0.revision) run \($0.run)" } ?? "  refused")
        if reply == nil { steps[id] = currentStep(id) }
    }

    private func currentStep(_ id: String) -> Int {
        guard let activity = try? scene.activity(id), let content = scene.store.rows.contents[activity.number] else {
            return 0
        }
        return Self.step(of: content)
    }

    static func step(of content: ContentRecord) -> Int {
        (try? JSONValue(parsing: content.state.bytes))?.object?["step"]?.int ?? 0
    }

    private mutating func end() {
        let id = dice.pick(Self.activities)
        note("END \(id)")
        _ = try? scene.end(id)
    }

    // MARK: - Phones

    mutating func register(_ index: Int) {
        let phone = phones[index]
        _ = try? scene.register(phone.name, user: phone.user, startToken: nil, key: phone.key)
        for type in ["order", "ride"] { try? scene.registerStart(phone.name, phone.startToken, type: type) }
    }

    private mutating func togglePhone() {
        let index = dice.roll(phones.count)
        phones[index].isOnline.toggle()
        note("\(phones[index].name) online \(phones[index].isOnline)")
        if phones[index].isOnline { catchUp(index) }
    }

    private mutating func allowOrRotate() {
        let index = dice.roll(phones.count)
        guard phones[index].isOnline, let card = phones[index].cards.indices.randomElement(using: &dice),
            !phones[index].cards[card].isOver
        else { return }
        cardsMade += 1
        if let old = phones[index].cards[card].token { invalid.insert(old) }
        phones[index].cards[card].token = "u-\(cardsMade)"
        report(index, card)
    }

    private mutating func swipe() {
        let index = dice.roll(phones.count)
        guard let card = phones[index].cards.indices.randomElement(using: &dice), !phones[index].cards[card].isOver
        else { return }
        close(index, card)
        note("\(phones[index].name) swipes \(phones[index].cards[card].id)")
        if phones[index].isOnline, dice.chance(70) { report(index, card, .dismissed) }
    }

    mutating func close(_ index: Int, _ card: Int) {
        phones[index].cards[card].isOver = true
        if let token = phones[index].cards[card].token { invalid.insert(token) }
    }

    private mutating func reportSomething() {
        let index = dice.roll(phones.count)
        guard phones[index].isOnline, let card = phones[index].cards.indices.randomElement(using: &dice) else { return }
        report(index, card, phones[index].cards[card].isOver ? .ended : .active)
    }

    mutating func report(_ index: Int, _ number: Int, _ state: CardReport.State = .active) {
        let (phone, card) = (phones[index], phones[index].cards[number])
        note("\(phone.name) reports \(card.id) \(state.rawValue) step \(card.step) token \(card.token ?? "-")")
        let type = type(of: card.activity)
        do {
            _ = try scene.run(
                ReportCard(
                    app: scene.app, device: Sample.device(phone.name), report: wording(card, state, type),
                    now: scene.now))
        } catch {
            note("  refused: \(error)")
        }
    }

    private func wording(_ card: Card, _ state: CardReport.State, _ type: ActivityType) -> CardReport {
        var report = CardReport(localID: Sample.local(card.id), type: type, state: state)
        report.activity = Sample.activityID(card.activity)
        report.token = state == .active ? card.token.map { Sample.token($0) } : nil
        report.startedAt = card.tellsStart ? card.startedAt : nil
        report.lastTimestamp = card.timestamp > 0 ? card.timestamp : nil
        report.contentState = state == .active ? Sample.state(card.step) : nil
        return report
    }

    private mutating func inventory() {
        let index = dice.roll(phones.count)
        guard phones[index].isOnline else { return }
        inventory(index)
    }

    mutating func inventory(_ index: Int) {
        phones[index].sequence += 1
        let phone = phones[index]
        note("\(phone.name) inventory \(phone.cards.filter { !$0.isOver }.map(\.id))")
        let cards = phone.cards.filter { !$0.isOver }.map { wording($0, .active, type(of: $0.activity)) }
        _ = try? scene.inventory(phone.name, sequence: phone.sequence, cards)
    }

    private mutating func rotateStart() {
        let index = dice.roll(phones.count)
        invalid.insert(phones[index].startToken)
        phones[index].startTokens += 1
        phones[index].startToken = "p2s-\(index)-\(phones[index].startTokens)"
        note("\(phones[index].name) rotates its push-to-start token")
        if phones[index].isOnline { register(index) }
    }

    /// System N, row N7: the app starts a card itself, with word before, and only where it shows none.
    private mutating func startLocally() {
        let index = dice.roll(phones.count)
        let id = dice.pick(Self.activities)
        guard phones[index].isOnline, let activity = try? scene.activity(id), activity.phase == .active,
            !phones[index].cards.contains(where: { $0.activity == id && !$0.isOver }),
            let instance = try? scene.instance(phones[index].name, of: id),
            instance.state == .absent || instance.state.isTombstone, instance.isWanted
        else { return }
        var word = CardReport(localID: Sample.local("soon"), type: type(of: id), state: .requesting)
        word.activity = Sample.activityID(id)
        _ = try? scene.run(
            ReportCard(app: scene.app, device: Sample.device(phones[index].name), report: word, now: scene.now))
        // A claim that came before the word has been sent may be under way: then the app sees that card and starts
        // none.
        guard (try? scene.instance(phones[index].name, of: id))?.state == .requesting else { return }
        cardsMade += 1
        phones[index].cards.append(
            Card(
                id: "card-\(cardsMade)", activity: id, run: activity.run, step: currentStep(id), timestamp: 0,
                token: "u-\(cardsMade)", startedAt: scene.now, tellsStart: dice.chance(50)))
        note("\(phones[index].name) starts card-\(cardsMade) of \(id) itself")
        report(index, phones[index].cards.count - 1)
    }
}
