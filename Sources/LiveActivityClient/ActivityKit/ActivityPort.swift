#if canImport(ActivityKit) && !os(macOS)
    internal import ActivityKit
#elseif canImport(ActivityKitStandIn)
    internal import ActivityKitStandIn
#endif

#if (canImport(ActivityKit) && !os(macOS)) || canImport(ActivityKitStandIn)
    internal import Foundation
    internal import JSONText
    internal import LiveActivityAPI
    internal import LiveActivityRegistration

    /// The edge to ActivityKit, for one attributes type. It decides nothing: it reads, tells and does as it is told.
    ///
    /// An `Activity` is looked up by its id wherever it is needed; only one that iOS may not list any more is kept.
    @available(iOS 16.1, *)
    struct ActivityPort<Attributes: ActivityAttributes & SendableMetatype>: CardPort {
        let type: String
        let rules: RegistrationMachine.TypeRules
        /// What iOS 16.2 brought is not used, as on iOS 16.1: where the system is newer a test sees that way, too.
        let isFirstSystem: Bool
        /// The cards that are followed, by their ids.
        private let held = Locked<[String: Held]>([:])
        /// What each card is known to hold, as JSON. A set is written in another order each time, and what a type does
        /// not read it writes all the same: what means the same is told in the same words.
        private let words = Locked<[String: JSONObject]>([:])
        private let startTokens = Locked(TokenReading())

        /// iOS lets any task use a card; its type does not say so.
        private struct Held: @unchecked Sendable {
            let card: Activity<Attributes>
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

        private func card(_ localID: String) -> Activity<Attributes>? {
            Activity<Attributes>.activities.first { $0.id == localID }
        }

        /// A card that is over and on the lock screen; iOS need not list it any more.
        private func endedCard(_ localID: String) -> Activity<Attributes>? {
            let card = held.withLock { $0[localID]?.card }
            return card?.activityState == .ended ? card : nil
        }

        private func seen(_ card: Activity<Attributes>) -> SeenCard {
            var seen = SeenCard(localID: card.id, type: type, state: Self.state(card.activityState))
            seen.activity = (card.attributes as? any IdentifiedActivityAttributes)?.liveActivityID
            seen.attributes = Self.object(card.attributes)
            seen.content = content(of: card)
            let property = card.pushToken.flatMap(Self.text)
            seen.token = held.withLock { $0[card.id]?.tokens.newest(property) ?? property }
            return seen
        }

        private func content(of card: Activity<Attributes>) -> JSONObject? {
            let shown = shown(card)
            if let known = words.withLock({ $0[card.id] }),
                let state = try? JSONDecoder().decode(Attributes.ContentState.self, from: Self.data(known)),
                state == shown
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

        /// Every sequence is listened to from the launch on: a wake in the background lasts seconds.
        func observe(_ tell: @escaping @Sendable (CardNews) -> Void) async {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await followStartTokens(tell) }
                // First the sequence, then the list: what starts in between is in one of them.
                let updates = Activity<Attributes>.activityUpdates
                var followed: Set<String> = []
                for card in Activity<Attributes>.activities where followed.insert(card.id).inserted {
                    let localID = card.id
                    group.addTask { await follow(localID, tell) }
                }
                for await card in updates where followed.insert(card.id).inserted {
                    let localID = card.id
                    tell(.card(seen(card)))
                    group.addTask { await follow(localID, tell) }
                }
            }
        }

        private func followStartTokens(_ tell: @Sendable (CardNews) -> Void) async {
            guard #available(iOS 17.2, *) else { return }
            let tokens = Activity<Attributes>.pushToStartTokenUpdates
            // The sequence need not repeat what there is, and the property was read before anybody listened.
            if let token = startToken() { tell(.startToken(token)) }
            for await token in tokens {
                guard let text = Self.text(token) else { continue }
                let property = Activity<Attributes>.pushToStartToken.flatMap(Self.text)
                startTokens.withLock { $0 = TokenReading(told: text, besides: property) }
                tell(.startToken(text))
            }
        }

        /// What changes between the first look and the moment at which somebody listens is read once more.
        private func follow(_ localID: String, _ tell: @escaping @Sendable (CardNews) -> Void) async {
            if let card = card(localID) { held.withLock { $0[localID] = Held(card: card) } }
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    guard let card = card(localID) else { return }
                    defer {
                        held.withLock { $0[localID] = nil }
                        words.withLock { $0[localID] = nil }
                    }
                    let states = card.activityStateUpdates
                    tell(.card(seen(card)))
                    for await state in states {
                        // The state of the sequence: a card that was dismissed may not be listed any more.
                        var seen = seen(card)
                        seen.state = Self.state(state)
                        tell(.card(seen))
                    }
                }
                group.addTask {
                    guard let card = card(localID) else { return }
                    let tokens = card.pushTokenUpdates
                    tell(.card(seen(card)))
                    for await token in tokens {
                        if let text = Self.text(token) {
                            let property = card.pushToken.flatMap(Self.text)
                            held.withLock { $0[localID]?.tokens = TokenReading(told: text, besides: property) }
                        }
                        tell(.card(seen(card)))
                    }
                }
                group.addTask {
                    guard let card = card(localID) else { return }
                    if !isFirstSystem, #available(iOS 16.2, *) {
                        let contents = card.contentUpdates
                        tell(.card(seen(card)))
                        for await _ in contents { tell(.card(seen(card))) }
                    } else {
                        let contents = card.contentStateUpdates
                        tell(.card(seen(card)))
                        for await _ in contents { tell(.card(seen(card))) }
                    }
                }
            }
        }

        // MARK: - Doing

        func start(_ order: CardOrder) throws -> SeenCard {
            let attributes = try JSONDecoder().decode(Attributes.self, from: Self.data(order.attributes))
            let state = try JSONDecoder().decode(Attributes.ContentState.self, from: Self.data(order.content))
            let card = try request(attributes, state, order)
            words.withLock { $0[card.id] = order.content }
            var seen = seen(card)
            seen.activity = order.activity ?? seen.activity
            return seen
        }

        private func request(
            _ attributes: Attributes, _ state: Attributes.ContentState, _ order: CardOrder
        ) throws -> Activity<Attributes> {
            guard !isFirstSystem, #available(iOS 16.2, *) else {
                return try Activity.request(attributes: attributes, contentState: state, pushType: .token)
            }
            let content = ActivityContent(
                state: state, staleDate: order.staleAt.map(Self.date), relevanceScore: order.relevance ?? 0)
            return try Activity.request(attributes: attributes, content: content, pushType: .token)
        }

        func update(
            _ localID: String, content: JSONObject, _ presentation: CardPresentation, timestamp: Int?
        ) async -> SeenCard? {
            guard let card = card(localID) else { return nil }
            guard let state = try? JSONDecoder().decode(Attributes.ContentState.self, from: Self.data(content)) else {
                // A newer app's state: this one goes on showing what it can read.
                return seen(card)
            }
            words.withLock { $0[localID] = content }
            await update(card, to: state, presentation, timestamp)
            // Somebody may have looked before iOS showed it.
            words.withLock { $0[localID] = content }
            return seen(card)
        }

        private func update(
            _ card: Activity<Attributes>, to state: Attributes.ContentState, _ presentation: CardPresentation,
            _ timestamp: Int?
        ) async {
            guard !isFirstSystem, #available(iOS 16.2, *) else { return await card.update(using: state) }
            let content = ActivityContent(
                state: state, staleDate: presentation.staleAt.map(Self.date),
                relevanceScore: presentation.relevance ?? card.content.relevanceScore)
            if #available(iOS 17.2, *), let timestamp {
                await card.update(content, alertConfiguration: nil, timestamp: Self.date(timestamp))
            } else {
                await card.update(content)
            }
        }

        func end(
            _ localID: String, content: JSONObject?, _ dismissal: CardDismissal, timestamp: Int?
        ) async -> SeenCard? {
            guard let card = card(localID) ?? endedCard(localID) else { return nil }
            let state = content.flatMap {
                try? JSONDecoder().decode(Attributes.ContentState.self, from: Self.data($0))
            }
            let policy: ActivityUIDismissalPolicy =
                switch dismissal {
                case .systemDefault: .default
                case .immediate: .immediate
                case .at(let instant): .after(Self.date(instant))
                }
            await end(card, state, policy, timestamp)
            var seen = seen(card)
            if seen.state.isRunning { seen.state = .ended }
            return seen
        }

        private func end(
            _ card: Activity<Attributes>, _ state: Attributes.ContentState?, _ policy: ActivityUIDismissalPolicy,
            _ timestamp: Int?
        ) async {
            guard !isFirstSystem, #available(iOS 16.2, *) else {
                return await card.end(using: state, dismissalPolicy: policy)
            }
            let last = state.map { ActivityContent(state: $0, staleDate: nil) }
            if #available(iOS 17.2, *), let timestamp {
                await card.end(last, dismissalPolicy: policy, timestamp: Self.date(timestamp))
            } else {
                await card.end(last, dismissalPolicy: policy)
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
                // `pending` of iOS 26, or what a later one adds: a card that is there.
                return .pending
            }
        }

        /// As a default `JSONEncoder` writes it, which is what iOS decodes.
        private static func object(_ value: some Encodable) -> JSONObject? {
            guard let data = try? JSONEncoder().encode(value) else { return nil }
            return (try? JSONValue(parsing: Array(data)))?.object
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
