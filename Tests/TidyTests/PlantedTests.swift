import Testing

/// Each rule with a bad example, which it must find at its line, and a good one, which it must accept.
struct PlantedTests {
    // MARK: - Reading

    @Test(arguments: [
        ("let a = 1 // try! b", "let a = 1          "),
        ("a /* as! /* b */ c */ d", "a                     d"),
        (#"a("try! b") c"#, #"a("      ") c"#),
        (#"f("x \(g("y", h)) z") + i"#, #"f("   (g(" ", h))  ") + i"#),
        (##"f(#"a " \(b) \#(c)"#) d"##, ##"f(#"           (c)"#) d"##),
        ("f(\"\"\"\n  try! \"a\"\n  \"\"\") g", "f(\"\"\"\n          \n  \"\"\") g"),
        ("func `a try! b`() {}", "func `        `() {}"),
        ("let r = /\"/\nlet b = as! C", "let r = /\" \nlet b = as! C"),
        (#"a = "\\" + b"#, #"a = "  " + b"#),
    ])
    func `the mask leaves only code`(_ text: String, _ code: String) {
        #expect(Source("a.swift", text).code == code)
    }

    @Test func `a finding reads like a compiler's`() {
        #expect(Finding("a/b.swift", line: 3, "is odd", "mend it").description == "a/b.swift:3: is odd; mend it")
    }

    // MARK: - Arrows

    @Test(arguments: [
        "import Foundation", "package import NIOCore", "@preconcurrency import Foundation", "  internal import Crypto",
        "import struct Foundation.Date", "@_exported public import LiveActivityStorage", "@_spi(X) import Glibc",
    ])
    func `an import against the arrows is found`(_ line: String) {
        let findings = Arrows.check(Source("Sources/LiveActivityCore/A/B.swift", "// A word.\n\(line)\n"))
        #expect(findings.map(\.line) == [2])
    }

    @Test func `an import along the arrows is fine, and one in a comment is none`() {
        let text = "package import APNSModel\nimport JSONText\n// import Foundation\nlet text = \"import GRDB\"\n"
        #expect(Arrows.check(Source("Sources/LiveActivityCore/B.swift", text)).isEmpty)
        #expect(Arrows.check(Source("Examples/OrderTracking/Shop/A.swift", "import BackendCalls")).isEmpty)
    }

    @Test(arguments: ["Sources/New/A.swift", "Examples/Other/A.swift", "Sources/Loose.swift"])
    func `a target without arrows is found`(_ path: String) {
        #expect(Arrows.check(Source(path, "")).count == 1)
    }

    @Test func `an import that the package of checked builds does not give is found`() {
        let manifest = """
            let nio: [Target.Dependency] = [
                product("NIOCore", "swift-nio"),
            ]
            let crypto = product("Crypto", "swift-crypto")
            let package = Package(targets: [
                .target(name: "A", dependencies: ["B", crypto] + nio),
                .target(
                    name: "B"),
            ])
            """
        func found(_ path: String, _ text: String) -> [Int?] {
            Hardening.check([Source(path, text)], manifest: manifest).map(\.line)
        }
        #expect(found("Sources/A/X/C.swift", "import B\nimport Crypto\nimport NIOCore\nimport Foundation").isEmpty)
        #expect(found("Sources/A/C.swift", "import B\nimport Logging") == [2])
        #expect(found("Sources/B/C.swift", "package import Crypto\nimport NIOCore") == [1, 2])
        #expect(found("Sources/Other/C.swift", "import Logging").isEmpty)
        let lost = Hardening.lost(in: manifest) { $0 == "Hardening/Tests/A" }
        #expect(lost.map(\.path) == ["Hardening/Sources/B"])
    }

    // MARK: - Code

    struct Planted: CustomStringConvertible, Sendable {
        let rule: CodeRule
        let path: String
        let bad: [String]
        let good: [String]
        var description: String { rule.description }
    }

    private static let core = "Sources/LiveActivityCore/A.swift"
    private static let library = "Sources/APNSClient/A.swift"
    private static let tests = "Tests/APNSClientTests/A.swift"

    static let planted: [Planted] = [
        Planted(
            rule: .clock, path: core,
            bad: ["let a = Date()", "f(at: .now)", "UnixTime.now", "clock.now", "ContinuousClock().now + clock.now"],
            good: ["context.now", "self.now", "f(now: now)", "let now = flight(x).now"]),
        Planted(
            rule: .dice, path: core, bad: ["Int.random(in: 0..<2)", "a.randomElement()", "a.shuffled()", "UUID()"],
            good: ["PushID(random: a, b)", "let random = dice"]),
        Planted(
            rule: .effects, path: core,
            bad: ["print(a)", "Task { }", "import FoundationEssentials", "await Task.yield()"],
            good: ["blueprint(a)", "let aTask = 1", "// print(a)"]),
        Planted(
            rule: .printing, path: library, bad: ["print(a)", "  debugPrint(a)", "dump(a)"],
            good: ["printer.print(a)", "fingerprint(a)", "let a = \"print(a)\""]),
        Planted(
            rule: .traps, path: library, bad: ["fatalError(\"a\")", "try! a()", "a as! B", "preconditionFailure()"],
            good: ["try a()", "a as? B", "precondition(a)", "\"try! as!\""]),
        Planted(
            rule: .strayTasks, path: library,
            bad: ["Task { a() }", "Task.detached { }", "Task(priority: .low) { }", "Task<Void, Never> { }"],
            good: ["group.addTask { }", "try Task.checkCancellation()", "var a: Task<Void, Never>?"]),
        Planted(
            rule: .sleeps, path: tests,
            bad: ["try await Task.sleep(for: .seconds(1))", "usleep(3)", "sleep(1)", "clock.sleep(for: a)"],
            good: ["func sleep(until a: B) async {}", "asleep(a)", "// sleep(1)"]),
        Planted(
            rule: .otherTests, path: tests, bad: ["import XCTest", "XCTAssertEqual(a, b)"], good: ["import Testing"]),
        Planted(
            rule: .socketLevels, path: library, bad: [".socketOption(.tcp_nodelay)", "socketOption( .tcp_keepidle)"],
            good: [".tcpOption(.tcp_nodelay)", ".socketOption(.so_keepalive)", "// .socketOption(.tcp_nodelay)"]),
        Planted(
            rule: .reasons, path: "Sources/LiveActivityClient/A.swift",
            bad: [
                "UserDefaults.standard", "ProcessInfo.processInfo.systemUptime", "values.contentModificationDate",
                "attributes[.creationDate]", "stat(path, &a)", "fstat(a, &b)", "lstat(a, &b)", "getattrlistbulk(a)",
                "[.volumeTotalCapacityKey]",
            ], good: ["state(a)", "let stat = 1", "ContinuousClock.now", "// UserDefaults"]),
    ]

    @Test func `every rule about code has a planted example`() {
        #expect(Set(Self.planted.map(\.rule.description)) == Set(CodeRule.all.map(\.description)))
    }

    @Test(arguments: planted) func `a planted example is found`(_ planted: Planted) {
        for bad in planted.bad {
            let findings = planted.rule.check([Source(planted.path, "let a = 0\n\n\(bad)\n")])
            #expect(findings.first?.line == 3, "not found: \(bad)")
        }
        for good in planted.good {
            #expect(planted.rule.check([Source(planted.path, good + "\n")]).isEmpty, "found: \(good)")
        }
    }

    @Test func `rules know their places`() {
        let text = "Task { print(a) }\nDate()\n"
        #expect(CodeRule.strayTasks.check([Source("Sources/islet/A.swift", text)]).isEmpty)
        #expect(CodeRule.printing.check([Source("Examples/OrderTracking/Command/A.swift", text)]).isEmpty)
        #expect(CodeRule.clock.check([Source("Sources/APNSSimulator/A.swift", text)]).isEmpty)
        #expect(CodeRule.traps.check([Source("Tests/ATests/A.swift", "try! a()")]).isEmpty)
    }

    // MARK: - Sizes

    @Test func `a long file is found, unless its first line says why`() {
        let lines = String(repeating: "let a = 1\n", count: 401)
        #expect(Sizes.files(Source("Sources/A/B.swift", lines)).count == 1)
        #expect(Sizes.files(Source("Sources/A/B.swift", String(lines.dropLast(10)))).isEmpty)
        #expect(
            Sizes.files(Source("Sources/A/B.swift", "// One machine: its states belong together.\n" + lines)).isEmpty)
        #expect(Sizes.files(Source("Sources/A/B.swift", "// Long.\n// A machine.\n" + lines)).count == 1)
    }

    @Test func `a long line is found, counted in characters`() {
        let findings = Sizes.columns(Source("Sources/A/B.swift", "a\n" + String(repeating: "b", count: 121)))
        #expect(findings.map(\.line) == [2])
        #expect(Sizes.columns(Source("Sources/A/B.swift", String(repeating: "→", count: 120))).isEmpty)
        #expect(Sizes.columns(Source("docs/a.md", String(repeating: "b", count: 500))).isEmpty)
    }

    @Test(arguments: [
        "func a() {", "    private static func a<T>(_ b: T = f({ c })) throws(E) -> [T] {", "init?(a: Int) {",
        "deinit {",
        "@Test(arguments: [1]) func `a {`(b: Int) {", "subscript(a: Int) -> Int {",
        "package func a(\n    b: Int,\n    c: Int\n) async throws\n    -> Int\nwhere T: B,\n    U: C\n{",
    ])
    func `a long function is found`(_ head: String) {
        let headLines = head.split(separator: "\n").count
        func function(lines: Int) -> Source {
            let body = String(repeating: "    if a { b(\"}\") }\n", count: lines - headLines - 1)
            return Source("Sources/A/B.swift", "struct S {\n\(head)\n\(body)}\n}\n")
        }
        #expect(Sizes.functions(function(lines: 71)).map(\.line) == [2])
        #expect(Sizes.functions(function(lines: 70)).isEmpty)
    }

    @Test func `a requirement has no body, and a call is no declaration`() {
        let requirements = "protocol P {\n    func a() throws -> Int\n    init(a: Int)\n    func b()\n}\n"
        let long = "extension A {\n" + String(repeating: "    var a: Int { 1 }\n", count: 100) + "}\n"
        #expect(Sizes.functions(Source("Sources/A/B.swift", requirements + long + "self.init(a: {\n" + long)).isEmpty)
    }

    // MARK: - Words, folders, manifest

    @Test(arguments: ["FIX" + "ME", "TO" + "DO", "X" + "XX", "HA" + "CK"])
    func `unfinished work is found, in comments too`(_ word: String) {
        #expect(Words.unfinishedWork(Source("docs/a.md", "a\n// \(word): later\n")).map(\.line) == [2])
        #expect(Words.unfinishedWork(Source("docs/a.md", "a\(word)b\n")).isEmpty)
    }

    @Test(arguments: ["work", "tmp", "root", "opt", "home", "Users"])
    func `a path of one machine is found`(_ top: String) {
        #expect(Words.machinePaths(Source("docs/a.md", "a\nsee `/\(top)/main/a`\n")).map(\.line) == [2])
        #expect(Words.machinePaths(Source("Sources/A/B.swift", "let a = \"/\(top)/a\"\n")).count == 1)
        #expect(Words.machinePaths(Source("docs/a.md", "docs/\(top)/a, ./\(top)/a, https://\(top)/a\n")).isEmpty)
    }

    @Test func `an empty folder name is found`() {
        #expect(Folders.check(Source("Sources/A/Utils/B.swift", "")).count == 1)
        #expect(Folders.check(Source("Sources/A/Reconcile/Utils.swift", "")).isEmpty)
    }

    @Test func `a folder that the manifest does not name is found`() {
        let manifest = #".target(name: "A"), .testTarget(name: "Deep", path: "Tests/B")"#
        #expect(Manifest.check(["A", "B", "C"], under: "Tests", manifest: manifest).map(\.path) == ["Tests/C"])
    }
}
