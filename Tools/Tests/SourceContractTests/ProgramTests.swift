import Foundation
import JSONText
import Testing

/// `islet-contract` itself: its output, and its exit codes.
struct ProgramTests {
    private static let state = "struct ContentState: Codable { var step: Int }"
    private static let source = "struct A: ActivityAttributes { \(state)\nvar id: String }"

    @Test func `the contract is on standard output, and nothing else`() throws {
        let run = try Program.run(["A.swift"], files: ["A.swift": Self.source])
        #expect(run.code == 0 && run.errors.isEmpty, "\(run)")
        let document = try JSONValue(parsing: Array(run.output.utf8)).object
        #expect(document?["attributesType"] == "A" && document?.count == 3)
    }

    @Test func `a problem is on standard error with its place, and there is no contract`() throws {
        let run = try Program.run(["A.swift"], files: ["A.swift": "struct A: ActivityAttributes {\n}"])
        #expect(run.code == 1 && run.output.isEmpty)
        #expect(run.errors.hasPrefix("A.swift:1:1: error: `A` has no `ContentState`"), "\(run)")
    }

    @Test func `a warning does not keep the contract back`() throws {
        let source = "enum Place { \(Self.source) }"
        let run = try Program.run(["A.swift"], files: ["A.swift": source])
        #expect(run.code == 0 && !run.output.isEmpty)
        #expect(run.errors.hasPrefix("A.swift:1:14: warning: `Place.A` is declared inside another type"), "\(run)")
    }

    @Test func `a folder is read with all beneath it, and without what is hidden`() throws {
        let files = [
            "App/B.swift": "struct Step: Codable { var number: Int }",
            "App/Deep/A.swift": "struct A: ActivityAttributes { struct ContentState: Codable { var step: Step } }",
            "App/.build/Step.swift": "struct Step: Codable {}", "App/notes.txt": "struct Step {}",
            "App/Empty.swift": "", "App/Named.swift/None.swift": "// nothing",
        ]
        for folder in ["App", "App/"] {
            let run = try Program.run([folder], files: files)
            #expect(run.code == 0 && run.output.contains("\"number\""), "\(run)")
        }
        // Problems list the files in the order of their names, on every file system.
        let broken = ["App/a.swift": "struct {", "App/b.swift": "struct {", "App/c.swift": "struct {"]
        let lines = try Program.run(["App"], files: broken).errors.split(separator: "\n").map { $0.prefix(11) }
        #expect(lines == ["App/a.swift", "App/b.swift", "App/c.swift"])
    }

    @Test func `--type chooses among several, and one that is not there is refused`() throws {
        let files = ["A.swift": Self.source, "B.swift": Self.source.replacing("struct A", with: "struct B")]
        let chosen = try Program.run(["A.swift", "B.swift", "--type", "B"], files: files)
        #expect(chosen.code == 0 && chosen.output.contains(#""attributesType": "B""#), "\(chosen)")
        let several = try Program.run(["A.swift", "B.swift"], files: files)
        #expect(several.code == 1 && several.errors.contains("say which one with --type: `A`, `B`"), "\(several)")
        let none = try Program.run(["A.swift", "--type", "C"], files: files)
        #expect(none.code == 1 && none.errors.contains("there is no type `C`"), "\(none)")
    }

    @Test func `--schema says what the source does not`() throws {
        let files = [
            "A.swift": "struct A: ActivityAttributes { struct ContentState: Codable { var price: Money } }",
            "money.json": #"{"type": "integer"}"#, "broken.json": #"{"type": "#,
        ]
        let given = try Program.run(["A.swift", "--schema", "Money=money.json"], files: files)
        #expect(given.code == 0 && given.output.contains("integer"), "\(given)")
        for (option, words) in [
            ("Money", "TYPE=FILE is expected"), ("Money=none.json", "none.json cannot be read"),
            ("Money=broken.json", "broken.json: "),
        ] {
            let run = try Program.run(["A.swift", "--schema", option], files: files)
            #expect(run.code == 1 && run.output.isEmpty && run.errors.contains(words), "\(run)")
        }
    }

    @Test func `--check exits with 0 where nothing breaks, and with 2 and one line each where something does`() throws {
        let old = try Program.run(["A.swift"], files: ["A.swift": Self.source]).output
        let same = try Program.run(
            ["A.swift", "--check", "old.json"], files: ["A.swift": Self.source, "old.json": old])
        #expect(same.code == 0 && same.errors.isEmpty && same.output.hasPrefix("nothing breaks"), "\(same)")
        let source = Self.source.replacing("var step: Int", with: "var step: Int; var courier: String")
        let run = try Program.run(["--check", "old.json", "A.swift"], files: ["A.swift": source, "old.json": old])
        #expect(run.code == 2 && run.errors.isEmpty)
        #expect(
            run.output == """
                /contentState/courier: breaks running activities: it is new and required, and running cards were made \
                without it: make it optional

                """)
    }

    @Test(arguments: [
        ("{", "old.json: "), ("[]", "is no contract"), (#"{"type": "object"}"#, "is no contract"),
        (#"{"attributesType": "A", "contentState": 5}"#, "is no contract"), ("", "cannot be read, or is empty"),
    ])
    func `--check against what is no contract is an error, not a change`(old: String, words: String) throws {
        let run = try Program.run(
            ["A.swift", "--check", "old.json"], files: ["A.swift": Self.source, "old.json": old])
        #expect(run.code == 1 && run.output.isEmpty && run.errors.contains(words), "\(run)")
    }

    @Test func `what is not there, or empty, is named`() throws {
        for path in ["None.swift", "Empty.swift", "folder"] {
            let run = try Program.run([path], files: ["Empty.swift": "", "folder/notes.txt": "x"])
            #expect(run.code == 1 && run.output.isEmpty && run.errors.contains(path), "\(run)")
        }
        #expect(try Program.run([], files: [:]).code == 64)
        #expect(try Program.run(["--wrong", "A.swift"], files: ["A.swift": Self.source]).code == 64)
        let help = try Program.run(["--help"], files: [:])
        #expect(help.code == 0 && help.output.contains("--check"))
    }
}

/// One run of the tool in a folder of its own.
private struct Program: CustomStringConvertible {
    let code: Int32
    let output: String
    let errors: String

    var description: String { "exited with \(code)\n\(output)\n\(errors)" }

    static func run(_ arguments: [String], files: [String: String]) throws -> Program {
        let folder = FileManager.default.temporaryDirectory.appending(path: "contract-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        for (name, text) in files {
            let file = folder.appending(path: name)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: file)
        }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let (output, errors) = (folder.appending(path: ".output"), folder.appending(path: ".errors"))
        for file in [output, errors] { try Data().write(to: file) }
        let process = Process()
        process.executableURL = try executable
        process.arguments = arguments
        process.currentDirectoryURL = folder
        // Files, so that no pipe has to be emptied meanwhile.
        process.standardOutput = try FileHandle(forWritingTo: output)
        process.standardError = try FileHandle(forWritingTo: errors)
        try process.run()
        process.waitUntilExit()
        return Program(
            code: process.terminationStatus, output: try String(contentsOf: output, encoding: .utf8),
            errors: try String(contentsOf: errors, encoding: .utf8))
    }

    private static var executable: URL {
        get throws {
            let bundle = Bundle.allBundles.map(\.bundleURL).first { $0.pathExtension == "xctest" }
            let folder = bundle?.deletingLastPathComponent() ?? Bundle.main.bundleURL
            let executable = folder.appending(path: "islet-contract")
            try #require(FileManager.default.isExecutableFile(atPath: executable.path))
            return executable
        }
    }
}
