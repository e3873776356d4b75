public import BackendCalls
public import JSONText

/// The adventures' server. It knows adventures and heroes, and nothing of phones, tokens and pushes.
///
/// It makes one call per change, however many phones show the adventure.
public struct Guild: Sendable {
    private let islet: IsletAPI

    /// The age from which a state shows as out of date.
    public static let staleAfter = "15m"
    /// The number of people that one call may add to an audience.
    private static let page = 1000

    /// - Parameters:
    ///   - islet: The server's address, such as `http://127.0.0.1:8080`.
    ///   - key: An API key with the scope `backend`.
    public init(islet: String, key: String) {
        self.islet = IsletAPI(islet: islet, key: key)
    }

    /// Shows the adventure on every phone of its heroes. A raid has no audience yet: see ``invite(_:to:)``.
    public func begin(_ adventure: Adventure) async throws -> IsletAPI.Answer {
        try await set(adventure, alert: nil)
    }

    /// Shows a raid to more players, however many. They stay its audience until it ends.
    ///
    /// The calls are the same for ten players and for a million. The server decides for each phone whether it gets the
    /// states by a push of its own or shares a broadcast with others.
    ///
    /// - Returns: The first refusal, or the answer to the last call.
    public func invite(_ players: [String], to raid: Adventure) async throws -> IsletAPI.Answer {
        var answer = IsletAPI.Answer(status: 200, body: [:])
        for start in stride(from: 0, to: players.count, by: Self.page) {
            let page = players[start..<min(start + Self.page, players.count)].map { JSONValue.string($0) }
            answer = try await islet.call(.POST, path(of: raid) + "/audience", ["add": .array(page)])
            guard answer.isTaken else { break }
        }
        return answer
    }

    /// Reports an event to every phone. It can wait, unless a hero needs help at once.
    public func report(_ event: Adventure.Event, in adventure: inout Adventure) async throws -> IsletAPI.Answer {
        adventure.take(event)
        return try await set(adventure, alert: Self.alert(event))
    }

    /// Adds a hero to a running adventure. The hero's phones get the card, and the others get the news.
    public func join(_ hero: Hero, _ adventure: inout Adventure) async throws -> IsletAPI.Answer {
        adventure.join(hero)
        return try await set(adventure, alert: nil)
    }

    /// Removes a hero from a running adventure. The hero's cards end, and the others get the news.
    public func leave(_ hero: Hero, _ adventure: inout Adventure) async throws -> IsletAPI.Answer {
        adventure.leave(hero)
        return try await set(adventure, alert: nil)
    }

    /// A rule for how an ended adventure leaves the lock screen.
    public enum Farewell: Sendable, Hashable {
        /// A time that iOS decides, within four hours.
        case asUsual
        /// A time after the end, such as `30m`.
        case after(String)
        case atOnce
    }

    /// Ends the adventure everywhere, with a last event or with the last state.
    public func end(
        _ adventure: inout Adventure, saying story: String? = nil, _ farewell: Farewell = .asUsual
    ) async throws -> IsletAPI.Answer {
        var body: JSONObject = [:]
        if let story {
            adventure.finish(story)
            body["state"] = try JSONValue(encoding: adventure.state)
        }
        switch farewell {
        case .asUsual: break
        case .after(let time): body["dismissAfter"] = .string(time)
        case .atOnce: body["dismissNow"] = true
        }
        return try await islet.call(.POST, path(of: adventure) + "/end", .object(body))
    }

    /// Returns what was sent to one phone and when, and APNs's answers. It explains why a card did not change.
    public func deliveries(of adventure: Adventure, on device: String) async throws -> [JSONObject] {
        let answer = try await islet.call(.GET, path(of: adventure) + "/timeline?limit=1000")
        let entries = answer.body.object?["entries"]?.array?.compactMap(\.object) ?? []
        return entries.filter { $0["device"]?.string == device && $0["status"] != nil }
    }

    private func set(_ adventure: Adventure, alert: JSONValue?) async throws -> IsletAPI.Answer {
        var body: JSONObject = [
            "type": "Adventure", "state": try JSONValue(encoding: adventure.state),
            "attributes": ["adventureID": .string(name(of: adventure)), "place": .string(adventure.place)],
            "priority": alert == nil ? "low" : "high", "staleAfter": .string(Self.staleAfter),
        ]
        // An audience in this call would replace the guild of a raid.
        if !adventure.isRaid {
            let players = adventure.party.map { JSONValue.string($0.player) }
            body["audience"] = ["users": .array(players), "devices": "all"]
        }
        body["alert"] = alert
        body["relevance"] = adventure.importance.flatMap { JSONNumber($0) }.map(JSONValue.number)
        return try await islet.call(.PUT, path(of: adventure), .object(body))
    }

    /// Returns an alert in each phone's own language. The app's strings have the keys.
    private static func alert(_ event: Adventure.Event) -> JSONValue? {
        guard case .knockedDown(let hero) = event else { return nil }
        return [
            "title": ["locKey": "%@ is knocked down!", "locArgs": [.string(hero.name)]],
            "body": ["locKey": "Use a potion to heal %@!", "locArgs": [.string(hero.name)]],
            "sound": "HeroDown.mp4",
        ]
    }

    private func name(of adventure: Adventure) -> String { "adventure-\(adventure.id)" }

    private func path(of adventure: Adventure) -> String {
        "/v1/activities/" + IsletAPI.segment(name(of: adventure))
    }
}
