public import APNSSimulator
import BackendCalls
import Foundation
import JSONText
import LiveActivityAPI
public import Pager

extension PagerMessageAttributes: SimulatedActivityAttributes {}

/// Messages that appear as Live Activities, or as ordinary notifications on phones that cannot show one.
struct PagerPlay: Play {
    static let name = "pager"
    static let summary = "messages appear as cards, or as notifications where no card can be shown"
    static let app = ExampleApp(
        bundleID: "com.example.pager",
        types: [
            ExampleType(
                name: "PagerMessage", installed: InstalledActivityType(PagerMessageAttributes.self),
                contract: PagerMessageAttributes.contract,
                keys: ["activityIDAttribute: /messageID"],
                policy: [
                    #"startAlert: {title: "{/sender|Message}", body: "{/message}"}"#,
                    #"fallback: {title: "{/sender|Message}", body: "{/message}", sound: default}"#,
                ],
                view: [#"title: "{/sender|Message}""#, #"subtitle: "{/message}""#, #"image: bell"#])
        ])

    /// People with a phone that cannot show a card: what is special about it, and the fields that create it in the
    /// simulator.
    private static let others: [(name: String, note: String, code: String, more: JSONObject)] = [
        ("bea", "iOS 16.4", "below-ios-17.2", ["iOS": "16.4"]),
        ("cleo", "Live Activities off", "activities-disabled", ["activitiesEnabled": false]),
        ("dan", "APNs refuses his start token", "push-to-start-token-dead", [:]),
    ]

    func run(on stage: PlayStage) async throws {
        let pager = Pager(islet: stage.isletAddress, key: stage.key)
        try await stage.addPhone("ada", "her app is killed")
        for other in Self.others { try await stage.addPhone(other.name, other.note, other.more) }
        try await stage.act("kill", on: "ada")
        try await stage.control.call(
            .PUT, "/v1/faults",
            [
                "faults": [
                    [
                        "effect": "refuse", "status": 400, "reason": "BadDeviceToken", "phone": "dan",
                        "event": "start",
                    ]
                ]
            ])
        var expected: [String: Expected] = ["ada": .nothing, "bea": .nothing, "cleo": .nothing, "dan": .nothing]

        let first = Message(id: "1", from: "Dr. Amelia Wordsworth-Smythe", "Please come to ward 7 👩‍⚕️", at: Date())
        try await say("A message for ada", try await pager.send(first, to: "ada"), stage)
        expected["ada"] = try .card(first.state, alert: "Dr. Amelia Wordswort")
        try await stage.expect(expected)
        try await stage.registers("ada")

        for (number, other) in Self.others.enumerated() {
            let message = Message(id: "\(number + 2)", from: "Dr. Who", "Ring me back, \(other.name)", at: Date())
            try await say(
                "A message for \(other.name): \(other.note)", try await pager.send(message, to: other.name), stage)
            expected[other.name] = Expected(notifications: ["Dr. Who"])
            try await stage.expect(expected)
            try await checkReason(other.code, of: message, on: other.name, stage)
        }

        try await say("Ada has read hers", try await pager.close(first), stage)
        expected["ada"] = .nothing
        try await stage.expect(expected)
        try await stage.printTimeline(of: Pager.activity(of: first))
        try await stage.printTimeline(of: "message-4")
    }

    static func lines(of card: JSONObject) -> [String] {
        let state = card["contentState"]?.object ?? [:]
        return [state["sender"]?.string ?? "", state["message"]?.string ?? ""]
    }

    /// Checks that the timeline has the reason for the missing card and APNs's answer to the notification.
    private func checkReason(_ code: String, of message: Message, on phone: String, _ stage: PlayStage) async throws {
        let activity = Pager.activity(of: message)
        try await stage.device(phone, of: activity, "told by a notification") { $0.reason.code == "fell-back" }
        try await Waiting.until("the timeline says why", within: PlayStage.limit) {
            let entries =
                try await stage.islet.call(.GET, "/v1/activities/\(activity)/timeline").object?["entries"]?
                .array?.compactMap(\.object).filter { $0["kind"] == "fallback" } ?? []
            return entries.first?["code"]?.string == code && entries.last?["status"]?.int == 200
        }
        stage.line("No card on \(phone)'s phone: \(code).")
    }

    private func say(_ what: String, _ answer: IsletAPI.Answer, _ stage: PlayStage) async throws {
        stage.line("\n\(what).\nIslet answers: \(answer.summary)")
        guard answer.isTaken else { throw DemoFailure("the server refused it") }
    }
}
