public import APNSSimulator
public import FocusTimer
import Foundation
import JSONText

extension FocusTimerAttributes: SimulatedActivityAttributes {}

/// A focus timer: start, pause, wait, resume, end.
struct FocusTimerPlay: Play {
    static let name = "focus-timer"
    static let summary = "a timer is started, paused, resumed and ended"
    static let app = ExampleApp(
        bundleID: "com.example.focus",
        types: [
            ExampleType(
                name: "FocusTimer", installed: InstalledActivityType(FocusTimerAttributes.self),
                contract: FocusTimerAttributes.contract,
                keys: ["activityIDAttribute: /sessionID"],
                policy: [#"startAlert: {title: "Focus", body: "Your timer runs"}"#],
                view: [#"title: "{/title}""#, #"subtitle: "Focus""#, #"image: timer"#])
        ])

    /// Length of the play's pauses.
    private static let pause = Duration.milliseconds(1200)

    func run(on stage: PlayStage) async throws {
        let functions = FocusFunctions(islet: stage.isletAddress, key: stage.key)
        try await stage.addPhone("anna", "her app started the timer", ["appState": "foreground"])
        try await stage.addPhone("anna-2", "her second, killed", ["user": "anna"])
        try await stage.addPhone("ben", "somebody else's")
        try await stage.act("kill", on: "anna-2")
        let began = Date()

        let started = try await functions.start("1", title: "Deep work", length: 1500, as: "anna")
        try await startLocally(started, functions, stage)
        try await show("Anna starts a timer of 25 minutes", started, stage)
        try await stage.registers("anna-2")

        try await checkRefusals(functions, stage)
        for number in 1...2 {
            try await show("She pauses (\(number))", try await functions.update(.pause, "1", as: "anna"), stage)
            try await Task.sleep(for: Self.pause)
            try await show("She goes on", try await functions.update(.resume, "1", as: "anna"), stage)
        }
        let ended = try await functions.end("1", as: "anna")
        try await show("She ends it", ended, stage, life: "ended")

        let whole = Date().timeIntervalSince(began)
        let focus = ended.state.elapsed(at: Date())
        stage.line(String(format: "\n%.1f s went by, %.1f s of them were focus: no pause counts.", whole, focus))
        guard focus <= whole - 2 * (Self.pause / .seconds(1)) else { throw DemoFailure("a pause was counted") }
        try await stage.printTimeline(of: "focus-1")
    }

    static func lines(of card: JSONObject) -> [String] {
        let title = card["attributes"]?.object?["title"]?.string ?? ""
        guard let state = try? card["contentState"]?.decode(FocusTimerAttributes.ContentState.self) else {
            return [title, "?"]
        }
        let word = state.endedAt != nil ? "done" : state.pausedAt != nil ? "paused" : "focus"

        let isStill = state.endedAt != nil || state.pausedAt != nil
        let seconds = isStill ? String(format: "  %.1f s of focus", state.elapsed(at: state.startedAt)) : "  runs"
        return [title, word + seconds]
    }

    // MARK: - Steps

    /// Starts the card in the app on its own phone, and passes its token to the functions.
    private func startLocally(_ session: FocusSession, _ functions: FocusFunctions, _ stage: PlayStage) async throws {
        try await stage.act(
            "startLocally", on: "anna",
            [
                "attributesType": "FocusTimerAttributes",
                "attributes": try JSONValue(
                    encoding: FocusTimerAttributes(
                        sessionID: "focus-1", title: session.title, length: session.length)),
                "contentState": try JSONValue(encoding: session.state), "activity": "focus-1",
            ])
        try await stage.registers("anna")
        let tokens = try await stage.control.call(.GET, "/v1/phones/anna/tokens").object?["update"]?.object ?? [:]
        guard let localID = tokens.keys.first, let token = tokens[localID]?.string else {
            throw DemoFailure("the card has no token")
        }
        try await functions.register(.init(device: "anna", localID: localID, token: token), of: "1", as: "anna")
    }

    private func checkRefusals(_ functions: FocusFunctions, _ stage: PlayStage) async throws {
        stage.line("\nBen tries to pause it, and somebody a timer that is not there:")
        for (person, session, code) in [("ben", "1", "permission-denied"), ("anna", "2", "not-found")] {
            do {
                try await functions.update(.pause, session, as: person)
                throw DemoFailure("\(person) was not refused")
            } catch let error as FocusError {
                stage.line("  \(person): \(error.code)")
                guard error.code == code else { throw DemoFailure("it should be \(code)") }
            }
        }
    }

    private func show(
        _ what: String, _ session: FocusSession, _ stage: PlayStage, life: String = "active"
    ) async throws {
        stage.line("\n\(what).")
        let card = try Expected.card(session.state, life)
        try await stage.expect(["anna": card, "anna-2": card, "ben": .nothing])
    }
}
