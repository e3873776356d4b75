import APNSClient
import APNSModel
import APNSSimulator
import Foundation
import JSONText
import LiveActivityCore
import Synchronization
import Testing

@testable import islet

/// The answers of `islet init`: read from words, and written as a configuration.
struct InitAnswersTests {
    // MARK: - Words

    @Test(arguments: [
        ("AuthKey_ABC123DEFG.p8 XYZ987MNOP sandbox", "AuthKey_ABC123DEFG.p8", "ABC123DEFG", APNSEnvironment.sandbox),
        ("keys/AuthKey_ABC123DEFG.p8  XYZ987MNOP production", "keys/AuthKey_ABC123DEFG.p8", "ABC123DEFG", .production),
        ("key.p8 HIJ456KLMN XYZ987MNOP sandbox", "key.p8", "HIJ456KLMN", .sandbox),
        ("my keys/apns.p8 HIJ456KLMN XYZ987MNOP sandbox", "my keys/apns.p8", "HIJ456KLMN", .sandbox),
        ("my keys/AuthKey_ABC123DEFG.p8 XYZ987MNOP sandbox", "my keys/AuthKey_ABC123DEFG.p8", "ABC123DEFG", .sandbox),
        ("AuthKey_ABC123DEFG.p8 HIJ456KLMN XYZ987MNOP sandbox", "AuthKey_ABC123DEFG.p8", "HIJ456KLMN", .sandbox),
    ])
    func `a key is a file, a team and an environment, and its id if the file's name has none`(
        _ line: String, _ file: String, _ keyID: String, _ environment: APNSEnvironment
    ) throws {
        let key = InitAnswers.AppleKey(file: file, keyID: keyID, teamID: "XYZ987MNOP", environment: environment)
        #expect(try InitAnswers.key(words: line) == .apple(key))
    }

    @Test(arguments: [
        ("", "three words are needed"), ("AuthKey_ABC123DEFG.p8 sandbox", "three words are needed"),
        ("key.p8 XYZ987MNOP sandbox", "`key.p8` does not have the key id in its name"),
        ("AuthKey_ABC123DEFG.p8 XYZ987MNOP Sandbox", "`Sandbox` is neither sandbox nor production"),
        ("-----BEGIN PRIVATE KEY----- XYZ987MNOP sandbox", "give the path of the .p8 file, not its text"),
    ])
    func `a key that lacks something is refused`(_ line: String, _ words: String) {
        let error = #expect(throws: CommandError.self) { try InitAnswers.key(words: line) }
        #expect(error?.description.contains(words) == true, "\(String(describing: error))")
    }

    @Test func `a simulator needs no other words`() throws {
        #expect(try InitAnswers.key(words: "simulator") == .simulator)
    }

    @Test(arguments: [
        ("OrderTrackingAttributes Your order", "OrderTracking", "Your order"),
        ("OrderTrackingAttributes", "OrderTracking", nil), ("Attributes  A {/b|c}", "Attributes", "A {/b|c}"),
        ("Timer T", "Timer", "T"),
    ])
    func `a type is the name of its Swift type, and the title of its alert`(
        _ line: String, _ type: String, _ title: String?
    ) throws {
        let kind = try InitAnswers.kind(words: line)
        #expect(kind.type == type && kind.startAlert?.title == title && kind.startAlert?.body == nil)
        #expect(line.hasPrefix(kind.attributesType))
    }

    @Test(arguments: [
        ("", "the name of the Swift type is needed"), ("Order {/a", "`{` begins a placeholder"),
        ("Order {/a}", "the title may be empty"),
    ])
    func `a type without a name, and an alert that iOS would drop, are refused`(_ line: String, _ words: String) {
        let error = #expect(throws: CommandError.self) { try InitAnswers.kind(words: line) }
        #expect(error?.description.contains(words) == true, "\(String(describing: error))")
    }

    // MARK: - Questions

    /// Asks with these answers. Returns what was said, beside the result.
    private func ask<Answer>(
        _ lines: [String], _ question: (InitQuestions) throws -> Answer
    ) -> (result: Result<Answer, any Error>, said: String) {
        let rest = Mutex(lines)
        let said = Mutex("")
        let questions = InitQuestions(
            read: { rest.withLock { $0.isEmpty ? nil : $0.removeFirst() } },
            say: { text in said.withLock { $0 += text } },
            check: { (key: InitAnswers.AppleKey) throws(CommandError) in
                if key.keyID == "BADBADBADB" { throw CommandError("this key is bad") }
            })
        let result = Result { try question(questions) }
        return (result, said.withLock(\.self))
    }

    @Test func `an answer that cannot be used is asked for again, with the reason`() throws {
        let app = ask([" no id ", "com.acme.pizza "]) { try $0.bundleID() }
        #expect(try app.result.get() == "com.acme.pizza")
        #expect(app.said.contains("> `no id` is not a bundle id such as com.acme.pizza\n> "))
        let key = ask(["k.p8 BADBADBADB XYZ987MNOP sandbox", "simulator"]) { try $0.key() }
        #expect(try key.result.get() == .simulator && key.said.contains("> this key is bad\n> "))
        let kind = ask(["", "OrderAttributes"]) { try $0.kind() }
        #expect(try kind.result.get().type == "Order")
    }

    @Test func `it gives up after three answers, and where nobody answers`() {
        let wrong = ask(["", "", "", "com.acme.pizza"]) { try $0.bundleID() }
        #expect(throws: CommandError.self) { try wrong.result.get() }
        let silent = ask([]) { try $0.bundleID() }
        let error = #expect(throws: CommandError.self) { try silent.result.get() }
        #expect(error?.description == "there was no answer, so nothing was written")
    }

    // MARK: - The configuration

    private static func apple(_ folder: Folder) -> InitAnswers {
        InitAnswers(
            bundleID: "com.acme.pizza",
            key: .apple(
                .init(
                    file: folder.path("key.p8"), keyID: "ABC123DEFG", teamID: "XYZ987MNOP", environment: .production)),
            kind: .init(type: "Order", attributesType: "OrderAttributes", startAlert: .init(title: "Your order")))
    }

    @Test func `the configuration has the answers, and comments`() throws {
        let folder = try Folder()
        let text = Self.apple(folder).text(in: folder.url.path)
        #expect(
            text == """
                # Made by `islet init`. `islet config check` explains this file, and `islet config reference` prints
                # every key. Paths begin at this file's folder.
                listen: 127.0.0.1:8080  # beyond this machine: set `tls`, or use a proxy with TLS
                storage: sqlite:islet.db
                apps:
                  - bundleID: com.acme.pizza
                    apns:
                      # sandbox: builds that Xcode installs. production: TestFlight and the App Store. Or both.
                      production:
                        keyFile: key.p8
                        keyID: ABC123DEFG
                        teamID: XYZ987MNOP
                    activities:
                      - type: Order  # the name in the HTTP API
                        attributesType: OrderAttributes  # the name of the Swift type
                        policy:
                          startAlert:
                            title: "Your order"

                """)
        let settings = try folder.load(text)
        #expect(settings.keys.map(\.environment) == [.production])
        #expect(settings.keys.map(\.source) == [.file(folder.path("key.p8"))])
    }

    @Test(arguments: 0..<UInt64(100)) func `whatever the answers are, the server reads them as they were given`(
        _ seed: UInt64
    ) throws {
        var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
        func next(_ limit: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int((state >> 33) % UInt64(limit))
        }
        let parts = [
            "a", "Z", "0", "1e5", "true", "null", "~", " ", "  ", ": ", " #", "#", "-", "- ", "'", "\"", "\\", "é",
            "🍕", "&", "*", "!", "%", "@", "`", "|", ">", "[", "]", ",", "?", "=", "{{", "}}", "\t", "/", ".", "0x1F",
        ]
        func text() -> String { (0..<(1 + next(6))).map { _ in parts[next(parts.count)] }.joined() }
        let folder = try Folder()
        var answers = Self.apple(folder)
        answers.storage = "sqlite:" + text()
        answers.kind = .init(
            type: text(), attributesType: text(), startAlert: .init(title: "x" + text(), body: text()))
        let settings = try folder.load(answers.text(in: folder.url.path))
        let type = try #require(settings.apps[0].types[answers.kind.type], "seed \(seed)")
        #expect(type.attributesType == answers.kind.attributesType, "seed \(seed)")
        let alert = try #require(type.policy.startAlert).filled(state: [:], attributes: [:]).alert
        func plain(_ text: String?) -> String? {
            text?.replacing("{{", with: "{").replacing("}}", with: "}")
        }
        #expect(alert.title == .text(plain(answers.kind.startAlert?.title) ?? ""), "seed \(seed)")
        #expect(alert.body == plain(answers.kind.startAlert?.body).map { .text($0) }, "seed \(seed)")
    }

    @Test(arguments: ["", "12345", "1e5", "true", "null", "~", "a b", "a:", "-a", "a#", "\"", "é", "#", "a\nb"])
    func `a text that YAML reads in another way stands in quotes`(_ text: String) {
        #expect(InitAnswers.scalar(text).hasPrefix("\""))
    }

    @Test(arguments: ["a", "com.acme.pizza", "127.0.0.1:8080", "https://127.0.0.1:2197", "/etc/a-b_c.p8", "0a"])
    func `other texts stand as they are`(_ text: String) {
        #expect(InitAnswers.scalar(text) == text)
    }

    @Test func `a file below the configuration's folder is named from there, another by its whole path`() {
        #expect(InitAnswers.path(of: "/a/b/c.p8", from: "/a/b") == "c.p8")
        #expect(InitAnswers.path(of: "/a/b/d/../e/c.p8", from: "/a/b/") == "e/c.p8")
        #expect(InitAnswers.path(of: "/a/bc.p8", from: "/a/b") == "/a/bc.p8")
        #expect(InitAnswers.path(of: "/c.p8", from: "/") == "c.p8")
    }

    @Test func `what pushes do not start has no alert, and the simulator's app is the one on its phones`() throws {
        let folder = try Folder()
        var answers = InitAnswers.example
        answers.kind.startAlert = nil
        try FileManager.default.createDirectory(atPath: folder.path("simulator"), withIntermediateDirectories: true)
        _ = try SimulatorFiles.key(in: folder.url.appendingPathComponent("simulator"))
        let settings = try folder.load(answers.text(in: folder.url.path))
        #expect(settings.apps[0].types["OrderTracking"]?.policy.start == .appOnly)
        #expect(settings.routes.map { "\($0.endpoint)" } == ["https://127.0.0.1:2197"])
        let onPhones = try #require(OrderPlay.app.types.first)
        let example = InitAnswers.example.kind
        #expect(example.type == onPhones.name && example.attributesType == onPhones.installed.name)
        #expect(onPhones.keys == ["activityIDAttribute: \(try #require(example.activityIDAttribute))"])
        #expect(InitAnswers.example.bundleID == OrderPlay.app.bundleID)
    }
}
