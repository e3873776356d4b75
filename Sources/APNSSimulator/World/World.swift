internal import APNSModel
import IsletBasics
internal import JSONText
internal import LiveActivityRegistration

/// APNs and all phones behind it as one value.
///
/// Requests, actions and time go in. Answers and effects come out.
///
/// The type is pure: no I/O, no clock, seeded random numbers. `Engine` keeps it behind one lock and executes the
/// effects.
struct World: Sendable {
    struct Slot: Sendable {
        var phone: VirtualPhone
        /// The call that the client on the phone makes, until it is delivered.
        var call: ClientCall?
        /// The latest push that APNs keeps while the phone is offline.
        var stored: StoredPush?
        /// Channels whose stored message the phone gets when it comes back.
        var missed: Set<ChannelID> = []
    }

    struct ClientCall: Sendable {
        let call: PhoneCall
        /// The app's credentials when it made the call.
        let credentials: PhoneCredentials
        /// Number of the process that made the call. An answer to a process that has ended is dropped.
        let process: Int
    }

    struct StoredPush: Sendable {
        let push: DevicePush
        let until: UnixTime
    }

    /// An effect that `Engine` executes.
    enum Effect: Sendable, Hashable {
        case changed(PhoneID)
        case received
        case carryCalls(PhoneID)
        case waitOver(Int)
        case waitLost(Int)
    }

    struct Limits: Sendable {
        var phones = 200_000
        /// Maximum number of members of all crowds together.
        var crowdMembers = 1_000_000
        var pushesPerTokenAndMinute: Int?
        var received = 10_000
        var hasBackend = true
        var usesWireSpelling = true

        static let crowds = 64
    }

    let limits: Limits
    var directory = PushInspection.Directory()
    var faults = FaultList()
    var crowds: [String: Crowd] = [:]
    var channels = ChannelStore()
    var channelRules = ChannelRules()
    /// Number of broadcasts that were accepted.
    var broadcastCount = 0
    /// Accepted pushes that a fault delays, in the order of time.
    var delayed: [DelayedDelivery] = []
    var slots: [Slot] = []
    private(set) var received: Ring<ReceivedPush>
    private(set) var receivedCount = 0
    private var numbers: [PhoneID: Int] = [:]
    private var agenda = Agenda()
    var dice: SplitMix64
    private var tokenRate: PushRate
    var broadcastRate = PushRate(limit: nil, inSeconds: 1)
    var effects: [Effect] = []

    init(seed: UInt64, limits: Limits, channelRules: ChannelRules = ChannelRules()) {
        self.limits = limits
        dice = SplitMix64(seed: seed)
        received = Ring(capacity: limits.received)
        tokenRate = PushRate(limit: limits.pushesPerTokenAndMinute, inSeconds: 60)
        set(channelRules)
    }

    // MARK: Phones

    mutating func add(
        _ specification: PhoneSpecification, limits device: DeviceLimits, now: UnixTime
    ) throws(SimulatorError) -> PhoneID {
        advance(to: now)
        guard slots.count < limits.phones else {
            throw SimulatorError(.tooManyPhones, "there are \(limits.phones) phones already")
        }
        var number = slots.count + 1
        while specification.id == nil, numbers[PhoneID(number: number)] != nil { number += 1 }
        let id = specification.id ?? PhoneID(number: number)
        guard numbers[id] == nil else { throw SimulatorError(.phoneExists, "there is a phone `\(id)` already") }
        numbers[id] = slots.count
        slots.append(
            Slot(
                phone: VirtualPhone(
                    id: id, specification: specification, limits: device, hasBackend: limits.hasBackend,
                    dice: SplitMix64(seed: dice.next()))))
        run(slots.count - 1, now: now) { $0.install(at: now) }
        return id
    }

    func slot(of phone: PhoneID) throws(SimulatorError) -> Slot {
        slots[try index(of: phone)]
    }

    func lockScreen(of phone: PhoneID) throws(SimulatorError) -> LockScreen {
        try slot(of: phone).phone.lockScreen
    }

    mutating func perform(
        _ action: PhoneAction, on phone: PhoneID, now: UnixTime
    ) throws(SimulatorError) -> String? {
        let index = try index(of: phone)
        advance(to: now)
        let (localID, effects) = try slots[index].phone.perform(action, at: now)
        follow(effects, of: index, now: now)
        return localID
    }

    private func index(of phone: PhoneID) throws(SimulatorError) -> Int {
        guard let index = numbers[phone] else { throw SimulatorError(.unknownPhone, "there is no phone `\(phone)`") }
        return index
    }

    // MARK: Time

    /// Advances time. Work that becomes due happens in order, over all phones.
    mutating func advance(to now: UnixTime) {
        while let next = delayed.first, next.due <= now {
            wakePhones(until: next.due)
            delayed.removeFirst()
            deliver(next.content, now: next.due)
        }
        wakePhones(until: now)
    }

    private mutating func wakePhones(until now: UnixTime) {
        while let (due, index) = agenda.next(until: now) {
            run(index, now: due) { $0.elapse(to: due) }
        }
    }

    mutating func takeEffects() -> [Effect] {
        defer { effects = [] }
        return effects
    }

    mutating func run(_ index: Int, now: UnixTime, _ body: (inout VirtualPhone) -> [PhoneEffect]) {
        let effects = body(&slots[index].phone)
        follow(effects, of: index, now: now)
    }

    private mutating func follow(_ phoneEffects: [PhoneEffect], of index: Int, now: UnixTime) {
        var hasChanged = false
        var cameOnline = false
        var subscriptions: [ChannelID] = []
        let phone = slots[index].phone
        for effect in phoneEffects {
            switch effect {
            case .call(let call, let credentials):
                slots[index].call = ClientCall(
                    call: call, credentials: credentials, process: slots[index].phone.processes)
                effects.append(.carryCalls(phone.id))
            case .issued(let hex, let use):
                directory.tokens.add(
                    hex,
                    TokenDirectory.Entry(
                        phone: phone.id, use: use, bundleID: phone.profile.bundleID,
                        environment: phone.profile.environment))
            case .retired(let hex, let end, let at):
                directory.tokens.end(hex, end, at: at, grace: phone.limits.tokenGrace)
            case .subscribed(let channel): subscriptions.append(channel)
            case .cameOnline: cameOnline = true
            case .changed: hasChanged = true
            }
        }
        if cameOnline {
            deliverStored(to: index, now: now)
            deliverMissed(to: index, now: now)
        }
        for channel in subscriptions { deliverStored(of: channel, toLate: index, now: now) }
        agenda.schedule(index, at: slots[index].phone.nextDue)
        if hasChanged { effects.append(.changed(phone.id)) }
    }

    // MARK: Calls

    /// Returns and removes the call that a phone's client wants to make; `nil` if there is none.
    mutating func takeCall(of phone: PhoneID) -> ClientCall? {
        guard let index = numbers[phone] else { return nil }
        defer { slots[index].call = nil }
        return slots[index].call
    }

    func isOnline(_ phone: PhoneID) -> Bool {
        numbers[phone].map { slots[$0].phone.profile.isOnline } ?? false
    }

    mutating func answer(_ call: ClientCall, of phone: PhoneID, _ answer: PhoneAnswer?, now: UnixTime) {
        guard let index = numbers[phone], slots[index].phone.processes == call.process else { return }
        run(index, now: now) { $0.answer(call.call.number, answer, at: now) }
        effects.append(.changed(phone))
    }

    // MARK: Delivery

    private mutating func deliver(_ accepted: AcceptedPush, _ push: DevicePush, to phone: PhoneID, now: UnixTime) {
        guard let index = numbers[phone] else { return }
        guard !slots[index].phone.profile.isOnline else {
            run(index, now: now) { $0.receive(push, at: now) }
            return
        }
        guard let until = accepted.storedUntil, until > now else {
            noteAtAPNs(.notStored, "the phone was offline and the push was not to be kept", push.id, index, now)
            return
        }
        if let replaced = slots[index].stored {
            noteAtAPNs(.replacedInStore, "APNs keeps one push per app and phone", replaced.push.id, index, now)
        }
        slots[index].stored = StoredPush(push: push, until: until)
    }

    private mutating func deliverStored(to index: Int, now: UnixTime) {
        guard let stored = slots[index].stored else { return }
        slots[index].stored = nil
        guard stored.until > now else {
            noteAtAPNs(.expired, "the push expired while the phone was offline", stored.push.id, index, now)
            return
        }
        run(index, now: now) { $0.receive(stored.push, at: now) }
    }

    mutating func noteAtAPNs(
        _ code: DeviceLogEntry.Code, _ words: String, _ push: PushID, _ index: Int, _ now: UnixTime
    ) {
        run(index, now: now) { phone in
            phone.note(code, words, at: phone.local(now), push: push)
            return phone.takeEffects()
        }
    }

    // MARK: Requests

    /// Checks a request, applies it, and returns the answer.
    mutating func accept(
        _ arrival: PushArrival, session: inout ProviderSession, now: UnixTime
    ) -> FrontDecision {
        if arrival.isManagement || arrival.path.hasPrefix(ChannelInspection.broadcastPath) {
            return acceptCall(arrival, session: &session, now: now)
        }
        advance(to: now)
        let recipient = arrival.tokenText.flatMap { directory.recipient(of: $0) }
        let fault = faults.effect(on: arrival, phone: recipient?.phone, dice: &dice, now: now)
        let id = arrival.id.flatMap { PushID($0) } ?? dice.uuid()
        var decision = FrontDecision(fault, on: arrival)
        var isTextual = false
        if decision.processes {
            do throws(Refusal) {
                let accepted = try PushInspection.inspect(
                    arrival, to: recipient, session: &session, keys: directory.keys, now: now)
                guard tokenRate.allows(arrival.tokenText ?? "", now: now) else { throw Refusal(.tooManyRequests) }
                isTextual = accepted.hasTextualIssueDate
                decision.answer = FrontAnswer(status: 200)
                deliver(.push(accepted, arrival, id), after: decision.delay, now: now)
            } catch {
                decision.answer = FrontAnswer(error, usesWireSpelling: limits.usesWireSpelling)
            }
        } else if decision.answer?.status != 403 {
            // A fault other than 403 does not keep APNs from recognizing a good provider token, which raises the
            // streams.
            _ = try? session.authorize(
                arrival.authorization, keys: directory.keys, environment: arrival.environment, now: now)
        }
        decision.answer?.id = id
        decision.answer?.date = now
        if arrival.environment == .sandbox { decision.answer?.uniqueID = dice.uuid() }
        receivedCount += 1
        if case .member(let entry, _) = recipient {
            // Millions of these would displace the phones' pushes from the record.
            if decision.answer?.status == 200 { return decision }
            if decision.answer != nil { crowds[entry.crowd]?.refuse() }
        }
        record(arrival, id, recipient?.phone, decision, hadFault: fault != nil, isTextual: isTextual, now: now)
        return decision
    }

    mutating func deliver(_ accepted: AcceptedPush, _ arrival: PushArrival, _ id: PushID, now: UnixTime) {
        switch accepted.recipient {
        case .phone(let entry):
            let push = DevicePush(
                id: id, use: entry.use, type: accepted.type, priority: accepted.priority, body: arrival.body ?? [:],
                collapseID: arrival.collapseID)
            deliver(accepted, push, to: entry.phone, now: now)
        case .member(let entry, let member):
            deliver(arrival, priority: accepted.priority, to: member, of: entry, now: now)
        }
    }

    /// Records a broadcast, which has no token.
    mutating func note(
        _ arrival: PushArrival, _ id: PushID, _ decision: FrontDecision, hadFault: Bool, now: UnixTime
    ) {
        receivedCount += 1
        record(arrival, id, nil, decision, hadFault: hadFault, isTextual: false, now: now)
    }

    private mutating func record(
        _ arrival: PushArrival, _ id: PushID, _ phone: PhoneID?, _ decision: FrontDecision, hadFault: Bool,
        isTextual: Bool, now: UnixTime
    ) {
        received.append(
            ReceivedPush(
                number: receivedCount, at: now, environment: arrival.environment,
                token: "\(arrival.tokenText?.prefix(8) ?? "")…", pushType: arrival.pushType, topic: arrival.topic,
                event: arrival.event, priority: arrival.priority, expiration: arrival.expiration,
                collapseID: arrival.collapseID, timestamp: arrival.body?["aps"]?.object?["timestamp"]?.int,
                payloadBytes: arrival.bodyBytes, channel: arrival.channelID, id: id, phone: phone,
                status: decision.answer?.status,
                reason: decision.answer?.reason, hadFault: hadFault, hasTextualIssueDate: isTextual))
        effects.append(.received)
    }
}
