// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

public import Foundation

/// The phone behind the stand-in, which ActivityKit's types call. Each test has its own, in a task-local value.
public final class StandInPhone: @unchecked Sendable {
    @TaskLocal public static var current = StandInPhone()

    private let lock = NSLock()
    private var cards: [String: any StandInCard] = [:]
    private var order: [String] = []
    private var startTokens: [ObjectIdentifier: Data] = [:]
    private var isEnabled = true
    private var hasFrequentPushes = false
    private var isOnScreen = true
    private var isTaking = true
    private var isLate = false
    private var listed: Set<ActivityState> = [.active, .ended, .dismissed, .stale, .pending]
    private var listening: (@Sendable (Feed) -> Void)?
    private var number = 0
    /// The error that the next requests throw.
    private var refusal: ActivityAuthorizationError?

    let newCards = Broadcast<String>()
    let enablement = Broadcast<Bool>()
    let frequency = Broadcast<Bool>()
    let newStartTokens = Broadcast<StartToken>()

    struct StartToken: Sendable {
        let type: ObjectIdentifier
        let token: Data
    }

    public init() {}

    func locked<Value>(_ body: (StandInPhone) -> Value) -> Value {
        lock.lock()
        defer { lock.unlock() }
        return body(self)
    }

    // MARK: - Acts of a person and iOS

    /// Starts a card as a push does, with the token at once or later.
    @discardableResult
    public func pushStart<Attributes: ActivityAttributes>(
        _ attributes: Attributes, _ state: Attributes.ContentState, token: Data? = nil
    ) -> Activity<Attributes> {
        let card = Activity(attributes: attributes, state: state, id: nextID(), phone: self)
        locked { phone in
            phone.cards[card.id] = card
            phone.order.append(card.id)
        }
        if let token { card.hand(token: token) }
        newCards.send(card.id)
        return card
    }

    /// Gives the app another push-to-start token, and sends it to current listeners.
    public func setStartToken<Attributes: ActivityAttributes>(
        _ token: Data?, for type: Attributes.Type, announces: Bool = true
    ) {
        locked { $0.startTokens[ObjectIdentifier(type)] = token }
        if announces, let token { newStartTokens.send(StartToken(type: ObjectIdentifier(type), token: token)) }
    }

    public func setActivitiesEnabled(_ isOn: Bool, announces: Bool = true) {
        locked { $0.isEnabled = isOn }
        if announces { enablement.send(isOn) }
    }

    public func setFrequentPushes(_ isOn: Bool, announces: Bool = true) {
        locked { $0.hasFrequentPushes = isOn }
        if announces { frequency.send(isOn) }
    }

    public func setOnScreen(_ isOnScreen: Bool) { locked { $0.isOnScreen = isOnScreen } }

    /// Sets whether cards apply the app's updates. iOS ignores an update without an error.
    public func setTakesUpdates(_ isTaking: Bool) { locked { $0.isTaking = isTaking } }

    /// Sets whether an ended card reports its end only later.
    public func setEndsLate(_ isLate: Bool) { locked { $0.isLate = isLate } }

    /// Sets the states in which cards are listed. iOS may omit a card that is over although it is still on the lock
    /// screen.
    public func setListed(_ states: Set<ActivityState>) { locked { $0.listed = states } }

    /// A sequence of ActivityKit. A sequence of a card has the card's id.
    public enum Feed: Sendable, Hashable {
        case cards, startTokens, enablement, frequency
        case states(String), tokens(String), contents(String)
    }

    /// Runs the body immediately before a listener starts on a sequence, so that the listener misses the change.
    public func beforeListening(_ body: (@Sendable (Feed) -> Void)?) { locked { $0.listening = body } }

    func isToBeHeard(_ feed: Feed) { locked(\.listening)?(feed) }

    public func refuseRequests(with error: ActivityAuthorizationError?) { locked { $0.refusal = error } }

    // MARK: - For the types

    public var activitiesEnabled: Bool { locked(\.isEnabled) }
    public var takesUpdates: Bool { locked(\.isTaking) }
    public var endsLate: Bool { locked(\.isLate) }
    public var frequentPushes: Bool { locked(\.hasFrequentPushes) }

    func startToken(of type: ObjectIdentifier) -> Data? { locked { $0.startTokens[type] } }

    func all<Attributes>(_ type: Attributes.Type) -> [Activity<Attributes>] {
        let (cards, listed) = locked { phone in
            (phone.order.compactMap { phone.cards[$0] as? Activity<Attributes> }, phone.listed)
        }
        return cards.filter { listed.contains($0.activityState) }
    }

    func card<Attributes>(_ id: String) -> Activity<Attributes>? { locked { $0.cards[id] as? Activity<Attributes> } }

    func nextID() -> String {
        locked { phone in
            phone.number += 1
            return "card-\(phone.number)"
        }
    }

    func admit<Attributes>(_ card: Activity<Attributes>) throws {
        let refusal = locked { phone -> ActivityAuthorizationError? in
            if let refusal = phone.refusal { return refusal }
            guard phone.isEnabled else { return .denied }
            guard phone.isOnScreen else { return .visibility }
            phone.cards[card.id] = card
            phone.order.append(card.id)
            return nil
        }
        if let refusal { throw refusal }
        newCards.send(card.id)
    }

    func remove(_ id: String) {
        locked { phone in
            phone.cards[id] = nil
            phone.order.removeAll { $0 == id }
        }
    }
}

protocol StandInCard: AnyObject {}

/// Sends a value to current listeners. Later listeners miss it, as with ActivityKit's sequences.
final class Broadcast<Value: Sendable>: @unchecked Sendable {
    private let lock = NSLock()
    private var listeners: [Int: AsyncStream<Value>.Continuation] = [:]
    private var number = 0

    func send(_ value: Value) {
        lock.lock()
        let all = Array(listeners.values)
        lock.unlock()
        for listener in all { listener.yield(value) }
    }

    func finish() {
        lock.lock()
        let all = Array(listeners.values)
        lock.unlock()
        for listener in all { listener.finish() }
    }

    var values: AsyncStream<Value> {
        let (stream, continuation) = AsyncStream.makeStream(of: Value.self)
        lock.lock()
        number += 1
        let own = number
        listeners[own] = continuation
        lock.unlock()
        continuation.onTermination = { [weak self] _ in self?.forget(own) }
        return stream
    }

    private func forget(_ number: Int) {
        lock.lock()
        listeners[number] = nil
        lock.unlock()
    }
}
