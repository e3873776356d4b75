internal import Foundation
internal import JSONText
package import LiveActivityAPI
package import LiveActivityRegistration

/// The shell around the registration machine: keeps it behind a lock, writes its memory down before anything follows
/// from it, and performs its actions: cards one after the other, beside them one call at a time.
package final class ClientEngine: Sendable {
    package struct Parts: Sendable {
        package var transport: any ClientTransport
        package var memory: any ClientStorage
        package var identity: any ClientStorage
        package var clock: any ClientClock
        package var phone: any PhonePort
        package var credentials: @Sendable (_ refused: String?) async throws -> String
        package var limits = RegistrationMachine.Limits()
        package var dice: @Sendable () -> Double = { Double.random(in: 0..<1) }

        package init(
            transport: any ClientTransport, memory: any ClientStorage, identity: any ClientStorage,
            clock: any ClientClock, phone: any PhonePort,
            credentials: @escaping @Sendable (_ refused: String?) async throws -> String
        ) {
            self.transport = transport
            self.memory = memory
            self.identity = identity
            self.clock = clock
            self.phone = phone
            self.credentials = credentials
        }
    }

    struct State: Sendable {
        /// `nil` until the memory could be read: before the first unlock after a restart it cannot.
        var machine: RegistrationMachine?
        var identity: ClientIdentity?
        var early: [@Sendable (inout RegistrationMachine, PhoneMoment) -> Void] = []
        var ports: [String: any CardPort] = [:]
        var isRunning = false
    }

    /// Things that are said before the memory can be read; the app says few of them.
    private static let earlyLimit = 256
    /// How often an unreadable memory is tried again, in milliseconds.
    private static let openingPause = 2_000
    /// What a slow reader of the events may miss is the oldest of so many.
    private static let eventLimit = 256

    let parts: Parts
    let state = Locked(State())
    private let bell = Bell()
    let (work, workInput) = AsyncStream.makeStream(of: ClientAction.self)
    let (calls, callInput) = AsyncStream.makeStream(of: PhoneCall.self)
    private let listeners = Locked<[Int: AsyncStream<ClientEvent>.Continuation]>([:])
    /// What keeps iOS from suspending the app; once until all is said or the app is on the screen.
    private let hold = Locked<(@Sendable () -> Void)?>(nil)
    /// Those who wait until the server has confirmed everything.
    private let waiters = Locked<[Int: AsyncStream<Void>.Continuation]>([:])

    package init(_ parts: Parts) {
        self.parts = parts
    }

    package func add(_ port: any CardPort) {
        state.withLock { $0.ports[port.type] = port }
    }

    func port(_ type: String) -> (any CardPort)? { state.withLock { $0.ports[type] } }

    // MARK: - Saying something to the machine

    /// Says something to the machine; before its memory could be read, as soon as it is.
    package func say(_ body: @escaping @Sendable (inout RegistrationMachine, PhoneMoment) -> Void) {
        _ = tell(orElse: body) { body(&$0, $1) }
    }

    /// The app wants a card; before the memory could be read the order waits for it, and events tell what came of it.
    ///
    /// - Returns: Whether a card is being started.
    package func start(_ order: CardOrder) -> Bool {
        let later: @Sendable (inout RegistrationMachine, PhoneMoment) -> Void = { _ = $0.start(order, $1) }
        let isStarted: Bool? = tell(orElse: later) { $0.start(order, $1) != nil }
        return isStarted ?? true
    }

    /// - Returns: `nil` while the memory cannot be read.
    package func ask<Value>(_ body: (inout RegistrationMachine, PhoneMoment) -> Value) -> Value? {
        tell(orElse: nil, body)
    }

    private func tell<Value>(
        orElse later: (@Sendable (inout RegistrationMachine, PhoneMoment) -> Void)?,
        _ body: (inout RegistrationMachine, PhoneMoment) -> Value
    ) -> Value? {
        let (value, hasMoved, machine) = state.withLock { state -> (Value?, Bool, RegistrationMachine?) in
            let due = state.machine?.nextWake
            guard let value = heard(&state, body) else {
                if let later, state.early.count < Self.earlyLimit { state.early.append(later) }
                return (nil, false, nil)
            }
            return (value, state.machine?.nextWake != due, state.machine)
        }
        guard let machine else { return value }
        if machine.isSettled { for waiter in waiters.withLock({ Array($0.values) }) { waiter.yield() } }
        stayAwake(!machine.isSettled && !machine.isForeground)
        if hasMoved { bell.ring() }
        return value
    }

    private func stayAwake(_ isNeeded: Bool) {
        hold.withLock { release in
            switch (isNeeded, release) {
            case (true, nil): release = parts.phone.stayAwake()
            case (false, let over?):
                over()
                release = nil
            case (true, .some), (false, nil): break
            }
        }
    }

    /// Under the lock, so that actions are queued in the order in which they were decided.
    @discardableResult
    private func heard<Value>(
        _ state: inout State, _ body: (inout RegistrationMachine, PhoneMoment) -> Value
    ) -> Value? {
        guard var machine = state.machine else { return nil }
        let value = body(&machine, moment)
        let actions = machine.takeActions()
        state.machine = machine
        perform(actions, machine.memory, &state.identity)
        return value
    }

    private var moment: PhoneMoment { PhoneMoment(wall: parts.clock.wall, steady: parts.clock.steady) }

    private func perform(
        _ actions: [ClientAction], _ memory: RegistrationMemory, _ identity: inout ClientIdentity?
    ) {
        for action in actions {
            switch action {
            case .save:
                if identity?.device != memory.device {
                    identity?.device = memory.device
                    remember(identity)
                }
                // Where it cannot be written the next launch says again what was confirmed since; the server tells it
                // by the number of the newest inventory that it has missed some.
                if let bytes = (try? JSONValue(encoding: memory))?.bytes { try? parts.memory.save(Data(bytes)) }
            case .change(let change):
                identity?.credentials.apply(change)
                remember(identity)
            case .tell(let note): publish(ClientEvent(note))
            // A call says what the cards hold: it leaves after what was done to them before.
            case .start, .update, .end, .look, .send: workInput.yield(action)
            }
        }
    }

    // MARK: - Events

    package var events: AsyncStream<ClientEvent> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: ClientEvent.self, bufferingPolicy: .bufferingNewest(Self.eventLimit))
        let number = listeners.withLock { listeners -> Int in
            let number = (listeners.keys.max() ?? 0) + 1
            listeners[number] = continuation
            return number
        }
        continuation.onTermination = { [weak self] _ in self?.listeners.withLock { $0[number] = nil } }
        return stream
    }

    private func publish(_ event: ClientEvent) {
        for listener in listeners.withLock({ Array($0.values) }) { listener.yield(event) }
    }

    // MARK: - Running

    /// Follows the phone and its cards, and talks to the server, until the task is cancelled.
    package func run() async {
        let isFirst = state.withLock { state -> Bool in
            defer { state.isRunning = true }
            return !state.isRunning
        }
        guard isFirst, await open() else { return }
        let ports = state.withLock { Array($0.ports.values) }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.keepTime() }
            group.addTask { await self.carryActions() }
            group.addTask { await self.carryCalls() }
            group.addTask { await self.parts.phone.observe { self.take($0) } }
            for port in ports { group.addTask { await port.observe { self.take($0, of: port.type) } } }
            look()
            await group.waitForAll()
        }
    }

    /// Looks at everything: a sequence may have skipped what was there before it was listened to.
    ///
    /// Nothing is heard between the look and what follows from it: a card that appears in between would count as gone.
    package func look() {
        let (phone, ports) = (parts.phone, state.withLock { Array($0.ports.values) })
        say { machine, now in
            machine.see(phone.facts(), now)
            for port in ports { machine.see(startToken: port.startToken(), for: port.type, now) }
            machine.see(all: ports.flatMap { $0.cards() }, now)
        }
    }

    func readStartTokens() {
        let ports = state.withLock { Array($0.ports.values) }
        say { machine, now in
            for port in ports { machine.see(startToken: port.startToken(), for: port.type, now) }
        }
    }

    /// A token of ordinary notifications, which only the app's delegate hears of.
    package func noteDeviceToken(_ token: TokenText) {
        let phone = parts.phone
        say { machine, now in
            var facts = phone.facts()
            facts.deviceToken = token
            machine.see(facts, now)
        }
    }

    /// Returns when the server has confirmed everything, or after so many milliseconds.
    package func waitUntilSettled(atMost milliseconds: Int) async {
        let (settled, input) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let number = waiters.withLock { waiters -> Int in
            let number = (waiters.keys.max() ?? 0) + 1
            waiters[number] = input
            return number
        }
        defer { waiters.withLock { $0[number] = nil } }
        if ask({ machine, _ in machine.isSettled }) == true { return }
        await wait(for: settled, atMost: milliseconds)
    }

    private func take(_ news: PhoneNews) {
        switch news {
        case .factsChanged:
            let phone = parts.phone
            say { $0.see(phone.facts(), $1) }
        case .foreground(let isForeground):
            say { $0.setForeground(isForeground, $1) }
            if isForeground { look() }
        case .networkBack: say { $0.retryNow($1) }
        }
    }

    private func take(_ news: CardNews, of type: String) {
        switch news {
        case .startToken(let token): say { $0.see(startToken: token, for: type, $1) }
        case .card(let card):
            // A card that vanishes because a switch was turned was not swiped away: the switches come first.
            let phone = card.state == .dismissed ? parts.phone : nil
            say { machine, now in
                if let phone { machine.see(phone.facts(), now) }
                machine.see(card, now)
            }
        }
    }

    // MARK: - Opening

    private func open() async -> Bool {
        while !Task.isCancelled {
            if let (identity, memory) = try? recall() {
                begin(identity, memory)
                return true
            }
            do { try await parts.clock.sleep(until: parts.clock.steady + Self.openingPause) } catch { return false }
        }
        return false
    }

    private func begin(_ identity: ClientIdentity, _ memory: RegistrationMemory) {
        state.withLock { state in
            state.identity = identity
            for port in state.ports.values { port.remember(memory.contents) }
            state.machine = RegistrationMachine(
                memory, types: state.ports.mapValues(\.rules), limits: parts.limits,
                credentials: identity.credentials)
            // Before whatever is said from now on: who signs out last is out.
            let early = state.early
            state.early = []
            for body in early { heard(&state, body) }
        }
        bell.ring()
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

    // MARK: - Time

    private func keepTime() async {
        while !Task.isCancelled {
            let due = state.withLock { $0.machine?.nextWake }
            if let due, due <= parts.clock.steady {
                say { $0.tick($1) }
                // What is due and cannot be done waits for something to happen.
                if state.withLock({ $0.machine?.nextWake }) == due { await bell.wait() }
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

    /// Returns when a sequence says something or ends, or after so many milliseconds.
    func wait(for news: AsyncStream<Void>, atMost milliseconds: Int) async {
        let deadline = parts.clock.steady + milliseconds
        await withTaskGroup(of: Void.self) { group in
            group.addTask { try? await self.parts.clock.sleep(until: deadline) }
            group.addTask { for await _ in news { return } }
            await group.next()
            group.cancelAll()
        }
    }
}
