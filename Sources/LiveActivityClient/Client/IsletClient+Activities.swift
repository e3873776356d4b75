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
        /// Follows every Live Activity of a type, and its push-to-start token. Name all types before ``run()``.
        ///
        /// - Parameters:
        ///   - name: The activity type in the server's configuration; the Swift name without module when `nil`.
        ///   - startsActivities: Whether the app starts what the server would have on this phone, while it is on
        ///     the screen. It tells the server first, so that none is pushed beside it.
        ///   - keepsOwnState: Whether a state that the app set itself stays until the server has a newer one; else the
        ///     server's comes back after a minute. As the policy `authority: app` of the type.
        public func track<Attributes: ActivityAttributes & SendableMetatype>(
            _ type: Attributes.Type, as name: String? = nil, startsActivities: Bool = true, keepsOwnState: Bool = false
        ) where Attributes.ContentState: SendableMetatype {
            engine.add(
                ActivityPort<Attributes>(
                    type: name ?? String(describing: type),
                    rules: .init(startsCards: startsActivities, isAppAuthority: keepsOwnState)))
        }

        /// Starts a Live Activity from the app, which must be on the screen. Returns when it is known what came of it.
        ///
        /// The server hears of it first, and starts no other for the same; without its answer within 3 s it is started
        /// all the same. Where the phone locks meanwhile it is started when the app is back on the screen, within an
        /// hour. Before ``run()`` has read what is remembered the call waits for it.
        ///
        /// - Parameters:
        ///   - relevance: Its place among the app's others, the higher the further up.
        ///   - channel: The id of the broadcast channel whose pushes it is to show, on iOS 18; before that, and with
        ///     `nil`, it has a token, and the server sends to that. To one on a channel the server sends nothing.
        ///   - style: How long it stays.
        ///   - schedule: When iOS is to show it, on iOS 26; `nil`: at once. Until then it is *pending*, and the server
        ///     counts it as there.
        /// - Returns: The running activity, the one that was there before included. `nil` when the server starts it, or
        ///   it waits until the app is back on the screen, or an earlier call for it has not returned; ``events`` tell
        ///   which.
        @discardableResult
        public func start<Attributes: ActivityAttributes & SendableMetatype>(
            _ attributes: Attributes, state: Attributes.ContentState, staleDate: Date? = nil, relevance: Double? = nil,
            channel: String? = nil, style: Style = .standard, schedule: Schedule? = nil
        ) async throws(ActivityError) -> Activity<Attributes>? where Attributes.ContentState: SendableMetatype {
            var order = CardOrder(
                type: try name(of: Attributes.self),
                activity: (attributes as? any IdentifiedActivityAttributes)?.liveActivityID,
                attributes: try Self.object(attributes), content: try Self.object(state),
                staleAt: staleDate.flatMap { Instant(seconds: $0.timeIntervalSince1970) }, relevance: relevance)
            if let channel, !channel.isChannel { throw .invalidChannel(channel) }
            order.channel = channel
            order.isTransient = style == .transient
            if let schedule { order.schedule = try schedule.ordered() }
            switch await engine.start(order) {
            case .there(let localID): return await Self.activity(localID)
            case .left: return nil
            case .nobodySignedIn: throw .nobodySignedIn
            case .refused(let error): throw error as? ActivityError ?? .refused(error)
            case nil: throw .cancelled
            }
        }

        /// Changes a Live Activity from the app; the server hears what it was based on, and its next state takes over.
        /// Before ``run()`` has read what is remembered the call waits for it.
        ///
        /// - Parameters:
        ///   - relevance: Its place among the app's others; `nil`: the one that it has.
        ///   - alert: What iOS tells the person of it, on iOS 16.2 and later; `nil`: nothing.
        /// - Returns: Whether the Live Activity is running.
        @discardableResult
        public func update<Attributes: ActivityAttributes>(
            _ activity: Activity<Attributes>, to state: Attributes.ContentState, staleDate: Date? = nil,
            relevance: Double? = nil, alert: Alert? = nil
        ) async throws(ActivityError) -> Bool {
            let (id, content) = (activity.id, try Self.object(state))
            let presentation = CardPresentation(
                staleAt: staleDate.flatMap { Instant(seconds: $0.timeIntervalSince1970) }, relevance: relevance,
                alert: alert?.asOrdered)
            return try await known(id) { $0.update(id, content: content, presentation: presentation, $1) }
        }

        /// Ends a Live Activity from the app; the server hears of it. Before ``run()`` has read what is remembered the
        /// call waits for it.
        ///
        /// - Parameter dismissal: When it leaves the lock screen.
        /// - Returns: Whether the Live Activity is running.
        @discardableResult
        public func end<Attributes: ActivityAttributes>(
            _ activity: Activity<Attributes>, with state: Attributes.ContentState? = nil,
            dismissal: Dismissal = .systemDefault
        ) async throws(ActivityError) -> Bool {
            let (id, dismissal) = (activity.id, dismissal.asOrdered)
            let last = if let state { Optional(try Self.object(state)) } else { Optional<JSONObject>.none }
            return try await known(id) { $0.end(id, content: last, dismissal, $1) }
        }

        /// Says that the person opened the app from a Live Activity; the server counts it (`islet_opens_total`). iOS
        /// tells nobody but the app: call it where that takes the Live Activity's `widgetURL`, or without one the user
        /// activity `NSUserActivityTypeLiveActivity`.
        ///
        /// - Returns: Whether the Live Activity is running. One that has ended is not counted.
        @discardableResult
        public func opened<Attributes: ActivityAttributes>(
            _ activity: Activity<Attributes>
        ) async throws(ActivityError) -> Bool {
            let id = activity.id
            return try await known(id) { $0.opened(id, $1) }
        }

        /// A launch may speak of a Live Activity before the client has looked at those that there are.
        private func known(
            _ localID: String, _ body: @escaping @Sendable (inout RegistrationMachine, PhoneMoment) -> Bool
        ) async throws(ActivityError) -> Bool {
            guard let isKnown = await engine.ask({ body(&$0.machine, $1) }) else { throw .cancelled }
            guard !isKnown, let seen = await Self.seen(localID, in: Array(engine.ports.values)) else { return isKnown }
            let isFound = await engine.ask { engine, now in
                engine.machine.see(seen, now)
                return body(&engine.machine, now)
            }
            guard let isFound else { throw .cancelled }
            return isFound
        }

        /// The Live Activity as iOS lists it; read outside of the main actor, where the caller may be.
        @concurrent
        private static func seen(_ localID: String, in ports: [any CardPort]) async -> SeenCard? {
            for port in ports {
                if let card = port.cards().first(where: { $0.localID == localID }), card.state.isRunning { return card }
            }
            return nil
        }

        private func name<Attributes: ActivityAttributes & SendableMetatype>(
            of type: Attributes.Type
        ) throws(ActivityError) -> String where Attributes.ContentState: SendableMetatype {
            for port in engine.ports.values where port is ActivityPort<Attributes> { return port.type }
            throw .untrackedType(String(describing: type))
        }

        /// Not read on the main actor, where the caller may be.
        @concurrent
        private static func activity<Attributes: ActivityAttributes>(
            _ localID: String
        ) async -> sending Activity<Attributes>? {
            Activity<Attributes>.activities.first { $0.id == localID }
        }

        private static func object(_ value: some Encodable) throws(ActivityError) -> JSONObject {
            do {
                let value = try JSONValue(parsing: Array(JSONEncoder().encode(value)))
                if let object = value.object { return object }
            } catch {
                throw .unencodable(error)
            }
            throw .unencodable(
                EncodingError.invalidValue(
                    value, .init(codingPath: [], debugDescription: "a Live Activity shows JSON objects only")))
        }
    }
#endif
