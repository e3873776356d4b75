internal import Foundation
internal import JSONText
internal import LiveActivityRegistration

/// The part of the engine that owns the machine, in one task.
extension ClientEngine {
    /// The state that only this task uses.
    struct State {
        var machine: RegistrationMachine
        var identity: ClientIdentity
        /// The callers that wait for the card of an order, by the order's number.
        var starts: [Int: (order: CardOrder, promise: Promise<StartOutcome>)] = [:]
        /// The callers that wait for the answer to a call that joins, by the call's number.
        var joins: [Int: Promise<Joined>] = [:]
        /// The callers that wait until the server has confirmed everything.
        var waiters: [Int: AsyncStream<Void>.Continuation] = [:]
    }

    /// A message to the machine.
    typealias Message = @Sendable (inout State, PhoneMoment) -> Void

    /// Pause before the next attempt to read an unreadable memory, in milliseconds.
    private static let openingPause = 2_000

    // MARK: - Opening

    /// Reads identity and memory, and tries again until both can be read. Before the first unlock after a restart they
    /// cannot.
    ///
    /// - Returns: `nil` if the task was canceled before that.
    func open() async -> (ClientIdentity, RegistrationMemory)? {
        while !Task.isCancelled {
            if let kept = try? recall() { return kept }
            do { try await parts.clock.sleep(until: parts.clock.steady + Self.openingPause) } catch { return nil }
        }
        return nil
    }

    /// Reads identity and memory. A missing memory, or one that came from another phone, makes this a new installation,
    /// because the identity never leaves its device.
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

    /// Handles one message after the other until the task is canceled, first those that arrived before.
    func keep(_ identity: ClientIdentity, _ memory: RegistrationMemory) async {
        let ports = ports
        for port in ports.values { port.remember(memory.contents) }
        var state = State(
            machine: RegistrationMachine(
                memory, types: ports.mapValues(\.rules), limits: parts.limits, credentials: identity.credentials),
            identity: identity)
        let awake = BackgroundTime(parts.phone)
        defer { awake.hold(false) }
        // Wall time follows the steady clock, so a clock that somebody sets while the app runs makes no card older.
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
                // If the memory cannot be written, the next launch reports again what was confirmed since. Its
                // inventory then has an old number, and the server's answer says so.
                if let bytes = (try? JSONValue(encoding: state.machine.memory))?.bytes {
                    try? parts.memory.save(Data(bytes))
                }
            case .change(let change):
                state.identity.credentials.apply(change)
                remember(state.identity)
            case .tell(let note): publish(ClientEvent(note))
            // A call reports what the cards hold, so it waits for what was done to them before.
            case .start, .update, .end, .look, .send: workInput.yield(action)
            }
        }
    }

    func remember(_ identity: ClientIdentity) { try? parts.identity.save(identity.data) }

    // MARK: - Starts

    /// The result of an app's order for a card.
    enum StartOutcome: Sendable {
        /// The card is there, perhaps since before.
        case there(localID: String)
        /// Another order is on its way, or this one waits until the app is on the screen.
        case left
        case nobodySignedIn
        /// iOS refused with this error.
        case refused(any Error)
    }

    /// Orders a card for the app and waits for the result.
    ///
    /// - Parameter epoch: The machine's epoch in which the card was offered, or `nil` for whoever is signed in.
    /// - Returns: `nil` if the client has ended, the task is canceled, or the epoch is over.
    func start(_ order: CardOrder, in epoch: Int? = nil) async -> StartOutcome? {
        await Promise.wait { promise in
            self.post { state, now in
                // The card was offered to the person of that epoch, so nobody else may get it.
                guard epoch == nil || epoch == state.machine.epoch else { return }
                if let number = state.machine.start(order, now) {
                    state.starts[number] = (order, promise)
                } else {
                    promise.give(Self.outcome(of: order, state.machine))
                }
            }
        }
    }

    /// Passes on that the card of an order was made.
    func started(_ number: Int, _ card: SeenCard) {
        post { state, now in
            state.machine.started(number, card, now)
            state.starts.removeValue(forKey: number)?.promise.give(.there(localID: card.localID))
        }
    }

    /// Passes on that the card of an order could not be made.
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
                // Work that is due but cannot be done yet waits for the next message.
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
