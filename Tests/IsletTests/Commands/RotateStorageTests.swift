import Foundation
import StorageSQL
import StorageSQLite
import Testing

@testable import islet

@Suite(.serialized) struct RotateStorageTests {
    private func folder(_ top: String = "") throws -> Folder {
        let folder = try Folder()
        try folder.write(Sample.file("listen: 127.0.0.1:0\n\(top)"), to: "islet.yaml")
        return folder
    }

    private func run(
        _ arguments: [String], _ folder: Folder, _ environment: [String: String] = [:]
    ) async throws -> Execution {
        try await Execution.of(["keys"] + arguments, in: folder, environment: environment)
    }

    @Test func `beside a server the keys are changed, counted and retired, and no secret is printed`() async throws {
        let folder = try folder()
        try await RunningServer.with(folder) { _ in
            let path = folder.path("islet.db.keys")
            let old = try #require(try TokenKeyFile.ring(at: path))
            let rotated = try await run(["rotate-storage"], folder)
            #expect(rotated.code == 0 && rotated.errors.isEmpty, "\(rotated)")
            #expect(rotated.output.hasPrefix("in use: s-"))
            let status = try await run(["rotate-storage", "--status"], folder)
            #expect(status.output.matches(of: /(?m)^s-[0-9a-f]{8}  seals  in use  0 rows$/).count == 1)
            #expect(status.output.matches(of: /(?m)^l-[0-9a-f]{8}  looks up  earlier  0 rows$/).count == 1)
            let retired = try await run(["rotate-storage", "--retire"], folder)
            #expect(retired.code == 0 && retired.output.matches(of: /(?m)^retired [sl]-/).count == 2)
            #expect(retired.output.contains("a backup that was made before may need it"))
            let ring = try #require(try TokenKeyFile.ring(at: path))
            let printed = rotated.output + status.output + retired.output
            for text in [old.text, ring.text] {
                for secret in text.matches(of: /"secret":"([^"]*)"/) {
                    #expect(!printed.contains(secret.output.1.prefix(10)))
                }
            }
            #expect(old.description != ring.description)
        }
    }

    @Test func `a server does not start without the keys of its database, and says which are missing`() async throws {
        let folder = try folder()
        try await RunningServer.with(folder) { _ in }
        let ring = try #require(try TokenKeyFile.ring(at: folder.path("islet.db.keys")))
        try FileManager.default.removeItem(atPath: folder.path("islet.db.keys"))
        let served = try await Execution.of(["serve"], in: folder)
        #expect(served.code == 1 && served.output.isEmpty)
        for id in ring.description.split(separator: ", ") { #expect(served.errors.contains("`\(id)`"), "\(served)") }
        #expect(!FileManager.default.fileExists(atPath: folder.path("islet.db.keys")))
        let doctor = try await Execution.of(["doctor", "--offline"], in: folder)
        #expect(doctor.code == 1 && doctor.output.contains("islet.db.keys are missing"))
    }

    @Test func `a ring goes into a file of its owner alone, and is made once`() async throws {
        let folder = try folder()
        let made = try await run(["new-ring", "--output", "ring.json"], folder)
        #expect(made.code == 0 && made.errors.isEmpty && made.output == "a new ring is in ring.json\n")
        // Others may not read it: then this would throw.
        let ring = try #require(try TokenKeyFile.ring(at: folder.path("ring.json")))
        let again = try await run(["new-ring", "--output", "ring.json"], folder)
        #expect(again.code == 0 && again.output == "ring.json is there already: no ring was made\n")
        #expect(try TokenKeyFile.ring(at: folder.path("ring.json"))?.text == ring.text)
    }

    @Test func `a ring for a variable is printed, and one with new keys in front of it`() async throws {
        let folder = try folder("tokenKeys: {environment: RING}")
        let text = try await run(["new-ring"], folder).output
        let ring = try TokenKeyRing(parsing: text, place: "here")
        let renewed = try await run(["new-ring", "--renewed"], folder, ["RING": text])
        #expect(
            try TokenKeyRing(parsing: renewed.output, place: "here").description.hasSuffix(ring.description) == false)
        #expect(ring.description.split(separator: ", ").allSatisfy { renewed.output.contains($0) })
        #expect(renewed.output.matches(of: /"id"/).count == 4)
    }
}
