public import APNSSimulator
import Foundation
import Hummingbird
import JSONText
import Logging
public import NextUp

extension NextUpAttributes: SimulatedActivityAttributes {}

/// Today's focus: a backend with goals and check-ins, which Islet asks what is next.
struct NextUpPlay: Play {
    static let name = "next-up"
    static let summary = "what is next today, computed by a provider, on phones whose app is killed or shows it itself"
    static let app = ExampleApp(
        bundleID: "com.example.nextup",
        types: [
            ExampleType(
                name: "NextUp", installed: InstalledActivityType(NextUpAttributes.self),
                contract: NextUpAttributes.contract,
                policy: [#"startAlert: {title: "Next up", body: "Your focus for today"}"#],
                view: [#"title: "{/title}""#, #"subtitle: "{/goal}, {/remaining} to go""#, #"image: star"#])
        ])

    private static let person = "anna"
    private static let zone = "Europe/Berlin"
    private let port: Int
    private let secret: String

    init() {
        // The port stays free until the backend binds it. If none is free, the first call fails and says so.
        port = Int((try? DemoStage.freePort()) ?? 0)
        secret = "whsec_" + Data((0..<32).map { _ in UInt8.random(in: 0...255) }).base64EncodedString()
    }

    func prepare(in directory: URL) async throws {
        let secretFile = directory.appendingPathComponent("provider-secret")
        try Data(secret.utf8).write(to: secretFile)
        let file = directory.appendingPathComponent("islet.yaml")
        let name = "attributesType: NextUpAttributes\n"
        let provider = """
                    provider:
                      url: http://127.0.0.1:\(port)/islet
                      secretFile: provider-secret
                      allowPrivate: true

            """
        let text = try String(contentsOf: file, encoding: .utf8)
        try Data(text.replacingOccurrences(of: name, with: name + provider).utf8).write(to: file)
    }

    func run(on stage: PlayStage) async throws {
        let islet = stage.islet
        let backend = NextUpBackend(try GoalBook(), secret: secret) { people in
            // A real backend retries if Islet is unreachable. Here the next step of the play fails.
            for person in people {
                _ = try? await islet.call(.POST, "/v1/users/\(JSONCaller.segment(person))/refresh")
            }
        }
        let calls = Application(
            router: backend.router(), configuration: .init(address: .hostname("127.0.0.1", port: port)),
            logger: Logger(label: "next-up") { _ in SwiftLogNoOpLogHandler() })
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await calls.run() }
            let web = JSONCaller("http://127.0.0.1:\(port)")
            try await Waiting.until("the backend listens", within: PlayStage.limit) {
                (try? await web.call(.POST, "/days/2026-01-01")) != nil
            }
            try await play(on: stage, web)
            group.cancelAll()
        }
    }

    static func lines(of card: JSONObject) -> [String] {
        let state = card["contentState"]?.object ?? [:]
        return [state["title"]?.string ?? "?", "\(state["remaining"]?.int ?? 0) due today"]
    }

    // MARK: - Steps

    private func play(on stage: PlayStage, _ web: JSONCaller) async throws {
        let more: JSONObject = ["user": .string(Self.person), "timeZone": .string(Self.zone)]
        try await stage.addPhone("phone", "the app is killed", more)
        try await stage.act("kill", on: "phone")
        var old = more
        old["iOS"] = "17.0"
        old["appState"] = "foreground"
        try await stage.addPhone("old-phone", "iOS 17.0, no push-to-start; the app is open", old)

        stage.line("\nOn the web Anna makes three goals. Only the phone that can be started by push shows a card:")
        let due = [("run", "Run 5 km"), ("read", "Read a chapter"), ("call", "Call mum")]
        for (order, goal) in due.enumerated() {
            try await web.call(
                .PUT, "/people/anna/goals/\(goal.0)",
                ["title": .string(goal.1), "order": .number(JSONNumber(order + 1))])
        }
        try await stage.expect(["phone": card(due[0], 3), "old-phone": .nothing])
        try await stage.registers("phone")

        stage.line("\nThe app on the old phone shows the same by itself: nobody's card flickers, none is doubled.")
        let pushes = try await received(stage)
        try await stage.act(
            "startLocally", on: "old-phone",
            [
                "attributesType": "NextUpAttributes",
                "attributes": try JSONValue(encoding: NextUpAttributes(person: Self.person)),
                "contentState": try JSONValue(encoding: state(due[0], 3)),
            ])
        try await stage.registers("old-phone")
        try await stage.expect(["phone": card(due[0], 3), "old-phone": card(due[0], 3)])
        guard try await received(stage) == pushes else { throw DemoFailure("a push was sent for what is shown") }

        stage.line("\nA more important goal does not push away the one that was chosen for today:")
        try await web.call(.PUT, "/people/anna/goals/tax", ["title": "Tax return", "order": 0])
        try await stage.expect(["phone": card(due[0], 4), "old-phone": card(due[0], 4)])

        let today = try today()
        let rest: [((String, String), Int)] = [(("tax", "Tax return"), 3), (due[1], 2), (due[2], 1)]
        var done = due[0]
        for (next, remaining) in rest {
            stage.line("\nShe checks in \"\(done.1)\" on the web:")
            try await checkIn(done.0, today, web)
            try await stage.expect(["phone": card(next, remaining), "old-phone": card(next, remaining)])
            done = next
        }
        stage.line("\nThe last one is done: nothing is due, and the cards go.")
        try await checkIn(done.0, today, web)
        try await stage.expect(["phone": .nothing, "old-phone": .nothing])
        try await stage.printTimeline(of: "NextUp/anna/phone")
    }

    private func checkIn(_ goal: String, _ day: String, _ web: JSONCaller) async throws {
        try await web.call(.PUT, "/people/anna/check-ins/\(goal)/\(day)", ["mark": "done"])
    }

    private func state(_ goal: (String, String), _ remaining: Int) -> NextUpAttributes.ContentState {
        NextUpAttributes.ContentState(goal: goal.0, title: goal.1, remaining: remaining)
    }

    private func card(_ goal: (String, String), _ remaining: Int) throws -> Expected {
        try .card(state(goal, remaining))
    }

    /// Returns today's date in Anna's time zone.
    private func today() throws -> String {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(identifier: Self.zone)
        formatter.dateFormat = "yyyy-MM-dd"
        return formatter.string(from: Date())
    }

    private func received(_ stage: PlayStage) async throws -> Int {
        try await stage.control.call(.GET, "/v1/pushes").object?["pushes"]?.array?.count ?? 0
    }
}
