import APNSClient
import APNSModel
import Foundation
import JSONText
import LiveActivityStorage
import Testing

@testable import islet

/// Real processes: the server kills itself while it makes a broadcast channel or sends to one, and the next server
/// completes the fan-out.
///
/// The tests run beside each other. After some deaths the next server waits for most of a minute, because a creation
/// that it knows nothing of may be on its way.
struct ChannelKillTests {
    /// A point at which the process dies.
    struct Death: Sendable, CustomTestStringConvertible {
        let point: FaultPoint
        /// Number of the time at which the process reaches the point, from 1.
        var occurrence = 1

        var testDescription: String { "\(point.rawValue):\(occurrence)" }
        var environment: [String: String] { ["ISLET_FAULT_POINT": testDescription] }
    }

    private static let people = ["alice", "bob", "carol"]
    private static let alert: JSONObject = [
        "alert": ["id": "almost", "title": "Almost there", "body": "Your order is ready"]
    ]

    /// Points between the claim of an operation and the commit of its outcome. The channel's operation is the first to
    /// reach them.
    private static let points: [FaultPoint] = [.sendBefore, .answerReceived, .settleBeforeCommit, .settleAfterCommit]

    /// Returns the deaths at these claims and at the points after them.
    private static func deaths(before: ClosedRange<Int>, after: ClosedRange<Int>) -> [Death] {
        before.map { Death(point: .claimBeforeCommit, occurrence: $0) }
            + after.map { Death(point: .claimAfterCommit, occurrence: $0) } + points.map { Death(point: $0) }
    }

    /// The first claims ask for a channel, and claim the creation. Between them, one asks for the list of channels if
    /// that of the start has not come yet. A start that was claimed and not sent is never repeated, so the process may
    /// not die after the claim of the starts.
    private static let whileMaking = deaths(before: 1...3, after: 1...2)
    private static let whileSending = deaths(before: 1...2, after: 1...2)

    @Test(.timeLimit(.minutes(20)), arguments: whileMaking)
    func `killed while it makes a channel, it leaves one channel, and every phone shows the newest state and rang once`(
        _ death: Death
    ) async throws {
        try await withChannels { stage in
            try await stage.crashServer(environment: death.environment)
            try await changeUntilDeath(stage)
            try await stage.crashServer()
            try await stage.setOrder("delivering", Self.people)
            try await everyPhone(stage, shows: "delivering")
            // The start rings. No state has an alert.
            for person in Self.people { #expect(try await alerts(on: person, stage) == 1, "\(person)") }
            try await checkAPNs(stage)
        }
    }

    @Test(.timeLimit(.minutes(20)), arguments: whileSending)
    func `killed while it sends to a channel, every phone shows the newest state and rang at most once more`(
        _ death: Death
    ) async throws {
        try await withChannels { stage in
            try await everyPhoneHasACard(stage)
            try await stage.crashServer(environment: death.environment)
            try await changeUntilDeath(stage, first: Self.alert)
            try await stage.crashServer()
            try await stage.setOrder("delivering", Self.people)
            try await everyPhone(stage, shows: "delivering")
            for person in Self.people { #expect(try await alerts(on: person, stage) <= 2, "\(person)") }
            try await checkAPNs(stage)
        }
    }

    @Test(.timeLimit(.minutes(20)))
    func `killed before APNs's answer to a broadcast, it sends the state again without the alert`() async throws {
        try await withChannels { stage in
            try await everyPhoneHasACard(stage)
            try await stage.control.call(
                .PUT, "/v1/faults", ["faults": [["effect": "slow", "seconds": 60, "event": "update"]]])
            try await stage.setOrder("ready", Self.people, Self.alert)
            try await everyPhone(stage, shows: "ready")
            let before = try await pushes(stage).count
            try await stage.killServer()
            try await stage.control.call(.DELETE, "/v1/faults")
            try await stage.startServer(within: .seconds(20))
            try await Waiting.until("the state is sent again", within: .seconds(90)) {
                try await pushes(stage).dropFirst(before).contains { $0["event"] == "update" && $0["status"] == 200 }
            }
            try await stage.setOrder("delivering", Self.people)
            try await everyPhone(stage, shows: "delivering")
            for person in Self.people { #expect(try await alerts(on: person, stage) == 2, "\(person)") }
            try await checkAPNs(stage)
        }
    }

    // MARK: - Actions

    /// Runs a server whose orders are on channels, and a phone of each person that the server knows.
    private func withChannels(_ body: (DemoStage) async throws -> Void) async throws {
        try await withStage { stage in
            let file = stage.directory.appendingPathComponent("islet.yaml")
            let text = try String(contentsOf: file, encoding: .utf8)
            let changed = text.replacing(
                "        policy:\n", with: "        public: true\n        policy:\n          delivery: channel\n")
            try #require(changed != text)
            try Data(changed.utf8).write(to: file)
            try await stage.crashServer()
            for person in Self.people { try await stage.addKilledPhone(person) }
            try await body(stage)
        }
    }

    /// Starts the cards, and waits until the server knows them.
    private func everyPhoneHasACard(_ stage: DemoStage) async throws {
        try await stage.setOrder("preparing", Self.people)
        try await everyPhone(stage, shows: "preparing")
        for person in Self.people { try await stage.isLive(on: person) }
    }

    /// Makes changes until the server has died.
    ///
    /// - Parameter first: Further fields of the first change.
    private func changeUntilDeath(_ stage: DemoStage, first: JSONObject = [:]) async throws {
        for round in 0..<40 where stage.isServerRunning {
            // A server that does not answer has died, or is about to.
            _ = try? await stage.setOrder(["ready", "picked_up"][round % 2], Self.people, round == 0 ? first : [:])
            try? await Waiting.until("it dies", within: .seconds(1)) { !stage.isServerRunning }
        }
        #expect(!stage.isServerRunning)
    }

    // MARK: - Checks

    /// Waits until each phone shows one card, in this status.
    private func everyPhone(_ stage: DemoStage, shows status: String) async throws {
        try await Waiting.until("every phone shows \(status), once", within: .seconds(300)) {
            for person in Self.people {
                let cards = try await stage.cards(on: person)
                guard cards.count == 1, cards[0]["contentState"]?.object?["status"]?.string == status else {
                    return false
                }
            }
            return true
        }
    }

    /// Returns the number of times that a phone's card has rung.
    private func alerts(on phone: String, _ stage: DemoStage) async throws -> Int {
        try await stage.cards(on: phone).first?["alerts"]?.int ?? 0
    }

    /// Returns the pushes that APNs got, the oldest first.
    private func pushes(_ stage: DemoStage) async throws -> [JSONObject] {
        try await stage.control.call(.GET, "/v1/pushes?limit=1000").object?["pushes"]?.array?.compactMap(\.object) ?? []
    }

    /// Checks that APNs has one channel, and that each phone got one start and nothing else.
    private func checkAPNs(_ stage: DemoStage) async throws {
        let single = try await pushes(stage).filter { $0["phone"]?.string != nil }
        #expect(single.compactMap { $0["phone"]?.string }.sorted() == Self.people)
        #expect(single.allSatisfy { $0["event"] == "start" })
        #expect(try await channels(stage).count == 1)
    }

    /// Returns the app's channels, as APNs lists them for the server's key.
    private func channels(_ stage: DemoStage) async throws -> [ChannelID] {
        let settings = try ConfigurationLoader.load(stage.directory.appendingPathComponent("islet.yaml").path)
        let client = try APNSClient(routes: settings.routes)
        let list = try await client.channels(of: Stack.bundleID, in: .sandbox).list()
        await client.shutdown(within: .zero)
        return list
    }
}
