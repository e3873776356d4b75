import APNSClient
import APNSModel
import APNSSimulator
import Foundation
import JSONText
import LiveActivityAPI
import LiveActivityCore
import Testing

@testable import islet

/// The calls of the README, run as written.
@Suite(.serialized) struct ReadmeTests {
    @Test func `curl alone does the whole order, as the README writes it`() async throws {
        try await withStage { stage in
            _ = try await run("phone", stage)
            try await Waiting.until("the phone is registered", within: .seconds(90)) {
                try await stage.hasReported("alice-iphone")
            }
            let answers = try await run("order", stage)
            #expect(answers.count == 3)
            let first = try answers[0].decode(ActivityAnswer.self)
            #expect(first.revision == 1 && first.changed && first.phones.start == 1)
            let last = try answers[2].decode(ActivityAnswer.self)
            #expect(last.phase == "ended" && last.revision == 3)
            try await Waiting.until("the phone shows the end", within: .seconds(90)) {
                let cards = try await stage.cards(on: "alice-iphone")
                guard cards.count == 1, cards[0]["contentState"]?.object?["status"] == "delivered" else { return false }
                let views = try await run("look", stage)
                #expect(views.count == 3)
                let view = try views[0].decode(ActivityView.self)
                let timeline = try views[1].decode(TimelineView.self)
                return view.phase == "ended" && timeline.entries.contains { $0.kind == "state-set" }
            }
        }
    }

    @Test func `the set-up and the order can be pasted as they are, and the phone shows the order's end`() async throws
    {
        var ports: Set<UInt16> = []
        while ports.count < 3 { ports.insert(try DemoStage.freePort()) }
        let free = ports.map { String($0) }
        // The block as written, except for the ports.
        var setup = try Readme.block(after: "<!-- tested: setup -->", language: "sh")
        for (written, taken) in [
            ("127.0.0.1:8080", "127.0.0.1:\(free[0])"), ("127.0.0.1:2198", "127.0.0.1:\(free[1])"),
            (
                "islet simulate ",
                "islet simulate --port \(free[2]) --control-port \(free[1]) --backend http://127.0.0.1:\(free[0]) "
            ),
        ] {
            try #require(setup.contains(written))
            setup = setup.replacingOccurrences(of: written, with: taken)
        }
        let said = try await shell(
            """
            trap 'kill $(jobs -p) || true; wait' EXIT
            \(setup)
            [ "$(stat -c %a simulator/api-key)" = 600 ]
            curl -s -o /dev/null -w 'without an activity: %{http_code}\\n' "$ISLET/v1/activities/a" \
            -H "Authorization: Bearer $KEY"
            \(try Readme.block(after: "<!-- tested: phone -->", language: "sh"))
            until curl -sf "$PHONES/v1/phones/alice-iphone" | grep -q '"waitingReports":0'; do sleep 0.1; done
            \(try Readme.block(after: "<!-- tested: order -->", language: "sh"))
            until curl -sf "$PHONES/v1/phones/alice-iphone" | grep -q '"status":"delivered"'; do sleep 0.1; done
            """)
        #expect(said.contains("islet listening on") && said.contains(#"{"status":"ready""#), "\(said)")
        #expect(said.contains("without an activity: 404"), "\(said)")
        // The first call's answer as in the README. The loop above has seen the last state on the phone.
        #expect(said.contains(#"{"revision":1,"changed":true,"phase":"active","phones":{"start":1,"#), "\(said)")
    }

    @Test func `the page for iOS makes a phone's first Live Activity, and a phone's calls without the library`()
        async throws
    {
        try await withStage { stage in
            _ = try await run("phone", stage, in: "docs/ios.md")
            try await Waiting.until("the phone is registered", within: .seconds(90)) {
                try await stage.hasReported("ada-iphone")
            }
            _ = try await run("start", stage, in: "docs/ios.md")
            try await Waiting.until("the app's card is there", within: .seconds(90)) {
                let hasReported = try await stage.hasReported("ada-iphone")
                return try await stage.cards(on: "ada-iphone").count == 1 && hasReported
            }
            _ = try await run("update", stage, in: "docs/ios.md")
            try await Waiting.until("the server's state is shown", within: .seconds(90)) {
                let cards = try await stage.cards(on: "ada-iphone")
                return cards.count == 1 && cards[0]["contentState"]?.object?["status"] == "delivering"
            }
            let answers = try await run("calls", stage, in: "docs/react-native.md")
            #expect(answers.count == 7 && answers.allSatisfy { $0.object?["activities"] != nil }, "\(answers)")
            #expect(answers[0].object?["credential"] != nil)
        }
    }

    @Test func `the README's configuration is one that the server takes`() throws {
        let text = try Readme.block(
            after: "leave `endpoint` and `trustRoots` out:", language: "yaml", in: "docs/getting-started.md")
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("islet-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let p8 = SimulatorProviderKey.fresh().p8
        try Data(p8.utf8).write(to: folder.appendingPathComponent("AuthKey_ABC123DEFG.p8"))
        let file = folder.appendingPathComponent("islet.yaml")
        try Data(text.utf8).write(to: file)
        let settings = try ConfigurationLoader.load(file.path, environment: ["APNS_KEY": p8])
        #expect(settings.apps.map(\.bundleID.text) == ["com.acme.pizza"])
        #expect(settings.routes.map(\.endpoint.host).sorted() == ["api.push.apple.com", "api.sandbox.push.apple.com"])
    }

    /// Runs a script in an empty directory, with `islet` in its path, and returns its output. The directory is removed.
    private func shell(_ script: String) async throws -> String {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("islet-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let log = folder.appendingPathComponent("log")
        try Data().write(to: log)
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        let process = try Spawned(
            URL(fileURLWithPath: "/usr/bin/env"), ["timeout", "--kill-after=10", "120", "bash", "-ec", script],
            environment: ["PATH": try Executable.islet.deletingLastPathComponent().path + ":" + path], in: folder,
            output: log, errors: log)
        try await Waiting.until("the script ends", within: .seconds(150)) { !process.isRunning }
        let said = try String(contentsOf: log, encoding: .utf8)
        #expect(process.exitCode == 0, "\(said)")
        return said
    }

    /// Runs a block of the README in a shell and returns the JSON documents that it prints.
    private func run(
        _ name: String, _ stage: DemoStage, in document: String = "README.md"
    ) async throws -> [JSONValue] {
        let script = try Readme.block(after: "<!-- tested: \(name) -->", language: "sh", in: document)
        // A line break after each call separates the documents.
        let lines = "curl() { command curl \"$@\"; echo; }\n" + script
        let log = stage.directory.appendingPathComponent("\(UUID().uuidString).out")
        let errors = log.appendingPathExtension("errors")
        for file in [log, errors] { try Data().write(to: file) }
        let process = try Spawned(
            URL(fileURLWithPath: "/usr/bin/env"), ["timeout", "--kill-after=10", "120", "bash", "-ec", lines],
            environment: [
                "PATH": ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin", "ISLET": stage.isletAddress,
                "KEY": stage.key, "PHONES": stage.control.base,
            ], output: log, errors: errors)
        try await Waiting.until("the block ends", within: .seconds(150)) { !process.isRunning }
        let data = try Data(contentsOf: log)
        #expect(process.exitCode == 0, "the block `\(name)` failed")
        return try String(decoding: data, as: UTF8.self).split(separator: "\n").map {
            try JSONValue(parsing: String($0))
        }
    }
}

enum Readme {
    /// Returns the first fenced block of a language after a marker.
    static func block(after marker: String, language: String, in file: String = "README.md") throws -> String {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let text = try String(contentsOf: root.appendingPathComponent(file), encoding: .utf8)
        guard let start = text.range(of: marker), let open = text[start.upperBound...].range(of: "```\(language)\n"),
            let close = text[open.upperBound...].range(of: "\n```")
        else { throw DemoFailure("\(file) has no block after \(marker)") }
        return String(text[open.upperBound..<close.lowerBound])
    }
}
