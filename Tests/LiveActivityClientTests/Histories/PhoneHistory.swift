import APNSModel
import IsletBasics
import JSONText
import LiveActivityCore
import LiveActivityRegistration
import TestSupport

@testable import APNSSimulator

/// One history of the server's commands and of phones that run the client, driven by seeded dice: a backend, an APNs,
/// and people who kill, remove and install the app, change hands, lose the network and set the clock.
struct PhoneHistory {
    struct Owner {
        var phone: VirtualPhone
        /// The call under way, its credentials, its process, and the instant at which it reaches the server.
        var call: (call: PhoneCall, given: PhoneCredentials, process: Int, at: UnixTime)?
        /// The person of the app's session, which ends when another person signs in.
        var session: String?
        /// The point at which the process is to end, around its next request to iOS.
        var doom: VirtualPhone.Death?
        /// The push that APNs stores while the phone is offline: the latest one.
        var stored: (push: DevicePush, until: UnixTime)?
        /// The suspension of the process, if it is suspended.
        var suspension: Suspension?
        /// The process that has an incomplete list of cards, and for how long.
        var lateness: (process: Int, of: Duration) = (0, .zero)
        /// Cards that the app called gone because iOS took longer than the app waits.
        var missed: Set<String> = []
    }

    /// Activities of a history. The backend writes a UUID in lowercase, Swift in uppercase.
    static let activities = ["order-1", "ride-2", "0e984725-c51c-4bf4-9960-e1c80e27aba0"]
    /// An activity of a type that a new build has and the server does not know yet.
    static let unknown = "later-1"
    static let people = ["ann", "bob"]

    /// Returns the type of an activity.
    static func type(of activity: String) -> String {
        ["ride", "later"].first { activity.hasPrefix($0) } ?? "order"
    }

    /// Returns an activity's id as the app has it in its attributes.
    static func inSwift(_ activity: String) -> String {
        activity.utf8.count == 36 ? activity.uppercased() : activity
    }

    let seed: UInt64
    /// `true` if cards are renewed before iOS ends them.
    let renews: Bool
    var dice: TestSupport.SeededDice
    var door: ServerDoor
    var now = Sample.now
    var owners: [Owner] = []
    var tokens: [String: (owner: Int, use: TokenUse)] = [:]
    var dead: Set<String> = []
    var steps: [String: Int] = [:]
    var isHealthy = false
    var pushes = 0
    /// Number of pushes to tokens that are no longer valid.
    var deadPushes = 0
    var calls = 0
    /// Number of start tokens that left a phone.
    var startTokens = 0
    var claims: UInt64 = 0
    /// Number of occurrences of each event.
    var events: [Event: Int] = [:]
    var timeline: [String] = []
    var violations: [String] = []

    init(seed: UInt64, renews: Bool? = nil) {
        self.seed = seed
        var dice = TestSupport.SeededDice(seed: seed)
        let isRolled = dice.chance(40)
        let renews = renews ?? isRolled
        self.renews = renews
        func type(_ name: String) -> ActivityType {
            Sample.type(name, activityIDAttribute: "/id") {
                $0.isReusable = false
                $0.renewal = renews
            }
        }
        door = ServerDoor(app: Sample.app(type("order"), type("ride"), environments: [.sandbox]))
        door.knowsPeople = dice.chance(70)
        self.dice = dice
    }

    mutating func note(_ text: String) { timeline.append("\(now) +\(now.milliseconds % 1000) \(text)") }

    mutating func violate(_ text: String) {
        violations.append(text)
        note("VIOLATION: \(text)")
    }

    // MARK: - One history

    mutating func play(steps count: Int) {
        for index in 0..<1 + dice.roll(3) { addPhone(index) }
        for _ in 0..<count {
            act()
            pass(.milliseconds(Int64(dice.pick([0, 50, 400, 1_000, 3_000, 20_000, 90_000]))))
        }
        quiesce()
        check()
    }

    mutating func addPhone(_ index: Int, _ change: (inout PhoneSpecification) -> Void = { _ in }) {
        var specification = PhoneSpecification(user: dice.pick(Self.people), bundleID: Sample.bundleID)
        for name in ["order", "ride"] + (dice.chance(30) ? ["later"] : []) {
            var type = InstalledActivityType(named: "\(name)Attributes")
            type.type = name
            type.activityIDAttribute = Sample.pointer("/id")
            specification.installs(type)
        }
        specification.asksToAllow = dice.chance(30)
        specification.noticesInBackground = dice.chance(50)
        specification.appState = dice.chance(30) ? .foreground : .background
        specification.startsWantedCards = dice.chance(70)
        if dice.chance(15) { specification.iOS = IOSVersion(16, 4) }
        change(&specification)
        guard let id = PhoneID("phone\(index)") else { return }
        let phone = VirtualPhone(
            id: id, specification: specification, limits: DeviceLimits(), dice: SplitMix64(seed: dice.next()))
        owners.append(Owner(phone: phone))
        let effects = owners[index].phone.install(at: now)
        follow(effects, of: index)
    }

    mutating func count(_ event: Event) { events[event, default: 0] += 1 }

    private mutating func act() {
        let index = dice.roll(owners.count)
        if dice.chance(6) {
            owners[index].doom = dice.pick(VirtualPhone.Death.allCases)
            owners[index].phone.death = owners[index].doom
        }
        owners[index].phone.listsCardsAfter =
            dice.chance(15) ? .milliseconds(Int64(dice.pick([50, 700, 2_500, 8_000]))) : .zero
        // If people authenticate themselves, a phone can lose its credential and change hands before it learns of this.
        // It can then prove nothing, and the backend has to sign the previous person out.
        let loses = dice.chance(3)
        if loses, !door.knowsPeople, door.revoke(owners[index].phone.disk.device) { count(.credentialLost) }
        switch dice.roll(100) {
        case 0..<22: put()
        case 22..<26:
            let id = dice.pick(Self.activities)
            note("END \(id)")
            _ = try? door.run(
                EndActivity(
                    app: door.app, id: Sample.activityID(id), state: nil, alert: nil,
                    dismissal: .systemDefault, now: now))
        case 26..<36: perform(owners[index].phone.profile.isOnline ? .offline : .online, on: index)
        case 36..<44: perform(.foreground, on: index)
        case 44..<48:
            perform(.background, on: index)
            if dice.chance(60) { suspend(index) }
        case 48..<54: perform(dice.chance(70) ? .kill : .forceQuit, on: index)
        case 54..<58: perform(.rotateUpdateToken(localID: nil), on: index)
        case 58..<61: perform(.rotatePushToStartToken, on: index)
        case 61: perform(.tap(localID: owners[index].phone.cards.first?.localID), on: index)
        case 62..<64: perform(.swipe(localID: owners[index].phone.cards.first?.localID), on: index)
        case 64..<67: perform(.allow, on: index)
        case 67..<72: perform(.signIn(user: dice.chance(30) ? nil : dice.pick(Self.people)), on: index)
        case 72..<75: perform(owners[index].phone.isInstalled ? .uninstall : .install, on: index)
        case 75..<82: startLocally(index)
        case 82..<88: changeLocally(index)
        case 88: setClock(index)
        case 89: startAlone(index)
        case 90: lock(index)
        case 91..<93:
            perform(.setActivitiesEnabled(!owners[index].phone.profile.activitiesEnabled), on: index)
        case 93..<95:
            perform(.setFrequentPushes(!owners[index].phone.profile.frequentPushesEnabled), on: index)
        case 95..<97: pass(.seconds(900))
        // Until a card's time is nearly over, and a little longer.
        case 97 where renews: pass(.seconds(Int64(7 * 3_600 + dice.pick([0, 900, 1_800]))))
        default: break
        }
    }

    mutating func put(_ activity: String? = nil) {
        let id = activity ?? dice.pick(Self.activities)
        guard let type = door.app.types[Self.type(of: id)] else { return }
        let step = (steps[id] ?? 0) + 1
        var body = SetDesiredState.Body(state: Sample.state(step))
        body.users = Self.people.map(Sample.user)
        body.devices = .all
        body.attributes = ["id": .string(id)]
        note("PUT \(id) step \(step)")
        let reply = try? door.run(
            SetDesiredState(
                app: door.app.bundleID, id: Sample.activityID(id), type: type, body: body, now: now))
        if reply != nil { steps[id] = step }
    }

    mutating func perform(_ action: PhoneAction, on index: Int) {
        resume(index)
        note("\(owners[index].phone.id): \(action)")
        let user = owners[index].phone.profile.user
        do {
            let (_, effects) = try owners[index].phone.perform(action, at: now)
            follow(effects, of: index)
            if let event = Event(action, instead: user) { count(event) }
        } catch {
            follow(owners[index].phone.takeEffects(), of: index)
        }
    }

    // MARK: - Time

    mutating func pass(_ duration: Duration) {
        let until = now + duration
        for _ in 0..<5_000 {
            work()
            guard let next = nextDue, next <= until else {
                now = until
                return
            }
            now = max(now, next)
        }
        violate("work is due without end")
    }

    private var nextDue: UnixTime? {
        var due =
            owners.compactMap { $0.suspension == nil ? $0.phone.nextDue : nil } + owners.compactMap { $0.call?.at }
        if let wake = door.store.nextWakeAt { due.append(wake) }
        return due.min().map { max($0, now + .milliseconds(1)) }
    }

    private mutating func work() {
        for index in owners.indices {
            if owners[index].suspension == nil, let due = owners[index].phone.nextDue, due <= now {
                follow(owners[index].phone.elapse(to: now), of: index)
            }
            if let call = owners[index].call, call.at <= now {
                arrive(call.call, call.given, call.process, index)
            }
        }
        deliver()
    }

    private mutating func arrive(_ call: PhoneCall, _ given: PhoneCredentials, _ process: Int, _ index: Int) {
        owners[index].call = nil
        let roll = isHealthy ? 99 : dice.roll(100)
        let isAlive = owners[index].phone.client != nil && owners[index].phone.processes == process
        var answer: PhoneAnswer?
        switch roll {
        case _ where !owners[index].phone.profile.isOnline, 0..<8: answer = nil
        case 8..<11: answer = PhoneAnswer(status: 503)
        default:
            answer = door.handle(call, given, now: now)
            calls += 1
            // The server has the call, and the phone does not learn of it.
            if roll < 18 { answer = nil }
        }
        if answer == nil { count(.lostAnswer) }
        if let status = answer?.status, status >= 400 { count(.refusal) }
        if call.body.map({ String(decoding: $0, as: UTF8.self).contains(#""state":"duplicate""#) }) == true {
            count(.duplicate)
        }
        note("\(owners[index].phone.id) \(call) -> \(answer?.status ?? 0)\(isAlive ? "" : " to nobody")")
        guard isAlive else { return }
        if owners[index].suspension != nil {
            owners[index].suspension?.unheard = (call.number, answer, process)
            return
        }
        let shown = owners[index].phone.cards.map(\.contentState)
        follow(owners[index].phone.answer(call.number, answer, at: now), of: index)
        let isOther = owners[index].phone.cards.map(\.contentState) != shown
        if isOther, owners[index].phone.cards.count == shown.count { count(.answerApplied) }
    }

    mutating func follow(_ effects: [PhoneEffect], of index: Int) {
        for effect in effects {
            switch effect {
            case .call(let call, var given):
                checkLeaving(call, index)
                if !owners[index].phone.profile.user.isEmpty {
                    owners[index].session = owners[index].phone.profile.user
                }
                given.borrowed = given.borrowed ?? owners[index].session
                let latency = isHealthy ? 40 : dice.pick([20, 60, 300, 900, 8_000])
                owners[index].call = (
                    call, given, owners[index].phone.processes, now + .milliseconds(Int64(latency))
                )
            case .issued(let hex, let use): tokens[hex] = (index, use)
            case .retired(let hex, _, _): dead.insert(hex)
            case .cameOnline:
                guard let stored = owners[index].stored else { continue }
                owners[index].stored = nil
                if stored.until > now { follow(owners[index].phone.receive(stored.push, at: now), of: index) }
            case .subscribed, .changed: break
            }
        }
        noteDeath(of: index)
        checkNotes(of: index)
    }

    private mutating func noteDeath(of index: Int) {
        guard let death = owners[index].doom, owners[index].phone.death == nil else { return }
        owners[index].doom = nil
        note("\(owners[index].phone.id) dies: \(death)")
        count(death == .beforeItIsDone ? .deathBeforeItIsDone : .deathBeforeItHears)
    }

    // MARK: - Pushes

    private mutating func deliver() {
        for _ in 0..<20 {
            claims += 1
            let claim = ClaimWork(
                now: now, node: 1, apps: [door.app.bundleID: door.app], limits: .init(), seed: claims &* 7919)
            guard let reply = try? door.run(claim) else { return }
            for flight in reply.flights {
                var entries: [SettleFlight.Entry] = []
                for seat in flight.seats {
                    let outcome = send(seat, of: flight)
                    entries.append(.init(seat: seat, outcome: .answered(outcome), dice: dice.fraction()))
                }
                _ = try? door.run(SettleFlight(flight: flight, entries: entries, app: door.app, now: now))
            }
            if reply.flights.isEmpty && !reply.hasMore { return }
        }
    }

    private mutating func send(_ seat: Flight.Seat, of flight: Flight) -> Result<PushAnswer, PushFailure> {
        guard let request = try? flight.request(of: seat), let token = tokens[request.destination.hex],
            let body = (try? JSONValue(parsing: request.payload))?.object
        else { return .success(PushAnswer(status: 400, reason: APNSReason("BadDeviceToken"))) }
        pushes += 1
        let plan = seat.plan
        if plan.part == .successor { count(.renewal) }
        let device = seat.phone.device
        note("push \(plan.kind.name) r\(plan.revision) ts \(seat.timestamp) to \(device.id) of \(device.userID)")
        if dead.contains(request.destination.hex) {
            deadPushes += 1
            return .success(PushAnswer(status: 410, reason: APNSReason("ExpiredToken"), inactiveSince: now))
        }
        let roll = isHealthy ? 99 : dice.roll(100)
        if roll < 6 { return .success(PushAnswer(status: 503, reason: APNSReason("ServiceUnavailable"))) }
        if roll < 8 {
            count(.pushLost)
            return .failure(PushFailure(.unknownFate, "lost"))
        }
        let push = DevicePush(
            id: request.id, use: token.use, type: .liveactivity, priority: request.priority.rawValue, body: body)
        if owners[token.owner].phone.profile.isOnline {
            resume(token.owner)
            follow(owners[token.owner].phone.receive(push, at: now), of: token.owner)
        } else {
            owners[token.owner].stored = (push, plan.expiresAt)
        }
        return roll < 11 ? .failure(PushFailure(.unknownFate, "lost")) : .success(PushAnswer(status: 200))
    }
}
