import APNSModel
import APNSSimulator
import JSONText

/// The simulator's light phones, by its control API: each has one card, and remembers the last state of it.
struct CrowdCalls: Sendable {
    let control: JSONCaller

    private static let name = "bench"
    private static let path = "/v1/crowd/\(name)"
    private static let tokens = CrowdTokens(crowd: name, kind: .update)
    private static let startTokens = CrowdTokens(crowd: name, kind: .pushToStart)
    /// What one call waits; there is no limit to the number of calls but that of the whole benchmark.
    private static let wait = 5
    private static let requestTimeout = 408

    func make(_ count: Int) async throws {
        try await control.call(
            .POST, "/v1/crowd",
            [
                "name": .string(Self.name), "count": .number(JSONNumber(count)),
                "bundleID": .string(DemoStage.bundleID),
                "environment": .string(APNSEnvironment.sandbox.rawValue),
                "attributesType": "OrderTrackingAttributes",
            ])
    }

    /// The hexadecimal text of a member's update token.
    static func token(of member: Int) -> String { tokens.hex(of: member) }

    /// The same of its push-to-start token.
    static func startToken(of member: Int) -> String { startTokens.hex(of: member) }

    func totals() async throws -> Totals {
        Totals(try await control.call(.GET, Self.path).object ?? [:])
    }

    /// How many members hold a state.
    func members(holding state: String) async throws -> Int {
        let path = Self.path + "?state=" + JSONCaller.segment(state)
        return try await control.call(.GET, path).object?["holding"]?.array?.first?.object?["members"]?.int ?? 0
    }

    /// Waits until so many members hold a state.
    func wait(for state: String, members: Int) async throws {
        let body: JSONValue = [
            "state": try JSONValue(parsing: state), "members": .number(JSONNumber(members)),
            "seconds": .number(JSONNumber(Self.wait)),
        ]
        while true {
            do {
                try await control.call(.POST, Self.path + "/wait", body)
                return
            } catch let refusal as JSONCaller.Refusal where refusal.status == Self.requestTimeout {
                let totals = try await totals()
                Progress.say("\(totals.accepted) pushes were accepted so far")
            }
        }
    }

    /// All that the crowd was sent so far, and what its phones made of it.
    struct Totals: Sendable {
        var accepted: Int
        /// What no fan-out of live cards at low priority needs, and how often it was there.
        var needless: [(what: String, count: Int)]

        init(_ view: JSONObject) {
            let count = { view[$0]?.int ?? 0 }
            accepted = count("accepted")
            needless = [
                ("refused", count("refused")), ("starts", count("starts")), ("second cards", count("secondCards")),
                ("ignored as old", count("staleIgnored")), ("dropped by the phone", count("dropped")),
                ("not at low priority", count("accepted") - (view["acceptedByPriority"]?.object?["5"]?.int ?? 0)),
            ]
        }

        /// - Throws: `CommandError` when something was sent that was not needed.
        func check() throws(CommandError) {
            let wrong = needless.filter { $0.count != 0 }
            guard wrong.isEmpty else {
                throw CommandError(
                    "of the pushes were " + wrong.map { "\($0.count) \($0.what)" }.joined(separator: ", "))
            }
        }
    }
}
