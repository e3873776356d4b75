#if os(iOS) && !targetEnvironment(macCatalyst)
    public import ActivityKit
#elseif canImport(ActivityKitStandIn)
    public import ActivityKitStandIn
#endif

#if (os(iOS) && !targetEnvironment(macCatalyst)) || canImport(ActivityKitStandIn)
    public import Foundation
    internal import JSONText
    internal import LiveActivityAPI
    internal import LiveActivityAttributes
    internal import LiveActivityRegistration

    @available(iOS 16.1, *)
    extension IsletClient {
        /// Follows every card of a type, and its push-to-start token. Name all types before ``run()``.
        ///
        /// - Parameters:
        ///   - name: The activity type in the server's configuration; the Swift name without module when `nil`.
        ///   - startsCards: Whether the app makes the cards that the server would have on this phone, while it is on
        ///     the screen. It tells the server first, so that none is pushed beside it.
        ///   - keepsOwnState: Whether a state that the app set itself stays until the server has a newer one; else the
        ///     server's comes back after a minute. As the policy `authority: app` of the type.
        public func track<Attributes: ActivityAttributes & SendableMetatype>(
            _ type: Attributes.Type, as name: String? = nil, startsCards: Bool = true, keepsOwnState: Bool = false
        ) where Attributes.ContentState: SendableMetatype {
            engine.add(
                ActivityPort<Attributes>(
                    type: name ?? String(describing: type),
                    rules: .init(startsCards: startsCards, isAppAuthority: keepsOwnState)))
        }

        /// Starts a card from the app, which must be on the screen.
        ///
        /// The server hears of it first, and no other card of that activity is started; without its answer within 3 s
        /// the card is started all the same. Where a card of the activity is there already, or was started by the
        /// server, nothing happens. Before ``run()`` has read what is remembered the order waits for it. ``events``
        /// tell what came of it.
        ///
        /// - Parameters:
        ///   - relevance: The card's place among the app's others, the higher the further up.
        ///   - name: The activity type, as given to ``track(_:as:startsCards:keepsOwnState:)``.
        /// - Returns: Whether a card is being started; not while nobody is signed in.
        /// - Throws: What encoding throws.
        @discardableResult
        public func start<Attributes: ActivityAttributes>(
            _ attributes: Attributes, state: Attributes.ContentState, staleDate: Date? = nil, relevance: Double? = nil,
            as name: String? = nil
        ) throws -> Bool {
            let order = CardOrder(
                type: name ?? String(describing: Attributes.self),
                activity: (attributes as? any IdentifiedActivityAttributes)?.liveActivityID,
                attributes: try Self.object(attributes), content: try Self.object(state),
                staleAt: staleDate.flatMap { Instant(seconds: $0.timeIntervalSince1970) }, relevance: relevance)
            return engine.start(order)
        }

        /// Changes a card from the app; the server hears what it was based on, and its next state takes over.
        ///
        /// - Parameter relevance: The card's place among the app's others; `nil`: the one that it has.
        /// - Returns: Whether there is such a running card; false before ``run()`` has read what is remembered.
        /// - Throws: What encoding throws.
        @discardableResult
        public func update<Attributes: ActivityAttributes>(
            _ activity: Activity<Attributes>, to state: Attributes.ContentState, staleDate: Date? = nil,
            relevance: Double? = nil
        ) throws -> Bool {
            let (id, content) = (activity.id, try Self.object(state))
            let presentation = CardPresentation(
                staleAt: staleDate.flatMap { Instant(seconds: $0.timeIntervalSince1970) }, relevance: relevance)
            return engine.ask { $0.update(id, content: content, presentation: presentation, $1) } ?? false
        }

        /// Ends a card from the app; the server hears of it.
        ///
        /// - Parameter dismissal: When it leaves the lock screen.
        /// - Returns: Whether there is such a running card; false before ``run()`` has read what is remembered.
        /// - Throws: What encoding throws.
        @discardableResult
        public func end<Attributes: ActivityAttributes>(
            _ activity: Activity<Attributes>, with state: Attributes.ContentState? = nil,
            dismissal: Dismissal = .systemDefault
        ) throws -> Bool {
            let (id, dismissal) = (activity.id, dismissal.asOrdered)
            let last = if let state { Optional(try Self.object(state)) } else { Optional<JSONObject>.none }
            return engine.ask { $0.end(id, content: last, dismissal, $1) } ?? false
        }

        private static func object(_ value: some Encodable) throws -> JSONObject {
            let value = try JSONValue(parsing: Array(JSONEncoder().encode(value)))
            guard let object = value.object else { throw ClientFault.notAnObject }
            return object
        }
    }
#endif
