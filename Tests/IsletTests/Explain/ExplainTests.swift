import Foundation
import JSONText
import Testing

@testable import islet

@Suite(.serialized) struct ExplainTests {
    private static let policy =
        "{startAlert: {title: 'Order {/status|new}'}, highWhen: {pointer: /status, values: [ready]}, staleAfter: 5m, "
        + "quietHours: {from: '22:00', to: '07:00'}, renewal: true}"

    private func explain(
        _ changes: String?, _ arguments: [String] = [], policy: String = policy
    ) async throws -> (run: Execution, lines: [JSONValue]) {
        let folder = try Folder()
        try folder.write(Sample.file(policy: policy), to: "islet.yaml")
        var command = ["policy", "explain", "--type", "Order", "--json"] + arguments
        if let changes {
            try folder.write(changes, to: "changes.ndjson")
            command += ["--changes", "changes.ndjson"]
        }
        let run = try await Execution.of(command, in: folder)
        let lines = try run.output.split(separator: "\n").map { try JSONValue(parsing: Array($0.utf8)) }
        return (run, lines)
    }

    /// Returns the lines of a kind, as `at: what`.
    private func pushes(_ lines: [JSONValue]) -> [String] {
        lines.compactMap { line in
            guard let line = line.object, line["kind"] == "sent", let at = line["at"]?.double else { return nil }
            let what = [line["push"]?.string ?? "", "r\(line["revision"]?.int ?? 0)", "p\(line["priority"]?.int ?? 0)"]
            return "\(at): \(what.joined(separator: " ")) \(line["reason"]?.string ?? "")"
        }
    }

    @Test func `what is sent when is what the server would send`() async throws {
        let (run, lines) = try await explain(
            """
            {"at": "0s", "state": {"status": "preparing"}}
            {"at": "60s", "state": {"status": "ready"}}
            {"at": 60.2, "state": {"status": "ready", "shelf": 4}}
            {"at": 60.4, "state": {"status": "ready", "shelf": 5}}
            {"at": "5m", "end": true}
            """)
        #expect(run.code == 0 && run.errors.isEmpty)
        #expect(
            pushes(lines) == [
                "0.0: start r1 p10 first-state", "2.0: update r1 p10 fresh-token", "60.0: update r2 p5 new-state",
                "61.0: update r4 p5 new-state", "300.0: end r5 p10 activity-ended",
            ])
        let held = lines.compactMap(\.object).filter { $0["reason"] == "coalescing" }
        #expect(held.map { $0["until"]?.double } == [61, 61])
        let timestamps = lines.compactMap { $0.object?["timestamp"]?.int }
        #expect(timestamps == timestamps.sorted() && Set(timestamps).count == timestamps.count)
    }

    @Test func `phones have their say: tokens, the app's own state, a dismissal`() async throws {
        let (_, lines) = try await explain(
            """
            {"at": "0s", "state": {"status": "a"}}
            {"at": "30s", "phone": "ann", "event": "local"}
            {"at": "2m", "phone": "ann", "event": "token"}
            {"at": "3m", "phone": "ann", "event": "dismiss"}
            {"at": "4m", "state": {"status": "b"}}
            """)
        // The card already shows the newest state when it reports the next token, so nothing is sent.
        #expect(pushes(lines).dropFirst(2) == ["90.0: update r1 p5 local-state-over"])
        let reasons = lines.compactMap { $0.object?["kind"] == "held" ? $0.object?["reason"]?.string : nil }
        #expect(reasons.contains("local-state-ahead"))
        #expect(reasons.last == "dismissed-by-person")
    }

    @Test func `a night: the start waits for the phone's morning`() async throws {
        let (_, lines) = try await explain(
            #"{"at": "0s", "state": {"status": "a"}}"#,
            ["--from", "2026-01-15T22:30:00Z", "--time-zone", "Europe/Berlin", "--for", "12h"])
        let held = try #require(lines.compactMap(\.object).first { $0["reason"] == "quiet-hours" })
        #expect(held["until"]?.double == 27_000)
        #expect(pushes(lines).first == "27000.0: start r1 p10 first-state")
    }

    @Test func `a card is renewed before its time is over, and its stale date while the state is set again`()
        async throws
    {
        let again = (1...130).map { #"{"at": "\#($0 * 4)m", "state": {"status": "a"}}"# }
        let (_, lines) = try await explain(
            ([#"{"at": "0s", "state": {"status": "a"}}"#] + again).joined(separator: "\n"))
        let pushes = pushes(lines)
        #expect(pushes.contains { $0.hasSuffix("stale-date-renewed") })
        #expect(pushes.filter { $0.contains(" start ") || $0.contains(": start") }.count == 2)
        #expect(pushes.filter { $0.hasSuffix(" renewal") }.count == 1)
        #expect(pushes.filter { $0.hasSuffix(" renewed") }.count == 1)
    }

    @Test func `the example and the sample of the documents are played as a table`() async throws {
        let folder = try Folder()
        try folder.write(Sample.file(), to: "islet.yaml")
        let example = try await Execution.of(["policy", "explain", "--type", "Order"], in: folder)
        #expect(example.code == 0 && example.output.hasPrefix("TIME        PHONE  WHAT\n"))
        #expect(example.output.contains("end sent: revision 6"), "\(example.output)")
        let sample = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
            "../../../docs/samples/policy-changes.ndjson")
        let run = try await Execution.of(
            ["policy", "explain", "--type", "Order", "--changes", sample.path], in: folder)
        #expect(run.code == 0 && run.output.contains("the app changes its card"))
    }

    @Test func `a type with a contract is played as any other`() async throws {
        let folder = try Folder()
        let contract = """
            {"attributesType": "OrderAttributes",
             "attributes": {"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}},
             "contentState": {"type": "object", "required": ["nothing"], "properties": {"nothing": {"type": "string"}}}}
            """
        try folder.write(contract, to: "order.json")
        let type = Sample.type(more: ", contract: order.json")
        try folder.write(Sample.file(apps: "[\(Sample.app(types: "[\(type)]"))]"), to: "islet.yaml")
        let run = try await Execution.of(["policy", "explain", "--type", "Order"], in: folder)
        #expect(run.code == 0 && run.output.contains("end sent: revision 6"), "\(run.output) \(run.errors)")
    }

    @Test(arguments: [
        ("", "the changes begin with a state"), ("{", "line 1 of the changes is not JSON"),
        (#"{"at": "soon", "state": {}}"#, "line 1 of the changes: /at: expected a duration"),
        (#"{"at": 0, "state": {}, "stat": 1}"#, "line 1 of the changes: /stat: unknown field"),
        (#"{"at": 0}"#, "a `state`, `end: true`, or an `event` is needed"),
        (#"{"at": 0, "event": "token"}"#, "an `event` happens on a `phone`"),
        (#"{"at": 0, "phone": "ann"}"#, "a `phone` needs an `event`"),
        ("{\"at\": 5, \"state\": {}}\n{\"at\": 4, \"end\": true}", "line 2 of the changes: `at` is before"),
        (#"{"at": 0, "end": true}"#, "the changes begin with a state"),
    ])
    func `changes that mean nothing are refused with their line`(_ changes: String, _ words: String) throws {
        #expect(throws: CommandError.self) { try ExplainScript(changes) }
        do { _ = try ExplainScript(changes) } catch { #expect("\(error)".contains(words), "\(error)") }
    }

    @Test func `a type that is not there is refused with those that are`() async throws {
        let folder = try Folder()
        try folder.write(Sample.file(), to: "islet.yaml")
        let run = try await Execution.of(["policy", "explain", "--type", "Nope"], in: folder)
        #expect(run.code == 1 && run.refusals == ["there is no type `Nope`: there are Order"])
        let wrong = try await Execution.of(["policy", "explain", "--type", "Order", "--for", "long"], in: folder)
        #expect(wrong.code == 64)
    }

    @Test(arguments: [
        (0, "0s"), (0.3, "0.3s"), (61, "1m1s"), (60.25, "1m0.25s"), (26_100, "7h15m0s"), (3600, "1h0m0s"),
    ])
    func `times are said in hours, minutes and seconds`(_ seconds: Double, _ text: String) {
        #expect(ExplainTable.time(seconds) == text)
    }
}
