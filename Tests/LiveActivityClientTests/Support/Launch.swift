import ActivityKitStandIn
import Foundation
import JSONText
import LiveActivityAttributes
import LiveActivityClient

struct RideAttributes: IdentifiedActivityAttributes {
    struct ContentState: Codable, Hashable, Sendable {
        var step: Int
        var note: String?
    }

    var rideID: String
    var liveActivityID: String? { rideID }
}

/// Attributes that do not name their activity.
struct PlainAttributes: ActivityAttributes {
    struct ContentState: Codable, Hashable, Sendable {
        var level: Int
    }

    var name: String
}

/// A state that can be encoded in many ways.
struct BadgeAttributes: IdentifiedActivityAttributes {
    struct ContentState: Codable, Hashable, Sendable {
        let version = 1
        var badges: Set<String>

        enum CodingKeys: String, CodingKey { case version, badges }

        init(badges: Set<String>) { self.badges = badges }

        init(from decoder: any Decoder) throws {
            badges = try decoder.container(keyedBy: CodingKeys.self).decode(Set<String>.self, forKey: .badges)
        }

        /// Encodes the state as successive processes encode a set.
        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(version, forKey: .version)
            try container.encode(badges.shuffled(), forKey: .badges)
        }
    }

    var liveActivityID: String? { "b1" }
}

/// One app on one phone: everything that survives when its process is killed.
struct App: Sendable {
    let phone: StandInPhone
    let server: FakeServer
    let memory: FakeStorage
    let identity: FakeStorage
    /// A transport that replaces `server`.
    var transport: (any ClientTransport)?
    /// A clock that replaces this machine's clocks.
    var clock: (any ClientClock)?
    /// A phone that replaces iOS's reports besides the cards.
    var device: (any PhonePort)?
    var environment = IsletClient.Environment.sandbox
    /// The types that the app names.
    var track: @Sendable (IsletClient) -> Void = { $0.track(RideAttributes.self, as: "ride") }
    /// The client's events.
    let heard = Log<ClientEvent>()

    init() {
        (phone, server, identity, memory) = (StandInPhone(), FakeServer(), FakeStorage(), FakeStorage())
    }

    /// Returns this app with a change.
    func with(_ change: (inout App) -> Void) -> App {
        var app = self
        change(&app)
        return app
    }

    /// Makes the same app after it was removed and installed again.
    init(like old: App) {
        (phone, server, identity, memory) = (StandInPhone(), old.server, old.identity, FakeStorage())
    }

    /// Makes an app whose memory comes from another phone's backup.
    init(_ own: App, restoredFrom other: App) {
        (phone, server, identity, memory) = (StandInPhone(), own.server, own.identity, other.memory)
    }

    /// Launches the app's process, runs the body, and kills the process.
    func launch<Value: Sendable>(
        user: String? = "ann",
        credentials: @escaping @Sendable (String?) async throws -> String = { _ in "secret" },
        _ body: @escaping @Sendable (IsletClient) async throws -> Value
    ) async throws -> Value {
        var configuration = IsletClient.Configuration()
        configuration.transport = transport ?? server
        configuration.memory = memory
        configuration.identity = identity
        configuration.environment = environment
        if let clock { configuration.clock = clock }
        let made = configuration
        guard let url = URL(string: "https://push.example.com") else { throw URLError(.badURL) }
        return try await StandInPhone.$current.withValue(phone) {
            let client =
                if let device {
                    IsletClient(
                        ClientEngine.Parts(
                            transport: made.transport ?? server, memory: memory, identity: identity,
                            clock: made.clock, phone: device, credentials: credentials))
                } else {
                    IsletClient(server: url, configuration: made, credentials: credentials)
                }
            track(client)
            let events = client.events
            if let user { client.signIn(user: user) }
            return try await withThrowingTaskGroup(of: Value?.self) { group in
                group.addTask {
                    for await event in events { heard.add(event) }
                    return nil
                }
                group.addTask {
                    await client.run()
                    return nil
                }
                group.addTask { try await body(client) }
                defer { group.cancelAll() }
                while let value = try await group.next() {
                    if let value { return value }
                }
                throw CancellationError()
            }
        }
    }

    static func token(_ number: UInt8) -> Data { Data(repeating: 0, count: 31) + [number] }

    static func hex(_ number: UInt8) -> String {
        token(number).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}

extension StandInPhone {
    /// Waits until the cards of this type satisfy the condition.
    func wait<Attributes: ActivityAttributes>(
        for type: Attributes.Type, until isWanted: ([Activity<Attributes>]) -> Bool
    ) async throws {
        let began = ContinuousClock.now
        while !isWanted(Activity<Attributes>.activities) {
            try Task.checkCancellation()
            guard ContinuousClock.now - began < .seconds(20) else {
                let shown = Activity<Attributes>.activities.map { "\($0.id): \($0.content.state)" }
                throw Log<String>.Missing(description: "it never came; there were \(shown)")
            }
            await Task.yield()
        }
    }
}
