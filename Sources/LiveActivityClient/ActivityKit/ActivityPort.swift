#if os(iOS) && !targetEnvironment(macCatalyst)
    internal import ActivityKit
#elseif canImport(ActivityKitStandIn)
    internal import ActivityKitStandIn
#endif

#if (os(iOS) && !targetEnvironment(macCatalyst)) || canImport(ActivityKitStandIn)
    internal import Foundation
    internal import JSONText
    internal import LiveActivityAPI
    internal import LiveActivityAttributes
    internal import LiveActivityRegistration

    /// The edge to ActivityKit for one attributes type. It reads, reports and performs; it makes no decisions.
    ///
    /// It asks iOS for the list of activities each time. It keeps the activities that it follows, because iOS may not
    /// list one any more after its end.
    @available(iOS 16.1, *)
    struct ActivityPort<Attributes: ActivityAttributes & SendableMetatype>: CardPort
    where Attributes.ContentState: SendableMetatype {
        let type: String
        let rules: RegistrationMachine.TypeRules
        /// `true` to use nothing that iOS 16.2 added, as on iOS 16.1. Tests use it on newer systems.
        let isFirstSystem: Bool
        /// The followed cards, by their ids.
        private let held = Locked<[String: Held]>([:])
        /// The content of each card as JSON, as the server or the app gave it.
        ///
        /// Encoding a state again can give other text: the order of a set changes, and members that the type does not
        /// read are missing. If the state is equal, the port reports the kept text.
        private let words = Locked<[String: JSONObject]>([:])
        private let startTokens = Locked(TokenReading())

        /// An `Activity` that several tasks use.
        ///
        /// `Activity` is not `Sendable` but is made for this use. `update` and `end` are `nonisolated` and `async`, so
        /// they leave the caller's isolation together with the `Activity`. Apple's samples call them from the main
        /// actor while other tasks wait for the activity's sequences.
        private struct Handle: @unchecked Sendable {
            let activity: Activity<Attributes>
        }

        private struct Held: Sendable {
            let card: Handle
            var tokens = TokenReading()
        }

        init(type: String, rules: RegistrationMachine.TypeRules, isFirstSystem: Bool = false) {
            self.type = type
            self.rules = rules
            self.isFirstSystem = isFirstSystem
        }

        // MARK: - Reading

        func cards() -> [SeenCard] { Activity<Attributes>.activities.map(seen) }

        func startToken() -> TokenText? {
            guard #available(iOS 17.2, *) else { return nil }
            let property = Activity<Attributes>.pushToStartToken.flatMap(Self.text)
            return startTokens.withLock { $0.newest(property) }
        }

        func remember(_ contents: [String: JSONObject]) { words.withLock { $0 = contents } }

        private func card(_ localID: String) -> Handle? {
            Activity<Attributes>.activities.first { $0.id == localID }.map(Handle.init)
        }

        /// Returns a followed card that has ended and may still be on the lock screen, because iOS need not list it any
        /// more.
        private func endedCard(_ localID: String) -> Handle? {
            let card = held.withLock { $0[localID]?.card }
            return card?.activity.activityState == .ended ? card : nil
        }

        private func seen(_ card: Activity<Attributes>) -> SeenCard {
            var seen = SeenCard(localID: card.id, type: type, state: Self.state(card.activityState))
            seen.activity = (card.attributes as? any IdentifiedActivityAttributes)?.liveActivityID
            seen.attributes = Self.object(card.attributes)
            seen.content = content(of: card)
            let property = card.pushToken.flatMap(Self.text)
            seen.token = held.withLock { $0[card.id]?.tokens.newest(property) ?? property }
            seen.channel = channel(of: card.attributes)
            return seen
        }

        private func content(of card: Activity<Attributes>) -> JSONObject? {
            let shown = shown(card)
            if let known = words.withLock({ $0[card.id] }),
                Self.state(known) == shown
            {
                return known
            }
            let content = Self.object(shown)
            words.withLock { $0[card.id] = content }
            return content
        }

        private func shown(_ card: Activity<Attributes>) -> Attributes.ContentState {
            if !isFirstSystem, #available(iOS 16.2, *) { return card.content.state }
            return card.contentState
        }

        // MARK: - Listening

        /// Listens to every sequence from the launch on, because a launch in the background lasts only seconds.
        func observe(_ tell: @escaping @Sendable (CardNews) -> Void) async {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await followStartTokens(tell) }
                // The sequence is opened before the list is read, so that an activity that starts in between is in one
                // of them.
                let updates = Activity<Attributes>.activityUpdates
                var followed: Set<String> = []
                for activity in Activity<Attributes>.activities where followed.insert(activity.id).inserted {
                    let card = Handle(activity: activity)
                    group.addTask { await follow(card, tell) }
                }
                for await activity in updates where followed.insert(activity.id).inserted {
                    tell(.card(seen(activity)))
                    let card = Handle(activity: activity)
                    group.addTask { await follow(card, tell) }
                }
            }
        }

        private func followStartTokens(_ tell: @Sendable (CardNews) -> Void) async {
            guard #available(iOS 17.2, *) else { return }
            let tokens = Activity<Attributes>.pushToStartTokenUpdates
            // The sequence need not repeat the current token, and the property was last read before anybody listened.
            if let token = startToken() { tell(.startToken(token)) }
            for await token in tokens {
                guard let text = Self.text(token) else { continue }
                let property = Activity<Attributes>.pushToStartToken.flatMap(Self.text)
                startTokens.withLock { $0 = TokenReading(told: text, besides: property) }
                tell(.startToken(text))
            }
        }

        /// Follows one card. Reads it again after opening each sequence, because it may have changed before that.
        private func follow(_ card: Handle, _ tell: @escaping @Sendable (CardNews) -> Void) async {
            let localID = card.activity.id
            held.withLock { $0[localID] = Held(card: card) }
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    defer {
                        held.withLock { $0[localID] = nil }
                        words.withLock { $0[localID] = nil }
                    }
                    let states = card.activity.activityStateUpdates
                    tell(.card(seen(card.activity)))
                    for await state in states {
                        // The state comes from the sequence, because iOS may not list a dismissed card any more.
                        var seen = seen(card.activity)
                        seen.state = Self.state(state)
                        tell(.card(seen))
                    }
                }
                group.addTask {
                    let tokens = card.activity.pushTokenUpdates
                    tell(.card(seen(card.activity)))
                    for await token in tokens {
                        if let text = Self.text(token) {
                            let property = card.activity.pushToken.flatMap(Self.text)
                            held.withLock { $0[localID]?.tokens = TokenReading(told: text, besides: property) }
                        }
                        tell(.card(seen(card.activity)))
                    }
                }
                group.addTask {
                    if !isFirstSystem, #available(iOS 16.2, *) {
                        let contents = card.activity.contentUpdates
                        tell(.card(seen(card.activity)))
                        for await _ in contents { tell(.card(seen(card.activity))) }
                    } else {
                        let contents = card.activity.contentStateUpdates
                        tell(.card(seen(card.activity)))
                        for await _ in contents { tell(.card(seen(card.activity))) }
                    }
                }
            }
        }

        // MARK: - Doing

        func start(_ order: CardOrder) throws(CardRefusal) -> SeenCard {
            let card: Activity<Attributes>
            do {
                let (attributes, state) = try Self.decoded(order)
                card = try request(attributes, state, order)
            } catch {
                throw CardRefusal(error, isHidden: error as? ActivityAuthorizationError == .visibility)
            }
            words.withLock { $0[card.id] = order.content }
            var seen = seen(card)
            seen.activity = order.activity ?? seen.activity
            if hasChannels { seen.channel = order.channel ?? seen.channel }
            return seen
        }

        /// Decodes the attributes and the state of an order.
        ///
        /// - Throws: `DecodingError`, or an error of the app's type, if this version of the app cannot show them.
        static func decoded(_ order: CardOrder) throws -> (Attributes, Attributes.ContentState) {
            let attributes = try JSONDecoder().decode(Attributes.self, from: data(order.attributes))
            return (attributes, try JSONDecoder().decode(Attributes.ContentState.self, from: data(order.content)))
        }

        private func request(
            _ attributes: Attributes, _ state: Attributes.ContentState, _ order: CardOrder
        ) throws -> Activity<Attributes> {
            guard !isFirstSystem, #available(iOS 16.2, *) else {
                if order.schedule != nil { throw Self.cannotSchedule }
                return try Activity.request(attributes: attributes, contentState: state, pushType: .token)
            }
            let content = ActivityContent(
                state: state, staleDate: order.staleAt.map(Self.date), relevanceScore: order.relevance ?? 0)
            if let schedule = order.schedule {
                guard #available(iOS 26.0, *) else { throw Self.cannotSchedule }
                return try Activity.request(
                    attributes: attributes, content: content, pushType: pushType(of: order, attributes),
                    style: order.isTransient ? .transient : .standard,
                    alertConfiguration: Self.alert(schedule.alert), start: Self.date(schedule.at))
            }
            if order.isTransient, #available(iOS 18.0, *) {
                return try Activity.request(
                    attributes: attributes, content: content, pushType: pushType(of: order, attributes),
                    style: .transient)
            }
            return try Activity.request(
                attributes: attributes, content: content, pushType: pushType(of: order, attributes))
        }

        /// Returns the kind of push that changes the card. Before iOS 18 there are no channels, so the card gets an
        /// update token.
        private func pushType(of order: CardOrder, _ attributes: Attributes) -> PushType {
            guard #available(iOS 18.0, *), let channel = order.channel ?? channel(of: attributes) else { return .token }
            return .channel(channel)
        }

        /// Returns the channel that the attributes name, or `nil` if the text cannot be a channel's id. The server
        /// would refuse the whole report for such a text.
        private func channel(of attributes: Attributes) -> String? {
            guard hasChannels, let named = (attributes as? any IdentifiedActivityAttributes)?.liveActivityChannel else {
                return nil
            }
            return named.isChannel ? named : nil
        }

        private var hasChannels: Bool {
            guard !isFirstSystem, #available(iOS 18.0, *) else { return false }
            return true
        }

        func update(
            _ localID: String, content: JSONObject, _ presentation: CardPresentation, timestamp: Int?
        ) async -> SeenCard? {
            guard let card = card(localID) else { return nil }
            guard let state = Self.state(content) else {
                // This version of the app cannot decode the state, so the card keeps what it shows.
                return seen(card.activity)
            }
            words.withLock { $0[localID] = content }
            await update(card, to: state, presentation, timestamp)
            // A reader may have replaced the content before iOS showed the new one.
            words.withLock { $0[localID] = content }
            return seen(card.activity)
        }

        private func update(
            _ card: Handle, to state: sending Attributes.ContentState, _ presentation: CardPresentation,
            _ timestamp: Int?
        ) async {
            guard !isFirstSystem, #available(iOS 16.2, *) else { return await card.activity.update(using: state) }
            let content = ActivityContent(
                state: state, staleDate: presentation.staleAt.map(Self.date),
                relevanceScore: presentation.relevance ?? card.activity.content.relevanceScore)
            let alert = presentation.alert.map(Self.alert)
            if #available(iOS 17.2, *), let timestamp {
                await card.activity.update(content, alertConfiguration: alert, timestamp: Self.date(timestamp))
            } else {
                await card.activity.update(content, alertConfiguration: alert)
            }
        }

        func end(
            _ localID: String, content: JSONObject?, _ dismissal: CardDismissal, timestamp: Int?
        ) async -> SeenCard? {
            guard let card = card(localID) ?? endedCard(localID) else { return nil }
            let policy: ActivityUIDismissalPolicy =
                switch dismissal {
                case .systemDefault: .default
                case .immediate: .immediate
                case .at(let instant): .after(Self.date(instant))
                }
            await end(card, content.flatMap { Self.state($0) }, policy, timestamp)
            var seen = seen(card.activity)
            if seen.state.isRunning { seen.state = .ended }
            return seen
        }

        private func end(
            _ card: Handle, _ state: sending Attributes.ContentState?, _ policy: ActivityUIDismissalPolicy,
            _ timestamp: Int?
        ) async {
            guard !isFirstSystem, #available(iOS 16.2, *) else {
                return await card.activity.end(using: state, dismissalPolicy: policy)
            }
            let last = state.map { ActivityContent(state: $0, staleDate: nil) }
            if #available(iOS 17.2, *), let timestamp {
                await card.activity.end(last, dismissalPolicy: policy, timestamp: Self.date(timestamp))
            } else {
                await card.activity.end(last, dismissalPolicy: policy)
            }
        }

        // MARK: - Forms

        private static func state(_ state: ActivityState) -> InstanceRequest.State {
            switch state {
            case .active: return .active
            case .ended: return .ended
            case .dismissed: return .dismissed
            default:
                if #available(iOS 16.2, *), state == .stale { return .stale }
                // `pending` of iOS 26, or a state that a later iOS adds: the card is there.
                return .pending
            }
        }

        /// Encodes a value with a default `JSONEncoder`, which writes the form that iOS decodes.
        private static func object(_ value: some Encodable) -> JSONObject? {
            guard let data = try? JSONEncoder().encode(value) else { return nil }
            return (try? JSONValue(parsing: Array(data)))?.object
        }

        /// Returns `nil` if this version of the app cannot decode the state.
        private static func state(_ object: JSONObject) -> sending Attributes.ContentState? {
            try? JSONDecoder().decode(Attributes.ContentState.self, from: data(object))
        }

        private static var cannotSchedule: ActivityError { .unavailable("a scheduled start needs iOS 26") }

        /// Converts an alert. Title and body are keys of the app's strings; iOS shows a text that is not a key as it
        /// is.
        private static func alert(_ alert: CardAlert) -> AlertConfiguration {
            AlertConfiguration(
                title: LocalizedStringResource(stringLiteral: alert.title),
                body: LocalizedStringResource(stringLiteral: alert.body),
                sound: alert.sound.map { .named($0) } ?? .default)
        }

        private static func data(_ object: JSONObject) -> Data { Data(JSONValue.object(object).bytes) }

        private static func text(_ token: Data) -> TokenText? {
            TokenText(
                token.map { byte in
                    let digits = String(byte, radix: 16)
                    return digits.count == 1 ? "0" + digits : digits
                }.joined())
        }

        private static func date(_ instant: Instant) -> Date { Date(timeIntervalSince1970: instant.seconds) }
        private static func date(_ seconds: Int) -> Date { Date(timeIntervalSince1970: Double(seconds)) }
    }
#endif
