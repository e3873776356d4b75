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
        /// Follows every Live Activity of a type and its push-to-start token. Track all types before ``run()``.
        ///
        /// - Parameters:
        ///   - name: The activity type in the server's configuration. With `nil` it is the Swift name without its
        ///     module.
        ///   - startsActivities: `true` if the app starts what the server wants on this phone while the app is on the
        ///     screen. The client tells the server first, so that no push starts a second one.
        ///   - keepsOwnState: `true` if a state that the app set stays until the server has a newer one. Otherwise the
        ///     server's state returns after a minute. Use the same value as the type's policy `authority: app`.
        public func track<Attributes: ActivityAttributes & SendableMetatype>(
            _ type: Attributes.Type, as name: String? = nil, startsActivities: Bool = true, keepsOwnState: Bool = false
        ) where Attributes.ContentState: SendableMetatype {
            engine.add(
                ActivityPort<Attributes>(
                    type: name ?? String(describing: type),
                    rules: .init(startsCards: startsActivities, isAppAuthority: keepsOwnState)))
        }

        /// Starts a Live Activity from the app, which must be on the screen. Returns when the result is known.
        ///
        /// The client tells the server first, so that the server starts no other one for the same activity. Without an
        /// answer within 3 seconds the Live Activity starts anyway. If the phone locks meanwhile, the client starts it
        /// when the app is back on the screen within an hour. A call before ``run()`` has read the client's memory
        /// waits for that.
        ///
        /// - Parameters:
        ///   - relevance: The rank among the app's Live Activities; higher values rank higher.
        ///   - channel: The id of the broadcast channel whose pushes the Live Activity shows (iOS 18). With `nil`, and
        ///     before iOS 18, it has an update token, and the server sends to that. The server sends nothing to a Live
        ///     Activity on a channel.
        ///   - style: How long the Live Activity stays.
        ///   - schedule: When iOS shows it (iOS 26), or `nil` for at once. Until then it is *pending*, and the server
        ///     counts it as there.
        /// - Returns: The running activity, also if it was there before. `nil` if the server starts it, if it waits
        ///   until the app is back on the screen, or if an earlier call for it has not returned; ``events`` say which.
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
            return try await begin(order)
        }

        /// Starts a Live Activity of an activity that the person wants to follow now, such as a match. The app must be
        /// on the screen. Returns when the result is known.
        ///
        /// The client asks the server for the attributes and the newest state (`GET /v1/activities/{activity}/join`),
        /// with the credential of its other calls. Then it continues as
        /// ``start(_:state:staleDate:relevance:channel:style:schedule:)``, also to a broadcast channel of the server.
        /// It asks once. Without an answer within 30 seconds nothing is started. A call before ``run()`` has read the
        /// client's memory waits for that.
        ///
        /// ```swift
        /// try await client.join("match-7", as: MatchAttributes.self)
        /// ```
        ///
        /// - Parameters:
        ///   - activity: The backend's id of the activity: 1 to 256 bytes without control characters.
        ///   - type: The attributes of the activity's type.
        ///   - style: How long the Live Activity stays.
        /// - Returns: The running activity, also if it was there before; the client then need not ask the server. `nil`
        ///   in the cases in which `start` returns `nil`.
        /// - Throws: The errors of `start`, and one for each refusal: the activity is unknown to this person, has
        ///   ended, is of another type or not offered to this phone, or the app cannot decode it; the server does not
        ///   answer, accepts no more calls, or refuses the credential or the call.
        @discardableResult
        public func join<Attributes: ActivityAttributes & SendableMetatype>(
            _ activity: String, as type: Attributes.Type, style: Style = .standard
        ) async throws(ActivityError) -> Activity<Attributes>? where Attributes.ContentState: SendableMetatype {
            let name = try name(of: type)
            guard RegistrationMachine.isActivityID(activity) else { throw .invalidActivity(activity) }
            guard let joined = await engine.join(activity, as: name) else { throw .cancelled }
            switch joined.outcome {
            case .offered(var order):
                // A card that cannot be shown is not announced to the server either.
                do { _ = try ActivityPort<Attributes>.decoded(order) } catch { throw .undecodable(error) }
                order.isTransient = style == .transient
                return try await begin(order, in: joined.epoch)
            case .shown(let localID):
                // The card may be over without the server's knowledge.
                guard await Self.seen(localID, in: Array(engine.ports.values)) != nil else {
                    throw .notOffered(activity)
                }
                return await Self.activity(localID)
            case .notOffered: throw .notOffered(activity)
            case .typeDiffers(let name): throw .typeDiffers(name)
            case .unknownActivity: throw .unknownActivity(activity)
            case .activityEnded: throw .activityEnded(activity)
            case .nobodySignedIn: throw .nobodySignedIn
            case .credentialsRefused: throw .credentialsRefused
            case .rateLimited: throw .rateLimited
            case .refused(let status, let code): throw .callRefused(code ?? "\(status)")
            case .noAnswer: throw .serverUnreachable
            }
        }

        /// Passes an order on and waits for its Live Activity.
        ///
        /// - Parameter epoch: The machine's epoch in which the server offered the order, or `nil` for the app's own.
        private func begin<Attributes: ActivityAttributes & SendableMetatype>(
            _ order: CardOrder, in epoch: Int? = nil
        ) async throws(ActivityError) -> Activity<Attributes>? where Attributes.ContentState: SendableMetatype {
            switch await engine.start(order, in: epoch) {
            case .there(let localID): return await Self.activity(localID)
            case .left: return nil
            case .nobodySignedIn: throw .nobodySignedIn
            case .refused(let error): throw error as? ActivityError ?? .refused(error)
            case nil: throw .cancelled
            }
        }

        /// Changes a Live Activity from the app. The client reports what the change was based on, and the server's next
        /// state replaces it. A call before ``run()`` has read the client's memory waits for that.
        ///
        /// - Parameters:
        ///   - relevance: The rank among the app's Live Activities, or `nil` to keep the present one.
        ///   - alert: An alert for the person (iOS 16.2 and later), or `nil` for none.
        /// - Returns: `true` if the Live Activity is running.
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

        /// Ends a Live Activity from the app and tells the server. A call before ``run()`` has read the client's memory
        /// waits for that.
        ///
        /// - Parameter dismissal: When the Live Activity leaves the lock screen.
        /// - Returns: `true` if the Live Activity was running.
        @discardableResult
        public func end<Attributes: ActivityAttributes>(
            _ activity: Activity<Attributes>, with state: Attributes.ContentState? = nil,
            dismissal: Dismissal = .systemDefault
        ) async throws(ActivityError) -> Bool {
            let (id, dismissal) = (activity.id, dismissal.asOrdered)
            let last = if let state { Optional(try Self.object(state)) } else { Optional<JSONObject>.none }
            return try await known(id) { $0.end(id, content: last, dismissal, $1) }
        }

        /// Reports that the person opened the app from a Live Activity. The server counts it (`islet_opens_total`).
        ///
        /// Only the app learns this from iOS. Call this method where the app handles the Live Activity's `widgetURL`,
        /// or without one the user activity `NSUserActivityTypeLiveActivity`.
        ///
        /// - Returns: `true` if the Live Activity is running. One that has ended is not counted.
        @discardableResult
        public func opened<Attributes: ActivityAttributes>(
            _ activity: Activity<Attributes>
        ) async throws(ActivityError) -> Bool {
            let id = activity.id
            return try await known(id) { $0.opened(id, $1) }
        }

        /// Makes a change to a Live Activity. Looks for the activity in iOS's list if the client does not know it,
        /// because the app may call this at launch, before the client has read that list.
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

        /// Returns the Live Activity as iOS lists it. Reads the list off the main actor, on which the caller may be.
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

        /// Returns the activity with this id. Reads the list off the main actor, on which the caller may be.
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
