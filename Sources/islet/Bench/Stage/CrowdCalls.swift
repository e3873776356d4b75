import APNSModel
import APNSSimulator
import JSONText

/// The simulator's light phones, through its control API. Each has one card and remembers its last state.
struct CrowdCalls: Sendable {
    let control: JSONCaller
    /// Name of the crowd, from which its tokens follow.
    var name = "bench"
    var bundleID = DemoStage.bundleID
    var attributesType = "OrderTrackingAttributes"

    private var path: String { "/v1/crowd/\(name)" }
    private static let tokens = CrowdTokens(crowd: "bench", kind: .update)
    private static let startTokens = CrowdTokens(crowd: "bench", kind: .pushToStart)
    /// Seconds that one call waits. Only the benchmark's time limit bounds the number of calls.
    private static let wait = 5
    private static let requestTimeout = 408

    func make(_ count: Int) async throws {
        try await control.call(
            .POST, "/v1/crowd",
            [
                "name": .string(name), "count": .number(JSONNumber(count)), "bundleID": .string(bundleID),
                "environment": .string(APNSEnvironment.sandbox.rawValue), "attributesType": .string(attributesType),
            ])
    }

    /// Makes the apps of members start a card on a broadcast channel.
    func startCards(on channel: String, first: Int, count: Int) async throws {
        try await control.call(
            .POST, path + "/cards",
            [
                "channel": .string(channel), "first": .number(JSONNumber(first)),
                "count": .number(JSONNumber(count)),
            ])
    }

    /// Returns the update token of a member of the benchmarks' crowd in hexadecimal.
    static func token(of member: Int) -> String { tokens.hex(of: member) }

    /// Returns the push-to-start token of a member of the benchmarks' crowd in hexadecimal.
    static func startToken(of member: Int) -> String { startTokens.hex(of: member) }

    func totals() async throws -> Totals {
        Totals(try await control.call(.GET, path).object ?? [:])
    }

    /// Returns the number of members that hold a state.
    func members(holding state: String) async throws -> Int {
        let query = "?state=" + JSONCaller.segment(state)
        return try await control.call(.GET, path + query).object?["holding"]?.array?.first?.object?["members"]?.int ?? 0
    }

    /// Waits until this number of members hold a state.
    func wait(for state: String, members: Int) async throws {
        let body: JSONValue = [
            "state": try JSONValue(parsing: state), "members": .number(JSONNumber(members)),
            "seconds": .number(JSONNumber(Self.wait)),
        ]
        while true {
            do {
                try await control.call(.POST, path + "/wait", body)
                return
            } catch let refusal as JSONCaller.Refusal where refusal.status == Self.requestTimeout {
                let totals = try await totals()
                Progress.say("\(totals.accepted) pushes were accepted so far")
            }
        }
    }

    /// Totals of all pushes to the crowd so far, by their effect.
    struct Totals: Sendable {
        var accepted: Int
        /// Broadcasts that changed cards of members, each counted once.
        var broadcasts: Int
        /// Members whose card runs.
        var running: Int
        /// Counts of effects that must not occur in a fan-out of live cards at low priority.
        var needless: [(what: String, count: Int)]

        init(_ view: JSONObject) {
            let count = { view[$0]?.int ?? 0 }
            accepted = count("accepted")
            broadcasts = count("broadcasts")
            running = count("running")
            needless = [
                ("refused", count("refused")), ("starts", count("starts")), ("second cards", count("secondCards")),
                ("ignored as old", count("staleIgnored")), ("dropped by the phone", count("dropped")),
                ("not at low priority", count("accepted") - (view["acceptedByPriority"]?.object?["5"]?.int ?? 0)),
            ]
        }

        /// Checks that no phone got a second card.
        func checkCards() throws(CommandError) {
            let cards = needless.first { $0.what == "second cards" }?.count ?? 0
            guard cards == 0 else { throw CommandError("\(cards) phones got a second card") }
        }

        /// Checks the totals.
        ///
        /// - Throws: `CommandError` if a push was needless.
        func check() throws(CommandError) {
            let wrong = needless.filter { $0.count != 0 }
            guard wrong.isEmpty else {
                throw CommandError(
                    "of the pushes were " + wrong.map { "\($0.count) \($0.what)" }.joined(separator: ", "))
            }
        }
    }
}
