internal import Foundation
internal import JSONText
package import LiveActivityAPI
package import LiveActivityRegistration

/// The shell around the registration machine.
///
/// One task owns the machine, handles messages in order, and saves the machine's memory before it acts on it. Two other
/// tasks perform the actions: one for cards, one action after the other, and one for calls.
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

    /// The most messages that wait, above all before the memory can be read. Further messages are dropped.
    private static let inboxLimit = 1_024
    /// The most events that wait for a slow reader. It misses the oldest beyond that.
    private static let eventLimit = 256

    let parts: Parts
    private let tracked = Locked<[String: any CardPort]>([:])
    let (inbox, inboxInput) = AsyncStream.makeStream(
        of: Message.self, bufferingPolicy: .bufferingOldest(ClientEngine.inboxLimit))
    private let isRunning = Locked(false)
    /// The moment of the machine's next wake, on the steady clock.
    let wake = Locked<Int?>(nil)
    let bell = Bell()
    let (work, workInput) = AsyncStream.makeStream(of: ClientAction.self)
    let (calls, callInput) = AsyncStream.makeStream(of: PhoneCall.self)
    let (joins, joinInput) = AsyncStream.makeStream(of: JoinCall.self)
    private let log = EventLog()
    private let listeners = Locked<[Int: AsyncStream<ClientEvent>.Continuation]>([:])
    private let waits = Locked(0)

    package init(_ parts: Parts) {
        self.parts = parts
    }

    package func add(_ port: any CardPort) {
        tracked.withLock { $0[port.type] = port }
    }

    var ports: [String: any CardPort] { tracked.withLock(\.self) }

    // MARK: - Saying something to the machine

    /// Sends a message to the machine. It is handled after earlier messages, as soon as the memory can be read.
    /// Everything that `body` reads is read then, on no actor.
    package func say(_ body: @escaping @Sendable (inout RegistrationMachine, PhoneMoment) -> Void) {
        post { body(&$0.machine, $1) }
    }

    /// Sends a message to the machine and waits for its result.
    ///
    /// - Returns: `nil` if there will be none, because the client has ended or the task is canceled.
    func ask<Value: Sendable>(_ body: @escaping @Sendable (inout State, PhoneMoment) -> Value) async -> Value? {
        await Promise.wait { promise in
            self.post { state, now in promise.give(body(&state, now)) }
        }
    }

    func post(_ message: @escaping Message) { inboxInput.yield(message) }

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

    func publish(_ event: ClientEvent) {
        log.write(event)
        for listener in listeners.withLock({ Array($0.values) }) { listener.yield(event) }
    }

    // MARK: - Running

    /// Follows the phone and its cards, and makes calls to the server, until the task is canceled.
    @concurrent
    package func run() async {
        let isFirst = isRunning.withLock { isRunning -> Bool in
            defer { isRunning = true }
            return !isRunning
        }
        guard isFirst else { return }
        defer { inboxInput.finish() }
        guard let (identity, memory) = await open() else { return }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.keep(identity, memory) }
            group.addTask { await self.keepTime() }
            group.addTask { await self.carryActions() }
            group.addTask { await self.carryCalls() }
            group.addTask { await self.carryJoins() }
            group.addTask { await self.parts.phone.observe { self.take($0) } }
            for port in ports.values { group.addTask { await port.observe { self.take($0, of: port.type) } } }
            look()
            await group.waitForAll()
        }
    }

    /// Reads everything again, because a sequence may have skipped what was there before it was listened to.
    ///
    /// All reads are one message. Otherwise a card that appears between the reads and their handling would count as
    /// gone.
    package func look() {
        let (phone, ports) = (parts.phone, ports.values)
        say { machine, now in
            machine.see(phone.facts(), now)
            for port in ports { machine.see(startToken: port.startToken(), for: port.type, now) }
            machine.see(all: ports.flatMap { $0.cards() }, now)
        }
    }

    func readStartTokens() {
        let ports = ports.values
        say { machine, now in
            for port in ports { machine.see(startToken: port.startToken(), for: port.type, now) }
        }
    }

    /// Notes a token of ordinary notifications, of which only the app's delegate hears.
    package func noteDeviceToken(_ token: TokenText) {
        let phone = parts.phone
        say { machine, now in
            var facts = phone.facts()
            facts.deviceToken = token
            machine.see(facts, now)
        }
    }

    /// Returns when the server has confirmed everything, or after this many milliseconds.
    package func waitUntilSettled(atMost milliseconds: Int) async {
        let (settled, input) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let number = waits.withLock { waits -> Int in
            waits += 1
            return waits
        }
        post { state, _ in state.waiters[number] = input }
        await wait(for: settled, atMost: milliseconds)
        post { state, _ in state.waiters[number] = nil }
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
            // A card that vanishes because a setting was changed was not swiped away, so the settings are read first.
            let phone = card.state == .dismissed ? parts.phone : nil
            say { machine, now in
                if let phone { machine.see(phone.facts(), now) }
                machine.see(card, now)
            }
        }
    }

    /// Returns when the sequence has an element or ends, or after this many milliseconds.
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
