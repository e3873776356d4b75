// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

public import Foundation

// Apple's names and shapes (ActivityKit, as documented for iOS 16.1 to 26), so that the client's edge compiles and runs
// where ActivityKit is missing. They prove that the edge fits this reading of the documentation, not that it fits
// Apple's SDK.

public protocol ActivityAttributes: Decodable, Encodable {
    associatedtype ContentState: Decodable, Encodable, Hashable
}

public enum ActivityState: Codable, Hashable, Sendable {
    case active, ended, dismissed, stale, pending
}

public struct ActivityContent<State: Decodable & Encodable & Hashable>: CustomStringConvertible {
    public let state: State
    public let staleDate: Date?
    public let relevanceScore: Double

    public init(state: State, staleDate: Date?, relevanceScore: Double = 0) {
        self.state = state
        self.staleDate = staleDate
        self.relevanceScore = relevanceScore
    }

    public var description: String { "ActivityContent" }
}

extension ActivityContent: Sendable where State: Sendable {}

public struct ActivityUIDismissalPolicy: Equatable, Sendable {
    let date: Date?
    let isImmediate: Bool

    public static let `default` = ActivityUIDismissalPolicy(date: nil, isImmediate: false)
    public static let immediate = ActivityUIDismissalPolicy(date: nil, isImmediate: true)
    public static func after(_ date: Date) -> ActivityUIDismissalPolicy { Self(date: date, isImmediate: false) }
}

public struct PushType: Equatable, Sendable {
    /// The channel's id; `nil` for a token.
    public let channelID: String?

    public static let token = PushType(channelID: nil)
    /// Available from iOS 18.
    public static func channel(_ channelId: String) -> PushType { PushType(channelID: channelId) }
}

/// Not `Sendable`, like Apple's type, although the stand-in's own is safe to use from anywhere.
public final class Activity<Attributes: ActivityAttributes>: Identifiable, StandInCard {
    public let id: String
    public let attributes: Attributes
    private let lock = NSLock()
    private let phone: StandInPhone
    private var current: ActivityContent<Attributes.ContentState>
    private var state = ActivityState.active
    private var token: Data?
    private var newest: Date?
    private var asked: PushType?
    private var asStyle = ActivityStyle.standard
    private var alert: AlertConfiguration?
    private var beginning: Date?
    private var ending: (policy: ActivityUIDismissalPolicy, timestamp: Date?)?
    private let states = Broadcast<ActivityState>()
    private let tokens = Broadcast<Data>()
    private let contents = Broadcast<Void>()

    init(attributes: Attributes, state: Attributes.ContentState, id: String, phone: StandInPhone) {
        self.attributes = attributes
        self.id = id
        self.phone = phone
        current = ActivityContent(state: state, staleDate: nil)
    }

    private func locked<Value>(_ body: (Activity) -> Value) -> Value {
        lock.lock()
        defer { lock.unlock() }
        return body(self)
    }

    // MARK: - Apple's

    public static var activities: [Activity<Attributes>] { StandInPhone.current.all(Attributes.self) }

    public struct ActivityUpdates: AsyncSequence {
        public struct Iterator: AsyncIteratorProtocol {
            var ids: AsyncStream<String>.Iterator
            let phone: StandInPhone

            @concurrent public mutating func next() async -> Activity<Attributes>? {
                while let id = await ids.next() {
                    if let card: Activity<Attributes> = phone.card(id) { return card }
                }
                return nil
            }
        }

        let ids: AsyncStream<String>
        let phone: StandInPhone

        public func makeAsyncIterator() -> Iterator { Iterator(ids: ids.makeAsyncIterator(), phone: phone) }
    }

    public static var activityUpdates: ActivityUpdates {
        let phone = StandInPhone.current
        phone.isToBeHeard(.cards)
        return ActivityUpdates(ids: phone.newCards.values, phone: phone)
    }

    public static var pushToStartToken: Data? {
        StandInPhone.current.startToken(of: ObjectIdentifier(Attributes.self))
    }

    public struct PushToStartTokenUpdates: AsyncSequence {
        public struct Iterator: AsyncIteratorProtocol {
            var tokens: AsyncStream<StandInPhone.StartToken>.Iterator

            @concurrent public mutating func next() async -> Data? {
                while let token = await tokens.next() {
                    if token.type == ObjectIdentifier(Attributes.self) { return token.token }
                }
                return nil
            }
        }

        let tokens: AsyncStream<StandInPhone.StartToken>

        public func makeAsyncIterator() -> Iterator { Iterator(tokens: tokens.makeAsyncIterator()) }
    }

    public static var pushToStartTokenUpdates: PushToStartTokenUpdates {
        StandInPhone.current.isToBeHeard(.startTokens)
        return PushToStartTokenUpdates(tokens: StandInPhone.current.newStartTokens.values)
    }

    public static func request(
        attributes: Attributes, content: ActivityContent<Attributes.ContentState>, pushType: PushType? = nil
    ) throws -> Activity<Attributes> {
        let phone = StandInPhone.current
        let card = Activity(attributes: attributes, state: content.state, id: phone.nextID(), phone: phone)
        card.current = content
        card.asked = pushType
        try phone.admit(card)
        return card
    }

    public static func request(
        attributes: Attributes, content: ActivityContent<Attributes.ContentState>, pushType: PushType? = nil,
        style: ActivityStyle
    ) throws -> Activity<Attributes> {
        let card = try request(attributes: attributes, content: content, pushType: pushType)
        card.locked { $0.asStyle = style }
        return card
    }

    public static func request(
        attributes: Attributes, content: ActivityContent<Attributes.ContentState>, pushType: PushType? = nil,
        style: ActivityStyle, alertConfiguration: AlertConfiguration, start: Date
    ) throws -> Activity<Attributes> {
        let card = try request(attributes: attributes, content: content, pushType: pushType, style: style)
        card.locked { ($0.state, $0.alert, $0.beginning) = (.pending, alertConfiguration, start) }
        return card
    }

    /// Available from iOS 16.1; deprecated in 16.2.
    public static func request(
        attributes: Attributes, contentState: Attributes.ContentState, pushType: PushType? = nil
    ) throws -> Activity<Attributes> {
        try request(
            attributes: attributes, content: ActivityContent(state: contentState, staleDate: nil), pushType: pushType)
    }

    public var content: ActivityContent<Attributes.ContentState> { locked(\.current) }
    /// Available from iOS 16.1; deprecated in 16.2.
    public var contentState: Attributes.ContentState { locked(\.current.state) }
    public var activityState: ActivityState { locked(\.state) }
    public var pushToken: Data? { locked(\.token) }

    public struct ActivityStateUpdates: AsyncSequence {
        public struct Iterator: AsyncIteratorProtocol {
            var states: AsyncStream<ActivityState>.Iterator

            @concurrent public mutating func next() async -> ActivityState? { await states.next() }
        }

        let states: AsyncStream<ActivityState>

        public func makeAsyncIterator() -> Iterator { Iterator(states: states.makeAsyncIterator()) }
    }

    public var activityStateUpdates: ActivityStateUpdates {
        phone.isToBeHeard(.states(id))
        return ActivityStateUpdates(states: states.values)
    }

    public struct PushTokenUpdates: AsyncSequence {
        public struct Iterator: AsyncIteratorProtocol {
            var tokens: AsyncStream<Data>.Iterator

            @concurrent public mutating func next() async -> Data? { await tokens.next() }
        }

        let tokens: AsyncStream<Data>

        public func makeAsyncIterator() -> Iterator { Iterator(tokens: tokens.makeAsyncIterator()) }
    }

    public var pushTokenUpdates: PushTokenUpdates {
        phone.isToBeHeard(.tokens(id))
        return PushTokenUpdates(tokens: tokens.values)
    }

    public struct ContentUpdates: AsyncSequence {
        public struct Iterator: AsyncIteratorProtocol {
            var changes: AsyncStream<Void>.Iterator
            let card: Activity<Attributes>

            @concurrent public mutating func next() async -> ActivityContent<Attributes.ContentState>? {
                await changes.next().map { card.content }
            }
        }

        let card: Activity<Attributes>
        let changes: AsyncStream<Void>

        public func makeAsyncIterator() -> Iterator { Iterator(changes: changes.makeAsyncIterator(), card: card) }
    }

    public var contentUpdates: ContentUpdates {
        phone.isToBeHeard(.contents(id))
        return ContentUpdates(card: self, changes: contents.values)
    }

    public struct ContentStateUpdates: AsyncSequence {
        public struct Iterator: AsyncIteratorProtocol {
            var contents: ContentUpdates.Iterator

            @concurrent public mutating func next() async -> Attributes.ContentState? { await contents.next()?.state }
        }

        let contents: ContentUpdates

        public func makeAsyncIterator() -> Iterator { Iterator(contents: contents.makeAsyncIterator()) }
    }

    /// Available from iOS 16.1; deprecated in 16.2.
    public var contentStateUpdates: ContentStateUpdates { ContentStateUpdates(contents: contentUpdates) }

    /// Available from iOS 16.1; deprecated in 16.2.
    @concurrent public func update(using contentState: Attributes.ContentState) async {
        if phone.takesUpdates { change(ActivityContent(state: contentState, staleDate: nil), at: nil) }
    }

    /// Available from iOS 16.1; deprecated in 16.2.
    @concurrent public func end(
        using contentState: Attributes.ContentState? = nil, dismissalPolicy: ActivityUIDismissalPolicy = .default
    ) async {
        locked {
            $0.ending = (dismissalPolicy, nil)
        }
        finish(contentState.map { ActivityContent(state: $0, staleDate: nil) }, dismissalPolicy)
    }

    @concurrent public func update(_ content: ActivityContent<Attributes.ContentState>) async {
        if phone.takesUpdates { change(content, at: nil) }
    }

    @concurrent public func update(
        _ content: ActivityContent<Attributes.ContentState>, alertConfiguration: AlertConfiguration? = nil
    ) async {
        locked { $0.alert = alertConfiguration ?? $0.alert }
        if phone.takesUpdates { change(content, at: nil) }
    }

    @concurrent public func update(
        _ content: ActivityContent<Attributes.ContentState>, alertConfiguration: AlertConfiguration? = nil,
        timestamp: Date
    ) async {
        locked { $0.alert = alertConfiguration ?? $0.alert }
        if phone.takesUpdates { change(content, at: timestamp) }
    }

    @concurrent public func end(
        _ content: ActivityContent<Attributes.ContentState>?, dismissalPolicy: ActivityUIDismissalPolicy = .default
    ) async {
        locked { $0.ending = (dismissalPolicy, nil) }
        finish(content, dismissalPolicy)
    }

    @concurrent public func end(
        _ content: ActivityContent<Attributes.ContentState>?, dismissalPolicy: ActivityUIDismissalPolicy = .default,
        timestamp: Date
    ) async {
        locked { $0.ending = (dismissalPolicy, timestamp) }
        // An end with an old timestamp ends the card, and does not restore an old state.
        finish(locked(\.newest).map { timestamp < $0 } == true ? nil : content, dismissalPolicy)
    }

    // MARK: - Acts of a person, iOS and pushes

    public func hand(token: Data, announces: Bool = true) {
        locked { $0.token = token }
        if announces { tokens.send(token) }
    }

    public func push(_ state: Attributes.ContentState, at timestamp: Date? = nil, announces: Bool = true) {
        change(ActivityContent(state: state, staleDate: nil), at: timestamp, announces: announces)
    }

    /// Puts the card into another state. The sequence reports it only if `announces` is `true`.
    public func become(_ state: ActivityState, announces: Bool = true) { _ = set(state, announces: announces) }

    /// Reports a state in the sequence before the card's own property has it.
    public func announce(_ state: ActivityState) { states.send(state) }

    /// Removes the card from the list without notice.
    public func vanish() { phone.remove(id) }

    public func swipe() {
        guard set(.dismissed) else { return }
        leave()
    }

    /// The newest timestamp that was applied.
    public var timestamp: Date? { locked(\.newest) }
    /// The push type that the app requested; `nil` for no token, or for a card that a push started.
    public var pushType: PushType? { locked(\.asked) }
    /// The presentation that the app requested.
    public var style: ActivityStyle { locked(\.asStyle) }
    /// The alert of the last change.
    public var alerted: AlertConfiguration? { locked(\.alert) }
    public func forgetAlert() { locked { $0.alert = nil } }
    /// The instant at which a scheduled card begins.
    public var start: Date? { locked(\.beginning) }
    /// The policy with which the app ended the card; `nil` if it did not.
    public var dismissal: ActivityUIDismissalPolicy? { locked { $0.ending?.policy } }
    /// The timestamp of the app's end; `nil` if it has none.
    public var endTimestamp: Date? { locked { $0.ending?.timestamp } }

    private func change(
        _ content: ActivityContent<Attributes.ContentState>, at timestamp: Date?, announces: Bool = true
    ) {
        let isTaken = locked { card -> Bool in
            guard [.active, .stale, .pending].contains(card.state) else { return false }
            if let timestamp, let newest = card.newest, timestamp < newest { return false }
            card.newest = timestamp ?? card.newest
            card.current = content
            if card.state == .stale { card.state = .active }
            return true
        }
        if isTaken, announces { contents.send(()) }
    }

    private func finish(_ content: ActivityContent<Attributes.ContentState>?, _ policy: ActivityUIDismissalPolicy) {
        if let content { locked { $0.current = content } }
        guard !phone.endsLate else { return }
        // A card that has already ended is also removed when its time comes.
        _ = set(.ended)
        guard policy.isImmediate else { return }
        if set(.dismissed) { leave() }
    }

    private func set(_ state: ActivityState, announces: Bool = true) -> Bool {
        let isNew = locked { card -> Bool in
            guard card.state != state, card.state != .dismissed else { return false }
            card.state = state
            return true
        }
        if isNew, announces { states.send(state) }
        return isNew
    }

    private func leave() {
        states.finish()
        tokens.finish()
        contents.finish()
        phone.remove(id)
    }
}
