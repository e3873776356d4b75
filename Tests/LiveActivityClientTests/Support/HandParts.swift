import Foundation
import JSONText
import LiveActivityAPI
import LiveActivityClient
import LiveActivityRegistration

/// A phone's clocks that a test moves.
final class HandClock: ClientClock, @unchecked Sendable {
    private let lock = NSLock()
    private var passed = 0
    private var beginning: Int
    private var sleepers: [Int: (until: Int, continuation: CheckedContinuation<Void, any Error>)] = [:]
    private var number = 0
    /// The ends of all sleeps that were requested.
    let deadlines = Log<Int>()

    /// - Parameter wall: Milliseconds since 1970.
    init(wall: Int = 1_700_000_000_000) { beginning = wall }

    private func locked<Value>(_ body: (HandClock) -> Value) -> Value {
        lock.lock()
        defer { lock.unlock() }
        return body(self)
    }

    /// Sets the phone's clock ahead.
    func set(ahead milliseconds: Int) { locked { $0.beginning += milliseconds } }

    var wall: Int { locked { $0.beginning + $0.passed } }
    var steady: Int { locked(\.passed) }

    func advance(_ milliseconds: Int) {
        let due = locked { clock in
            clock.passed += milliseconds
            let due = clock.sleepers.filter { $0.value.until <= clock.passed }
            for number in due.keys { clock.sleepers[number] = nil }
            return due.values.map(\.continuation)
        }
        for continuation in due { continuation.resume() }
    }

    func sleep(until steady: Int) async throws {
        deadlines.add(steady)
        let own = locked { clock in
            clock.number += 1
            return clock.number
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let goesOn = locked { clock -> Bool in
                    guard steady > clock.passed, !Task.isCancelled else { return true }
                    clock.sleepers[own] = (steady, continuation)
                    return false
                }
                if goesOn { continuation.resume() }
            }
        } onCancel: {
            locked { $0.sleepers.removeValue(forKey: own) }?.continuation.resume(throwing: CancellationError())
        }
    }
}

/// Changes on a phone besides its cards, made by a test.
final class HandPhone: PhonePort, @unchecked Sendable {
    private let lock = NSLock()
    private var known: DeviceRequest
    private let (news, input) = AsyncStream.makeStream(of: PhoneNews.self)

    init() { known = PhoneBench.facts() }

    func facts() -> DeviceRequest {
        lock.lock()
        defer { lock.unlock() }
        return known
    }

    func observe(_ tell: @escaping @Sendable (PhoneNews) -> Void) async {
        for await news in news { tell(news) }
    }

    func say(_ news: PhoneNews) { input.yield(news) }

    private var takeBack: (@Sendable () -> Void)?

    /// Ends the time that iOS gave in the background.
    func expire() {
        lock.lock()
        let takeBack = takeBack
        lock.unlock()
        takeBack?()
    }

    /// The requests to iOS, in order.
    let wakefulness = Log<String>()

    func stayAwake(expired: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
        wakefulness.add("stays awake")
        lock.lock()
        takeBack = expired
        lock.unlock()
        return { self.wakefulness.add("may be suspended") }
    }

    /// Changes the facts and reports the change.
    func change(_ body: (inout DeviceRequest) -> Void) {
        lock.lock()
        body(&known)
        lock.unlock()
        say(.factsChanged)
    }
}

/// Cards of one type, made by a test.
final class HandPort: CardPort, @unchecked Sendable {
    let type = "ride"
    let rules = RegistrationMachine.TypeRules()
    private let lock = NSLock()
    private var listed: [SeenCard] = []
    private var look: (@Sendable () -> Void)?
    private let (news, input) = AsyncStream.makeStream(of: CardNews.self)
    private var listener: (@Sendable (CardNews) -> Void)?
    /// The cards that were to be ended.
    let ended = Log<String>()
    /// `true` if ActivityKit does not return from ending a card.
    let hangs: Bool

    init(hangs: Bool = false) { self.hangs = hangs }

    private func locked<Value>(_ body: (HandPort) -> Value) -> Value {
        lock.lock()
        defer { lock.unlock() }
        return body(self)
    }

    /// Runs the body once, after the cards were listed and before anybody has seen the list.
    func whenListed(_ body: @escaping @Sendable () -> Void) { locked { $0.look = body } }

    /// Adds a card. All listeners have heard of it when this returns.
    func appear(_ card: SeenCard) {
        let listener = locked { port in
            port.listed.append(card)
            return port.listener
        }
        listener?(.card(card))
    }

    func cards() -> [SeenCard] {
        let (cards, look) = locked { port in
            defer { port.look = nil }
            return (port.listed, port.look)
        }
        look?()
        return cards
    }

    func remember(_ contents: [String: JSONObject]) {}

    func startToken() -> TokenText? { nil }

    func observe(_ tell: @escaping @Sendable (CardNews) -> Void) async {
        locked { $0.listener = tell }
        for await _ in news {}
    }

    func start(_ order: CardOrder) throws(CardRefusal) -> SeenCard { throw CardRefusal(CancellationError()) }

    func update(
        _ localID: String, content: JSONObject, _ presentation: CardPresentation, timestamp: Int?
    ) async -> SeenCard? { cards().first { $0.localID == localID } }

    func end(
        _ localID: String, content: JSONObject?, _ dismissal: CardDismissal, timestamp: Int?
    ) async -> SeenCard? {
        ended.add(localID)
        // Hangs until the test is over.
        if hangs { for await _ in AsyncStream<Void>.makeStream().stream {} }
        return nil
    }
}
