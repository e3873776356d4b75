import Foundation
import JSONText
import Testing

@testable import islet

@Suite(.serialized) struct KeysTests {
    private func folder() throws -> Folder {
        let folder = try Folder()
        try folder.write(Sample.file("listen: 127.0.0.1:0"), to: "islet.yaml")
        return folder
    }

    private func create(_ folder: Folder, scope: String = "backend") async throws -> String {
        let made = try await Execution.of(
            ["keys", "create", "--app", "com.acme.pizza", "--scope", scope], in: folder)
        #expect(made.code == 0 && made.errors.isEmpty)
        // Only the key is printed, so that a script can keep it.
        let key = try #require(made.output.wholeMatch(of: /(islet_[0-9A-Za-z]{12}_[-_0-9A-Za-z]{43})\n/)?.output.1)
        return String(key)
    }

    @Test func `a key is made, listed without its secret, and revoked, without a server`() async throws {
        let folder = try folder()
        let key = try await create(folder, scope: "device")
        let id = String(key.split(separator: "_")[1])
        let list = try await Execution.of(["keys", "list"], in: folder)
        #expect(list.code == 0)
        let lines = list.output.split(separator: "\n")
        #expect(
            lines.first?.hasPrefix("ID            SCOPE   APP             NAME  CREATED     LAST USED  STANDING")
                == true)
        #expect(lines.last?.hasPrefix("\(id)  device  com.acme.pizza  -     20") == true)
        #expect(list.output.hasSuffix("  never      valid\n"))
        #expect(!list.output.contains(key.suffix(43)))
        let revoked = try await Execution.of(["keys", "revoke", id], in: folder)
        #expect(revoked.code == 0 && revoked.output.isEmpty && revoked.errors.isEmpty)
        #expect(try await Execution.of(["keys", "list"], in: folder).output.contains("  revoked 20"))
        let again = try await Execution.of(["keys", "revoke", id], in: folder)
        #expect(again.code == 1 && again.errors == "Error: no valid key has the id `\(id)`\n")
    }

    @Test func `a key has a name and an end, is shown as such, and is erased when it is over`() async throws {
        let folder = try folder()
        @Sendable func run(_ arguments: String...) async throws -> Execution {
            try await Execution.of(["keys"] + arguments, in: folder)
        }
        func json(_ run: Execution) throws -> JSONValue { try JSONValue(parsing: Array(run.output.utf8)) }
        let made = try await run(
            "create", "--app", "com.acme.pizza", "--name", "order service", "--expires", "13d", "--json")
        let key = try #require(try json(made).object?["key"]?.string)
        let id = String(key.split(separator: "_")[1])
        let shown = try await run("show", id)
        #expect(shown.output.contains("name       order service\n"))
        #expect(shown.output.contains("standing   valid, expires in 1"))
        #expect(!shown.output.contains(key.suffix(43)))
        let object = try #require(try json(try await run("show", id, "--json")).object)
        #expect(object["standing"] == "valid" && object["expiresSoon"] == true && object["lastUsedAt"] == .null)
        #expect(object["key"] == nil && object["name"] == "order service")
        #expect(try json(try await run("list", "--json")).array?.map { $0.object?["id"]?.string } == [id])
        let short = try await run("create", "--app", "com.acme.pizza", "--expires", "1s")
        #expect(short.code == 0)
        let revoked = try await run("revoke", id, "--json")
        #expect(try json(revoked).object?["standing"] == "revoked")
        // An expired key stays in the list for a time, so that an old key can be recognized.
        #expect(try await run("prune").output == "0 keys erased\n")
        try await Waiting.until("the short key has expired", within: .seconds(30)) {
            try await run("list").output.contains("expired 20")
        }
        #expect(try await run("prune", "--older-than", "0s", "--json").output == #"{"erased":2}"# + "\n")
        #expect(try await run("list").output == "no keys; `islet keys create` makes one\n")
        #expect(try await run("list", "--json").output == "[]\n")
        #expect(try await run("show", id).errors == "Error: no key has the id `\(id)`\n")
    }

    @Test func `a key goes into a file of its owner alone, and is made once`() async throws {
        let folder = try folder()
        func create() async throws -> Execution {
            try await Execution.of(["keys", "create", "--app", "com.acme.pizza", "--output", "api-key"], in: folder)
        }
        let made = try await create()
        let text = try String(contentsOfFile: folder.path("api-key"), encoding: .utf8)
        let id = try #require(text.wholeMatch(of: /islet_([0-9A-Za-z]{12})_[-_0-9A-Za-z]{43}\n/)?.output.1)
        #expect(made.code == 0 && made.errors.isEmpty && made.output == "key \(id) is in api-key\n")
        #expect(FileLook.machine.mode(folder.path("api-key")) == 0o600)
        let again = try await create()
        #expect(again.code == 0 && again.output == "api-key is there already: no key was created\n")
        #expect(try String(contentsOfFile: folder.path("api-key"), encoding: .utf8) == text)
        let list = try await Execution.of(["keys", "list", "--json"], in: folder)
        #expect(try JSONValue(parsing: list.output).array?.count == 1)
    }

    @Test func `a key whose file cannot be written is revoked`() async throws {
        let folder = try folder()
        let run = try await Execution.of(
            ["keys", "create", "--app", "com.acme.pizza", "--output", "none/api-key"], in: folder)
        #expect(run.code == 1 && run.output.isEmpty)
        #expect(run.refusals == ["none/api-key cannot be made: No such file or directory"])
        #expect(try await Execution.of(["keys", "list"], in: folder).output.contains("  revoked 20"))
    }

    @Test func `beside a server, a device's credential is revoked`() async throws {
        let folder = try folder()
        try await RunningServer.with(folder) { server in
            let key = try await create(folder)
            let backend = JSONCaller(server.address) { key }
            let made = try await backend.call(
                .PUT, "/v1/devices/phone-1",
                [
                    // A phone with a token, as every real phone has. The token is read with the phone.
                    "user": "ada", "wantsCredential": true, "environment": "sandbox",
                    "deviceToken": .string(String(repeating: "a1", count: 32)),
                ])
            let credential = try #require(made.object?["credential"]?.string)
            let phone = JSONCaller(server.address) { credential }
            try await phone.call(.PUT, "/v1/devices/phone-1", [:])
            let revoked = try await Execution.of(["devices", "revoke", "phone-1"], in: folder)
            #expect(revoked.output == "1 credential of phone-1 revoked\n" && revoked.errors.isEmpty)
            do {
                try await phone.call(.PUT, "/v1/devices/phone-1", [:])
                Issue.record("it is taken")
            } catch let refusal as JSONCaller.Refusal {
                #expect(refusal.status == 401)
            }
            let nobody = try await Execution.of(["devices", "revoke", "phone-2"], in: folder)
            #expect(nobody.code == 1 && nobody.errors == "Error: com.acme.pizza has no device `phone-2`\n")
        }
    }

    @Test func `beside a server, a key works as soon as it is made, and not once it is revoked`() async throws {
        let folder = try folder()
        try await RunningServer.with(folder) { server in
            let key = try await create(folder)
            let caller = JSONCaller(server.address) { key }
            func status() async throws -> Int {
                do {
                    try await caller.call(.GET, "/v1/activities/none")
                    return 200
                } catch let refusal as JSONCaller.Refusal {
                    #expect(!refusal.description.contains(key.suffix(43)))
                    return refusal.status
                }
            }
            #expect(try await status() == 404)
            let id = String(key.split(separator: "_")[1])
            #expect(try await Execution.of(["keys", "revoke", id], in: folder).code == 0)
            #expect(try await status() == 401)
        }
    }

    @Test(arguments: [
        (["--app", "com.acme.cake"], "`com.acme.cake` is not an app of islet.yaml: it has com.acme.pizza"),
        (["--app", "not an id"], "`not an id` is not an app of islet.yaml: it has com.acme.pizza"),
        (
            ["--app", "com.acme.pizza", "--scope", "root"],
            "a scope is backend, device, read or admin, not `root`"
        ),
        (
            ["--app", "com.acme.pizza", "--expires", "soon"],
            "--expires is a time such as 90d or 12h, ten years at most, not `soon`"
        ),
        (
            ["--app", "com.acme.pizza", "--expires", "3651d"],
            "--expires is a time such as 90d or 12h, ten years at most, not `3651d`"
        ),
        (["--app", "com.acme.pizza", "--name", ""], "--name is 1 to 100 characters in one line"),
    ])
    func `a key for nobody, or for nothing, is not made`(_ arguments: [String], _ words: String) async throws {
        let folder = try folder()
        let run = try await Execution.of(["keys", "create"] + arguments, in: folder)
        #expect(run.code == 1 && run.output.isEmpty && run.errors == "Error: \(words)\n")
        #expect(!FileManager.default.fileExists(atPath: folder.path("islet.db")))
    }
}
