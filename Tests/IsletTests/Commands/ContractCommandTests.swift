import Foundation
import LiveActivityCore
import Testing

@testable import islet

@Suite(.serialized) struct ContractCommandTests {
    private func folder() throws -> Folder {
        let folder = try Folder()
        try folder.write(FullFile.contract, to: "order.json")
        return folder
    }

    @Test func `a good contract is said to be one`() async throws {
        let run = try await Execution.of(["contract", "check", "order.json"], in: try folder())
        #expect(run.code == 0)
        #expect(run.output == "order.json is valid: a contract of OrderAttributes\n")
    }

    @Test func `a state that fits is printed as it is sent`() async throws {
        let folder = try folder()
        try folder.write(#"{"eta": "2026-03-01T12:00:00Z", "status": "ready"}"#, to: "state.json")
        let run = try await Execution.of(["contract", "check", "order.json", "--state", "state.json"], in: folder)
        #expect(run.code == 0 && run.errors.isEmpty)
        #expect(run.output == #"{"eta":794059200,"status":"ready"}"# + "\n")
    }

    @Test func `what does not fit is said with its place, and the exit code is 1`() async throws {
        let folder = try folder()
        try folder.write(#"{"eta": 0}"#, to: "state.json")
        let run = try await Execution.of(["contract", "check", "order.json", "--state", "state.json"], in: folder)
        #expect(run.code == 1 && run.output.isEmpty)
        let lines = run.errors.split(separator: "\n")
        #expect(lines.count == 2)
        #expect(lines.first?.hasPrefix("state.json: /eta: Date (") == true)
        #expect(lines.last == "state.json: /status: a string expected, missing")
    }

    @Test(arguments: [
        ("{", "line 1, column 2"),
        (#"{"attributesType": "A", "contentState": {"allOf": []}}"#, "/contentState/allOf: "),
        ("[]", "an object with `attributesType`"),
    ])
    func `a file that is no contract is refused with the place`(text: String, words: String) async throws {
        let folder = try folder()
        try folder.write(text, to: "bad.json")
        let run = try await Execution.of(["contract", "check", "bad.json"], in: folder)
        #expect(run.code == 1)
        #expect(run.refusals.first?.hasPrefix("bad.json: \(words)") == true, "\(run.errors)")
        let none = try await Execution.of(["contract", "check", "none.json"], in: folder)
        #expect(none.refusals == ["none.json cannot be read, or is empty"])
    }

    @Test func `a configuration names a contract beside it, of the same Swift type`() throws {
        let folder = try folder()
        let types = "[\(Sample.type(more: ", contract: order.json"))]"
        let yaml = Sample.file(apps: "[\(Sample.app(types: types))]")
        let place = "/apps/0/activities/0/contract"
        #expect(try folder.load(yaml).apps[0].types["Order"]?.contract != nil)
        let missing = try #require(try folder.error(yaml.replacing("order.json", with: "none.json")))
        #expect(missing.pointer == place && missing.problem.contains("none.json cannot be read"))
        let other = try #require(try folder.error(yaml.replacing("OrderAttributes", with: "OtherAttributes")))
        #expect(other.pointer == place && other.problem.contains("`OrderAttributes`"))
        try folder.write(FullFile.contract.replacing("\"type\": \"object\"", with: "\"typ\": 1"), to: "order.json")
        let bad = try #require(try folder.error(yaml))
        #expect(bad.pointer == place && bad.problem.contains("/contentState/typ: "), "\(bad.problem)")
    }
}
