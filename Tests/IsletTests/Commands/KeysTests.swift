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
        // Nothing but the key, so that a script can keep it.
        let key = try #require(made.output.wholeMatch(of: /(islet_[0-9A-Za-z]{12}_[-_0-9A-Za-z]{43})\n/)?.output.1)
        return String(key)
    }

    @Test func `a key is made, listed without its secret, and revoked, without a server`() async throws {
        let folder = try folder()
        let key = try await create(folder, scope: "device")
        let id = String(key.split(separator: "_")[1])
        let list = try await Execution.of(["keys", "list"], in: folder)
        #expect(list.code == 0)
        #expect(list.output.hasPrefix("\(id)  device  com.acme.pizza  created 20"))
        #expect(list.output.hasSuffix("  valid\n"))
        #expect(!list.output.contains(key.suffix(43)))
        let revoked = try await Execution.of(["keys", "revoke", id], in: folder)
        #expect(revoked.code == 0 && revoked.output.isEmpty && revoked.errors.isEmpty)
        #expect(try await Execution.of(["keys", "list"], in: folder).output.contains("  revoked 20"))
        let again = try await Execution.of(["keys", "revoke", id], in: folder)
        #expect(again.code == 1 && again.errors == "Error: no valid key has the id `\(id)`\n")
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
    ])
    func `a key for nobody, or for nothing, is not made`(_ arguments: [String], _ words: String) async throws {
        let folder = try folder()
        let run = try await Execution.of(["keys", "create"] + arguments, in: folder)
        #expect(run.code == 1 && run.output.isEmpty && run.errors == "Error: \(words)\n")
        #expect(!FileManager.default.fileExists(atPath: folder.path("islet.db")))
    }
}
