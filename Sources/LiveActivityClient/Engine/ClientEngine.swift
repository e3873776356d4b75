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

    private struct State: Sendable {
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

    private let parts: Parts
    private let state = Locked(State())
    private let bell = Bell()
    private let (work, workInput) = AsyncStream.makeStream(of: ClientAction.self)
    private let (calls, callInput) = AsyncStream.makeStream(of: PhoneCall.self)
    private let listeners = Locked<[Int: AsyncStream<ClientEvent>.Continuation]>([:])
    /// Those who wait until the server has confirmed everything.
    private let waiters = Locked<[Int: AsyncStream<Void>.Continuation]>([:])

    package init(_ parts: Parts) {
        self.parts = parts
    }

    package func add(_ port: any CardPort) {
        state.withLock { $0.ports[port.type] = port }
    }

    private func port(_ type: String) -> (any CardPort)? { state.withLock { $0.ports[type] } }

    // MARK: - Saying something to the machine

    /// Says something to the machine; before its memory could be read, as soon as it is.
    package func say(_ body: @escaping @Sendable (inout RegistrationMachine, PhoneMoment) -> Void) {
        _ = tell(orElse: body) { body(&$0, $1) }
    }

    /// - Returns: `nil` while the memory cannot be read.
    package func ask<Value>(_ body: (inout RegistrationMachine, PhoneMoment) -> Value) -> Value? {
        tell(orElse: nil, body)
    }

    private func tell<Value>(
        orElse later: (@Sendable (inout RegistrationMachine, PhoneMoment) -> Void)?,
        _ body: (inout RegistrationMachine, PhoneMoment) -> Value
    ) -> Value? {
        let (value, hasMoved, isSettled) = state.withLock { state -> (Value?, Bool, Bool) in
            guard var machine = state.machine else {
                if let later, state.early.count < Self.earlyLimit { state.early.append(later) }
                return (nil, false, false)
            }
            let due = machine.nextWake
            let value = body(&machine, moment)
            let actions = machine.takeActions()
            state.machine = machine
            // Under the lock, so that actions are queued in the order in which they were decided.
            perform(actions, machine.memory, &state.identity)
            return (value, machine.nextWake != due, machine.isSettled)
        }
        if isSettled { for waiter in waiters.withLock({ Array($0.values) }) { waiter.yield() } }
        if hasMoved { bell.ring() }
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
                // A memory that cannot be written costs a repetition after the next launch, nothing else.
                if let bytes = (try? JSONValue(encoding: memory))?.bytes { try? parts.memory.save(Data(bytes)) }
            case .change(let change):
                identity?.credentials.apply(change)
                remember(identity)
            case .tell(let note): publish(ClientEvent(note))
            // A call says what the cards hold: it leaves after what was done to them before.
            case .start, .update, .end, .send: workInput.yield(action)
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
            group.addTask { for await action in self.work { await self.carryOut(action) } }
            group.addTask { for await call in self.calls { await self.carry(call) } }
            group.addTask { await self.parts.phone.observe { self.take($0) } }
            for port in ports { group.addTask { await port.observe { self.take($0, of: port.type) } } }
            look()
            await group.waitForAll()
        }
    }

    /// Looks at everything: a sequence may have skipped what was there before it was listened to.
    package func look() {
        let facts = parts.phone.facts()
        let ports = state.withLock { Array($0.ports.values) }
        let cards = ports.flatMap { $0.cards() }
        let tokens = ports.map { ($0.type, $0.startToken()) }
        say { machine, now in
            machine.see(facts, now)
            for (type, token) in tokens { machine.see(startToken: token, for: type, now) }
            machine.see(all: cards, now)
        }
    }

    /// A token of ordinary notifications, which only the app's delegate hears of.
    package func noteDeviceToken(_ token: TokenText) {
        var facts = parts.phone.facts()
        facts.deviceToken = token
        let seen = facts
        say { $0.see(seen, $1) }
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
        let deadline = parts.clock.steady + milliseconds
        await withTaskGroup(of: Void.self) { group in
            group.addTask { try? await self.parts.clock.sleep(until: deadline) }
            group.addTask {
                if self.ask({ machine, _ in machine.isSettled }) == true { return }
                for await _ in settled { return }
            }
            await group.next()
            group.cancelAll()
        }
    }

    private func take(_ news: PhoneNews) {
        switch news {
        case .factsChanged:
            let facts = parts.phone.facts()
            say { $0.see(facts, $1) }
        case .foreground(let isForeground):
            say { $0.setForeground(isForeground, $1) }
            if isForeground { look() }
        case .networkBack: say { $0.retryNow($1) }
        case .clockChanged: say { machine, _ in machine.clockChanged() }
        }
    }

    private func take(_ news: CardNews, of type: String) {
        switch news {
        case .startToken(let token): say { $0.see(startToken: token, for: type, $1) }
        case .card(let card):
            // A card that vanishes because a switch was turned was not swiped away: the switches come first.
            let facts = card.state == .dismissed ? parts.phone.facts() : nil
            say { machine, now in
                if let facts { machine.see(facts, now) }
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
        let early = state.withLock { state in
            state.identity = identity
            state.machine = RegistrationMachine(
                memory, types: state.ports.mapValues(\.rules), limits: parts.limits,
                credentials: identity.credentials)
            defer { state.early = [] }
            return state.early
        }
        for body in early { say(body) }
    }

    /// The identity is this device's alone; a memory that came from another phone, or none, is a new installation.
    private func recall() throws -> (ClientIdentity, RegistrationMemory) {
        let identity = try parts.identity.load().flatMap(ClientIdentity.init)
        let bytes = try parts.memory.load()
        if let identity, let bytes,
            let memory = try? JSONValue(parsing: Array(bytes)).decode(RegistrationMemory.self),
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

    // MARK: - Performing

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

    private func carryOut(_ action: ClientAction) async {
        switch action {
        case .start(let number, let order):
            do {
                guard let port = port(order.type) else { throw ClientFault.unknownType }
                let card = try port.start(order)
                say { $0.started(number, card, $1) }
            } catch {
                let reason = "\(error)"
                say { $0.notStarted(number, reason, $1) }
            }
        case .update(let change, let localID, let content, let presentation, let timestamp):
            let card = await onCard(localID) {
                await $0.update(localID, content: content, presentation, timestamp: timestamp)
            }
            if let card { say { $0.updated(change, card, $1) } } else { say { $0.lost(localID, $1) } }
        case .end(let localID, let content, let dismissal, let timestamp):
            let card = await onCard(localID) {
                await $0.end(localID, content: content, dismissal, timestamp: timestamp)
            }
            if let card { say { $0.see(card, $1) } } else { say { $0.lost(localID, $1) } }
        case .send(let call): callInput.yield(call)
        case .save, .change, .tell: break
        }
    }

    /// The card belongs to one of the types; the others have none of that id.
    private func onCard(_ localID: String, _ body: (any CardPort) async -> SeenCard?) async -> SeenCard? {
        for port in state.withLock({ Array($0.ports.values) }) {
            if let card = await body(port) { return card }
        }
        return nil
    }

    // MARK: - Calling

    private func carry(_ call: PhoneCall) async {
        guard isDue(call) else { return }
        let answer = await answer(to: call)
        let dice = parts.dice()
        say { $0.answered(call.number, answer, dice: dice, $1) }
    }

    private func isDue(_ call: PhoneCall) -> Bool { ask { $0.isDue(call.number, $1) } ?? false }

    /// The phone's own credential, where the server gave one: what to do when it is refused is the machine's matter.
    /// Else the person's, which is asked for once more when the server refuses what was given.
    private func answer(to call: PhoneCall) async -> PhoneAnswer? {
        let kept = state.withLock { $0.identity?.credentials } ?? PhoneCredentials()
        if let own = kept.own { return await send(call, own) }
        let proof = call.showsProof ? kept.proof : nil
        guard let given = await borrow(kept.borrowed, refused: nil), isDue(call) else { return nil }
        let answer = await send(call, given, proof: proof)
        guard answer?.status == 401, let fresh = await borrow(nil, refused: given), isDue(call) else { return answer }
        return await send(call, fresh, proof: proof)
    }

    /// Kept for the call that signs out: the person's own may be gone by then.
    private func borrow(_ known: String?, refused: String?) async -> String? {
        if let known { return known }
        let epoch = state.withLock { $0.machine?.epoch }
        guard let fresh = try? await parts.credentials(refused) else { return nil }
        state.withLock { state in
            // Whoever came meanwhile never speaks with what was given for the one before.
            guard let machine = state.machine, machine.epoch == epoch else { return }
            state.identity?.credentials.borrow(fresh, of: machine.memory.user)
            remember(state.identity)
        }
        return fresh
    }

    private func remember(_ identity: ClientIdentity?) {
        if let identity { try? parts.identity.save(identity.data) }
    }

    private func send(_ call: PhoneCall, _ credential: String, proof: String? = nil) async -> PhoneAnswer? {
        let request = ClientRequest(
            method: call.method.rawValue, path: call.path, body: call.body.map { Data($0) }, credential: credential,
            proof: proof)
        guard let response = try? await parts.transport.send(request) else { return nil }
        return PhoneAnswer(
            status: response.status, body: Array(response.body),
            date: response.date.map { Int($0.timeIntervalSince1970.rounded(.down)) })
    }
}

enum ClientFault: Error {
    /// Nobody tracks cards of that type.
    case unknownType
    /// Starting and changing cards needs iOS 16.2.
    case needsNewerSystem
    /// Attributes and states are JSON objects.
    case notAnObject
}
