import APNSModel
import Foundation
import JSONText
import StorageSQL
import StorageSQLite
import Testing

@testable import islet

/// Command output for programs.
@Suite(.serialized) struct JSONOptionTests {
    /// Commands whose output is not an answer: they run until stopped, print a play or a measurement, or print a
    /// document with a form of its own.
    private static let others: Set<String> = [
        "serve", "demo", "simulate", "config reference", "keys new-ring",
    ]

    /// Returns each command without subcommands, by its words, with the long names of its options.
    private static func leaves(_ command: JSONObject, _ words: [String]) -> [(words: String, options: Set<String>)] {
        let children = (command["subcommands"]?.array ?? []).compactMap(\.object)
            .compactMap { child in child["commandName"]?.string.map { (child, $0) } }.filter { $0.1 != "help" }
        guard !children.isEmpty else {
            let names = (command["arguments"]?.array ?? []).flatMap { $0.object?["names"]?.array ?? [] }
            return [(words.joined(separator: " "), Set(names.compactMap { $0.object?["name"]?.string }))]
        }
        return children.flatMap { leaves($0.0, words + [$0.1]) }
    }

    @Test func `every command that answers something has --json`() async throws {
        let dump = try await Execution.of(["--experimental-dump-help"], in: try Folder())
        let tree = try #require(try JSONValue(parsing: dump.output).object?["command"]?.object)
        let leaves = Self.leaves(tree, []).filter { !$0.words.hasPrefix("bench ") }
        #expect(leaves.count > 20 && leaves.allSatisfy { $0.options.contains("help") }, "\(leaves)")
        for leaf in leaves {
            #expect(leaf.options.contains("json") != Self.others.contains(leaf.words), "islet \(leaf.words)")
        }
    }

    private func json(_ arguments: [String], in folder: Folder, code: Int32 = 0) async throws -> JSONObject {
        let run = try await Execution.of(arguments + ["--json"], in: folder)
        #expect(run.code == code && run.errors.isEmpty, "\(run)")
        #expect(run.output.hasSuffix("\n") && run.output.dropLast().allSatisfy { $0 != "\n" })
        return try #require(try JSONValue(parsing: run.output).object)
    }

    @Test func `a configuration and a contract are judged in JSON`() async throws {
        let folder = try Folder()
        try folder.write(Sample.file("listen: 0.0.0.0:80"), to: "islet.yaml")
        let good = try await json(["config", "check"], in: folder)
        #expect(good["isGood"] == true && good["problems"] == [] && good["warnings"]?.array?.isEmpty == false)
        #expect(good["means"]?.array?.isEmpty == false && good["file"] == "islet.yaml")
        try folder.write(Sample.file("listen: nowhere"), to: "islet.yaml")
        let bad = try await json(["config", "check"], in: folder, code: 1)
        let problem = try #require(bad["problems"]?.array?.first?.object)
        #expect(bad["isGood"] == false && problem["pointer"] == "/listen" && problem["line"] == 1)

        try folder.write(FullFile.contract, to: "order.json")
        let contract = ["contract", "check", "order.json"]
        #expect(
            try await json(contract, in: folder) == ["contract": "order.json", "attributesType": "OrderAttributes"])
        try folder.write(#"{"eta": "2026-03-01T12:00:00Z", "status": "ready"}"#, to: "state.json")
        let fits = try await json(contract + ["--state", "state.json"], in: folder)
        #expect(fits["state"]?.object?["encoded"] == ["eta": 794_059_200, "status": "ready"])
        try folder.write(#"{"eta": 0}"#, to: "state.json")
        let unfit = try await json(contract + ["--state", "state.json"], in: folder, code: 1)
        let problems = try #require(unfit["state"]?.object?["problems"]?.array)
        #expect(problems.count == 2 && problems[1].object?["pointer"] == "/status")
    }

    @Test func `a token, a backup, its way back and a rotation are told in JSON`() async throws {
        let folder = try Folder()
        try folder.write(Sample.file("listen: 127.0.0.1:0"), to: "islet.yaml")
        let token = try await json(["token"], in: folder)
        #expect(token["token"]?.string?.split(separator: ".").count == 3 && token["environment"] == "sandbox")
        try await RunningServer.with(folder) { _ in }
        let backup = try await json(["backup", "copy.db"], in: folder)
        #expect(backup["file"] == "copy.db" && backup["activities"] == 0 && (backup["bytes"]?.int ?? 0) > 4096)
        let restore = try await json(["restore", "copy.db"], in: folder)
        #expect(restore["heldStarts"] == 0 && restore["kept"]?.string?.isEmpty == false)
        #expect(restore["tokenKeys"] == nil && restore["startsAreKnown"] == false)
        #expect(restore["withdrawn"] == ["keys": 0, "devices": 0])
        let rotation = ["keys", "rotate-storage"]
        let rotated = try await json(rotation, in: folder)
        #expect(rotated["inUse"]?.array?.count == 2 && rotated["damaged"] == [:] && rotated["isResumed"] == false)
        let status = try await json(rotation + ["--status"], in: folder)
        let keys = status["keys"]?.array?.compactMap(\.object) ?? []
        #expect(keys.count == 4 && keys.filter { $0["isInUse"] == true }.count == 2)
        #expect(Set(keys.compactMap { $0["use"]?.string }) == ["seals", "looks-up"])
        let retired = try await json(rotation + ["--retire"], in: folder)
        #expect(retired["retired"]?.array?.count == 2 && retired["kept"] == [])
    }

    @Test func `an answer of APNs, and that there is none, are told in JSON`() throws {
        let id = PushID(random: 1, 2)
        let accepted = Send.json(.success(PushAnswer(status: 200)), id)
        #expect(accepted["isAccepted"] == true && accepted["apnsID"] == .string(id.description))
        let refused = Send.json(.success(PushAnswer(status: 400, reason: .known(.badDeviceToken))), id)
        #expect(refused["isAccepted"] == false && refused["status"] == 400 && refused["reason"] == "BadDeviceToken")
        let lost = Send.json(.failure(PushFailure(.unknownFate, "lost")), id)
        #expect(lost["failure"] == "unknownFate" && lost["isAccepted"] == false && lost["status"] == nil)
    }
}
