internal import Foundation
internal import JSONText
internal import LiveActivityRegistration

/// The one task that has the machine.
extension ClientEngine {
    /// What nobody else touches.
    struct State {
        var machine: RegistrationMachine
        var identity: ClientIdentity
        /// Who waits for the card of an order, by the order's number.
        var starts: [Int: (order: CardOrder, promise: Promise<StartOutcome>)] = [:]
        /// Who waits until the server has confirmed everything.
        var waiters: [Int: AsyncStream<Void>.Continuation] = [:]
    }

    /// Something that is said to the machine.
    typealias Message = @Sendable (inout State, PhoneMoment) -> Void

    /// How often an unreadable memory is tried again, in milliseconds.
    private static let openingPause = 2_000

    // MARK: - Opening

    /// - Returns: `nil` when the task was cancelled before the memory could be read: before the first unlock after a
    ///   restart it cannot.
    func open() async -> (ClientIdentity, RegistrationMemory)? {
        while !Task.isCancelled {
            if let kept = try? recall() { return kept }
            do { try await parts.clock.sleep(until: parts.clock.steady + Self.openingPause) } catch { return nil }
        }
        return nil
    }

    /// The identity is this device's alone; a memory that came from another phone, or none, is a new installation.
    private func recall() throws -> (ClientIdentity, RegistrationMemory) {
        let identity = try parts.identity.load().flatMap(ClientIdentity.init)
        let bytes = try parts.memory.load()
        if let identity, let bytes,
            let memory = (try? JSONValue(parsing: Array(bytes))).flatMap(RegistrationMemory.init(kept:)),
            memory.device == identity.device
        {
            return (identity, memory)
        }
        let fresh = ClientIdentity(device: UUID().uuidString)
        try parts.identity.save(fresh.data)
        let memory = RegistrationMemory(device: fresh.device)
        try parts.memory.save(Data(JSONValue(encoding: memory).bytes))
        return (fresh, memory)
    }

    // MARK: - Hearing

    /// Hears one thing after the other until the task is cancelled; what was said before comes first.
    func keep(_ identity: ClientIdentity, _ memory: RegistrationMemory) async {
        let ports = ports
        for port in ports.values { port.remember(memory.contents) }
        var state = State(
            machine: RegistrationMachine(
                memory, types: ports.mapValues(\.rules), limits: parts.limits, credentials: identity.credentials),
            identity: identity)
        let awake = BackgroundTime(parts.phone)
        defer { awake.hold(false) }
        // Who sets the clock while the app runs makes no card older.
        let ahead = parts.clock.wall - parts.clock.steady
        for await message in inbox where !Task.isCancelled {
            let steady = parts.clock.steady
            message(&state, PhoneMoment(wall: ahead + steady, steady: steady))
            perform(state.machine.takeActions(), &state)
            concludeStarts(&state)
            let machine = state.machine
            awake.hold(!machine.isSettled && !machine.isForeground)
            if machine.isSettled { for waiter in state.waiters.values { waiter.yield() } }
            let hasMoved = wake.withLock { wake -> Bool in
                defer { wake = machine.nextWake }
                return wake != machine.nextWake
            }
            if hasMoved { bell.ring() }
        }
    }

    private func perform(_ actions: [ClientAction], _ state: inout State) {
        for action in actions {
            switch action {
            case .save:
                if state.identity.device != state.machine.memory.device {
                    state.identity.device = state.machine.memory.device
                    remember(state.identity)
                }
                // Where it cannot be written the next launch says again what was confirmed since; the server tells it
                // by the number of the newest inventory that it has missed some.
                if let bytes = (try? JSONValue(encoding: state.machine.memory))?.bytes {
                    try? parts.memory.save(Data(bytes))
                }
            case .change(let change):
                state.identity.credentials.apply(change)
                remember(state.identity)
            case .tell(let note): publish(ClientEvent(note))
            // A call says what the cards hold: it leaves after what was done to them before.
            case .start, .update, .end, .look, .send: workInput.yield(action)
            }
        }
    }

    func remember(_ identity: ClientIdentity) { try? parts.identity.save(identity.data) }

    // MARK: - Starts

    /// What came of a card that the app wants.
    enum StartOutcome: Sendable {
        /// It is there, perhaps since before.
        case there(localID: String)
        /// Another one is on its way, or it waits until the app is on the screen.
        case left
        case nobodySignedIn
        /// What iOS said.
        case refused(any Error)
    }

    /// The app wants a card.
    ///
    /// - Returns: What came of it, when that is known; `nil` when the client has ended or the task is cancelled.
    func start(_ order: CardOrder) async -> StartOutcome? {
        await Promise.wait { promise in
            self.post { state, now in
                if let number = state.machine.start(order, now) {
                    state.starts[number] = (order, promise)
                } else {
                    promise.give(Self.outcome(of: order, state.machine))
                }
            }
        }
    }

    /// The card of an order was made.
    func started(_ number: Int, _ card: SeenCard) {
        post { state, now in
            state.machine.started(number, card, now)
            state.starts.removeValue(forKey: number)?.promise.give(.there(localID: card.localID))
        }
    }

    /// The card of an order could not be made.
    func notStarted(_ number: Int, _ refusal: CardRefusal) {
        post { state, now in
            state.machine.notStarted(number, "\(refusal.cause)", isHidden: refusal.isHidden, now)
            guard !refusal.isHidden else { return }
            state.starts.removeValue(forKey: number)?.promise.give(.refused(refusal.cause))
        }
    }

    private func concludeStarts(_ state: inout State) {
        for (number, start) in state.starts where !state.machine.isUnderWay(number) {
            state.starts[number] = nil
            start.promise.give(Self.outcome(of: start.order, state.machine))
        }
    }

    private static func outcome(of order: CardOrder, _ machine: RegistrationMachine) -> StartOutcome {
        guard machine.memory.user != nil else { return .nobodySignedIn }
        return machine.card(of: order).map { .there(localID: $0) } ?? .left
    }

    // MARK: - Time

    func keepTime() async {
        while !Task.isCancelled {
            let due = wake.withLock(\.self)
            if let due, due <= parts.clock.steady {
                let next = await ask { state, now in
                    state.machine.tick(now)
                    return state.machine.nextWake
                }
                // What is due and cannot be done waits for something to happen.
                if next == due { await bell.wait() }
                continue
            }
            guard let due else {
                await bell.wait()
                continue
            }
            await withTaskGroup(of: Void.self) { group in
                group.addTask { try? await self.parts.clock.sleep(until: due) }
                group.addTask { await self.bell.wait() }
                await group.next()
                group.cancelAll()
            }
        }
    }
}
