import APNSModel
import APNSSimulator
import BackendCalls
import FocusTimer
import Foundation
import JSONText
import LiveActivityAPI
import Testing

@testable import islet

/// The focus timer: dead tokens, an APNs that is unavailable, sizes, the manual test and the operator's view (F6 to
/// F10). Also the faults of the studied backend (Fw1 to Fw5).
@Suite(.serialized) struct FocusTimerCareTests {
    @Test func `F6: a token that APNs calls invalid is not used again, nor one of a timer that has ended`() async throws
    {
        try await FocusCheck.run { stack, functions in
            let (phone, localID) = try await FocusCheck.localTimer(stack, functions)
            try await stack.reported(phone)
            var rule = FaultRule(.refuse(status: 400, reason: "BadDeviceToken"))
            rule.count = 1
            stack.simulator.faults = [rule]
            let dead = try #require(stack.simulator.lockScreen(of: phone).cards[0].token).masked
            let paused = try await functions.update(.pause, "1", as: "anna")
            try await stack.device("anna", of: "focus-1", "needs a token") { $0.reason.code == "update-token-dead" }
            let count = stack.simulator.receivedCount
            try stack.simulator.perform(.rotateUpdateToken(localID: localID), on: phone)
            let shown = try await FocusCheck.shows(paused, on: phone, stack)
            #expect(shown.relevance == 50, "its place among the cards comes with the state")
            #expect(stack.simulator.received.filter { $0.number > count }.allSatisfy { $0.token != dead })
            try await FocusCheck.shows(try await functions.end("1", as: "anna"), on: phone, stack, .ended)
            try stack.simulator.perform(.foreground, on: phone)
            try await stack.reported(phone)
            try await stack.device("anna", of: "focus-1", "has ended") { $0.state == "ended" }
            let after = stack.simulator.receivedCount
            _ = try await functions.end("1", as: "anna")
            #expect(try await stack.device("anna", of: "focus-1")?.state == "ended")
            #expect(stack.simulator.receivedCount == after)
        }
    }

    @Test func `F7: while pushes fail, an app that is in touch is told the state, and can update its card itself`()
        async throws
    {
        try await FocusCheck.run { stack, functions in
            let (phone, _) = try await FocusCheck.localTimer(stack, functions)
            try await stack.reported(phone)
            stack.simulator.faults = [FaultRule(.refuse(status: 503, reason: "ServiceUnavailable"))]
            let paused = try await functions.update(.pause, "1", as: "anna")
            // The answer to an app that comes to the foreground and registers. The app's client applies it.
            let answer = try await stack.islet.call(.PUT, "/v1/devices/anna", ["user": "anna"])
                .decode(DesiredStatesAnswer.self)
            let desired = try #require(answer.activities.first { $0.activity == "focus-1" })
            #expect(desired.phase == "active" && desired.revision == 2 && desired.relevance == 50)
            try stack.simulator.perform(.background, on: phone)
            try stack.simulator.perform(.foreground, on: phone)
            try await FocusCheck.shows(paused, on: phone, stack)
            #expect(stack.simulator.received.filter { $0.number > 1 }.allSatisfy { $0.status != 200 })
        }
    }

    @Test func `F8: a payload over 4 KB is refused before it is sent, and the refusal has the sizes`() async throws {
        try await FocusCheck.run { stack, functions in
            let phone = try await stack.phone("anna")
            do {
                try await functions.start("1", title: String(repeating: "ä", count: 2200), length: 60, as: "anna")
                Issue.record("not refused")
            } catch let error as FocusError {
                guard case .invalidArgument(let words) = error else {
                    Issue.record("\(error)")
                    return
                }
                #expect(words.contains("attributes 4") && words.contains("content-state "), "\(words)")
            }
            #expect(stack.simulator.receivedCount == 0)
            #expect(try stack.simulator.lockScreen(of: phone).cards.isEmpty)
        }
    }

    @Test func `F9: the manual test plays start, pause, wait, resume and end`() async throws {
        try await FocusCheck.run { stack, _ in
            let phone = try await stack.phone("anna")
            let log = stack.directory.appendingPathComponent("focus-timer.log")
            let process = try ChildProcess(
                "focus timer",
                executable: Executable.islet.deletingLastPathComponent().appendingPathComponent("focus-timer"),
                arguments: ["7", "--islet", stack.address, "--person", "anna", "--pause", "1"],
                environment: [BackendKey.variable: stack.key], log: log)
            #expect(try await process.exitCode(within: .seconds(60)) == 0)
            let said = try String(
                contentsOf: log.deletingPathExtension().appendingPathExtension("out"), encoding: .utf8)
            let steps = said.split(separator: "\n").compactMap { $0.split(separator: ":").first.map(String.init) }
            #expect(steps == ["started", "paused", "resumed", "ended"], "\(said)")
            let screen = try await stack.simulator.wait(for: phone, timeout: .seconds(90)) {
                $0.cards.count == 1 && $0.cards[0].state == .ended
            }
            let state = try JSONValue.object(screen.cards[0].contentState)
                .decode(FocusTimerAttributes.ContentState.self)
            // Three waits of one second each, of which one was a pause.
            let focus = state.elapsed(at: Date())
            #expect(focus > 1.9 && state.endedAt != nil, "\(focus)")
        }
    }

    @Test func `F10: deliveries, errors and latency are counted, and no token is shown beyond its beginning`()
        async throws
    {
        try await FocusCheck.run { stack, functions in
            let (phone, _) = try await FocusCheck.localTimer(stack, functions)
            try await stack.reported(phone)
            var rule = FaultRule(.refuse(status: 429, reason: "TooManyRequests"))
            rule.count = 1
            stack.simulator.faults = [rule]
            let paused = try await functions.update(.pause, "1", as: "anna")
            try await FocusCheck.shows(paused, on: phone, stack)
            try await stack.device("anna", of: "focus-1", "has it") { $0.revision == 2 }
            let metrics = try await JSONCaller(stack.address).text("/metrics")
            for part in [
                #"verdict="accepted",reason="none"} "#, #"verdict="slow_down",reason="TooManyRequests"} 1"#,
                "islet_delivery_lag_seconds_count", "islet_push_answer_seconds_count",
            ] {
                #expect(metrics.contains(part), "\(part)")
            }
            let tokens = try stack.simulator.tokens(of: phone)
            let card = try #require(stack.simulator.lockScreen(of: phone).cards[0].token)
            var shown = metrics
            for path in ["focus-1", "focus-1/timeline?limit=1000", "?user=anna"] {
                let slash = path.hasPrefix("?") ? "" : "/"
                shown += try await stack.islet.call(.GET, "/v1/activities\(slash)\(path)").text
            }
            for token in [card.hex, tokens.device?.hex, tokens.pushToStart?.hex].compactMap(\.self) {
                #expect(!shown.contains(token.prefix(9)))
            }
            #expect(shown.contains(card.hex.prefix(8)), "the timeline says which token it was")
        }
    }

    // MARK: - Faults of the studied backend

    @Test func `Fw1: relevance goes into aps as relevance-score, where the phone reads it`() async throws {
        try await FocusCheck.run { stack, functions in
            let (phone, _) = try await FocusCheck.localTimer(stack, functions)
            try await stack.reported(phone)
            let paused = try await FocusCheck.shows(
                try await functions.update(.pause, "1", as: "anna"), on: phone, stack)
            #expect(paused.relevance == 50)
            let runs = try await FocusCheck.shows(
                try await functions.update(.resume, "1", as: "anna"), on: phone, stack)
            #expect(runs.relevance == 100)
        }
    }

    @Test func `Fw2: the dismissal date is in seconds: an ended card leaves when it should`() async throws {
        try await FocusCheck.run { stack, functions in
            let (phone, _) = try await FocusCheck.localTimer(stack, functions)
            try await stack.reported(phone)
            let card = try await FocusCheck.shows(
                try await functions.end("1", as: "anna"), on: phone, stack, .ended)
            // Milliseconds would be tens of thousands of years ahead, which iOS cuts to four hours.
            let left = try #require(card.dismissesAt) - stack.simulator.now
            #expect(left <= .seconds(60) && left > .zero, "\(left)")
            try stack.simulator.advance(by: .seconds(61))
            try await stack.simulator.wait(for: phone, timeout: .seconds(10)) { $0.cards.isEmpty }
        }
    }

    @Test func `Fw3: each push has a whole timestamp, the end too, and none is older than one before`() async throws {
        try await FocusCheck.run { stack, functions in
            let (phone, _) = try await FocusCheck.localTimer(stack, functions)
            try await stack.reported(phone)
            // An app in touch would get the state in the answer to its next report, without a push.
            try stack.simulator.perform(.background, on: phone)
            try await FocusCheck.shows(try await functions.update(.pause, "1", as: "anna"), on: phone, stack)
            try await FocusCheck.shows(try await functions.end("1", as: "anna"), on: phone, stack, .ended)
            let pushes = stack.simulator.received
            #expect(pushes.last?.event == "end")
            // The simulator reads whole numbers only.
            let stamps = pushes.compactMap(\.timestamp)
            #expect(stamps.count == pushes.count && stamps == stamps.sorted())
            let now = Int(stack.simulator.now.seconds)
            #expect(stamps.allSatisfy { abs($0 - now) < 60 }, "seconds since 1970, not milliseconds")
        }
    }

    @Test func `Fw4: dates of the Swift type go out as seconds since 2001, which a default JSONDecoder wants`()
        async throws
    {
        try await FocusCheck.run { stack, functions in
            let (phone, _) = try await FocusCheck.localTimer(stack, functions)
            try await stack.reported(phone)
            let session = try await functions.update(.pause, "1", as: "anna")
            let card = try await FocusCheck.shows(session, on: phone, stack)
            let began = try #require(card.contentState["startedAt"]?.double)
            #expect(began == session.state.startedAt.timeIntervalSinceReferenceDate)
            let state = try JSONDecoder().decode(
                FocusTimerAttributes.ContentState.self, from: Data(JSONValue.object(card.contentState).bytes))
            #expect(state == session.state)
            // Such a phone silently drops the same instant as ISO text.
            let text: JSONObject = ["startedAt": .string("2026-11-21T21:00:00Z")]
            #expect(throws: DecodingError.self) {
                try JSONDecoder().decode(
                    FocusTimerAttributes.ContentState.self, from: Data(JSONValue.object(text).bytes))
            }
            #expect(try stack.simulator.deviceLog(of: phone).allSatisfy { $0.code != .contentStateUndecodable })
        }
    }

    @Test func `Fw5: a card is updated by its own update token, never by another token of the phone`() async throws {
        try await FocusCheck.run { stack, functions in
            let (phone, _) = try await FocusCheck.localTimer(stack, functions)
            let other = try await stack.phone("anna") { $0.id = PhoneID("second") }
            try await stack.reported(phone)
            let session = try await functions.update(.pause, "1", as: "anna")
            try await FocusCheck.shows(session, on: phone, stack)
            try await FocusCheck.shows(session, on: other, stack)
            for (phone, events) in [(phone, ["update"]), (other, ["start", "update"])] {
                let tokens = try stack.simulator.tokens(of: phone)
                let card = try #require(stack.simulator.lockScreen(of: phone).cards[0].token)
                for push in stack.simulator.received where push.phone == phone {
                    let expected = push.event == "start" ? tokens.pushToStart?.masked : card.masked
                    #expect(push.token == expected && push.status == 200)
                    #expect(events.contains(push.event ?? "") && push.token != tokens.device?.masked)
                }
            }
        }
    }
}
