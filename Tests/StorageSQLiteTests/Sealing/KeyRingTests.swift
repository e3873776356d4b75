import Foundation
import LiveActivityCore
import LiveActivityStorage
import TestSupport
import Testing

@testable import StorageSQL
@testable import StorageSQLite

struct KeyRingTests {
    @Test func `a ring is what its text says, and new keys go in front`() throws {
        let ring = TokenKeyRing.fresh()
        let read = try TokenKeyRing(parsing: ring.text, place: "here")
        #expect(read.text == ring.text && read.keys.map(\.id) == ring.keys.map(\.id))
        #expect(ring.keys.map(\.use) == [.sealing, .lookUp])
        let renewed = try ring.renewed()
        let again = try TokenKeyRing(parsing: renewed.text, place: "here")
        #expect(again.keys.count == 4)
        for use in TokenKey.Use.allCases {
            let old = try #require(ring.first(use))
            #expect(again.first(use)?.id != old.id && again[old.id, use]?.proof == old.proof)
        }
        #expect(TokenKeyRing.fresh().text != ring.text)
    }

    @Test func `a ring that is full is not made one that cannot be read`() throws {
        var ring = TokenKeyRing.fresh()
        for _ in 1..<TokenKeyRing.maximumKeys { ring = try ring.renewed() }
        #expect(try TokenKeyRing(parsing: ring.text, place: "here").keys.count == 2 * TokenKeyRing.maximumKeys)
        #expect(throws: TokenKeyProblem.full) { try ring.renewed() }
    }

    @Test func `what is printed of a ring, a key or a source is its ids`() throws {
        let ring = TokenKeyRing.fresh()
        let secrets = ring.keys.map(\.text)
        var dumped = ""
        dump((ring, ring.keys, TokenKeySource.given(ring, name: "X")), to: &dumped)
        for text in [dumped, "\(ring)", String(reflecting: ring.keys), "\(TokenKeySource.given(ring, name: "X"))"] {
            for secret in secrets { #expect(!text.contains(secret.prefix(12))) }
            #expect(text.contains(try #require(ring.keys.first?.id)))
        }
    }

    private static let secret = Data(repeating: 7, count: 32).base64EncodedString()
    private static func text(_ sealing: String, _ lookUp: String = #"[{"id": "l", "secret": "\#(secret)"}]"#) -> String
    {
        #"{"sealing": \#(sealing), "lookUp": \#(lookUp)}"#
    }

    private static let malformed: [(text: String, words: String)] = [
        ("", "not JSON"), ("{", "not JSON"), ("[]", "an object"), ("{}", "/sealing"),
        (#"{"sealing": [], "lookUp": [], "more": 1}"#, "an object of"), (text("[]"), "/sealing: a list of 1 to 32"),
        (text("[1]"), "/sealing/0: an object"), (text(#"[{"id": "s"}]"#), "/sealing/0: an object"),
        (text(#"[{"id": "s", "secret": "c2hvcnQ="}]"#), "/sealing/0/secret: 32 bytes in base64"),
        (text(#"[{"id": "s", "secret": "?"}]"#), "/sealing/0/secret"),
        (text(#"[{"id": "", "secret": "\#(secret)"}]"#), "/sealing/0/id"),
        (text(#"[{"id": "a b", "secret": "\#(secret)"}]"#), "/sealing/0/id"),
        (
            text(#"[{"id": "s", "secret": "\#(secret)"}, {"id": "s", "secret": "\#(secret)"}]"#),
            "/sealing/1/id: `s` appears twice"
        ), (text(#"[{"id": "l", "secret": "\#(secret)"}]"#), "`l` appears twice"),
        (String(repeating: " ", count: TokenKeyRing.maximumBytes + 1), "more than"),
    ]

    @Test(arguments: malformed) func `what is no ring is refused, and nothing of it is quoted`(
        text: String, words: String
    ) throws {
        let problem = try #require(throws: TokenKeyProblem.self) { _ = try TokenKeyRing(parsing: text, place: "of X") }
        #expect(problem.description.contains(words), "\(problem)")
        #expect(problem.description.hasPrefix("the token keys of X are not a valid key ring: "))
        #expect(!problem.description.contains(Self.secret.prefix(12)))
    }

    // MARK: - Opening

    private static func opening(
        _ path: String, _ source: TokenKeySource? = nil
    ) -> TokenKeyProblem? {
        do throws(StorageError) {
            try SQLStore(path: path, tokenKeys: source).close()
            return nil
        } catch {
            if case .tokenKeys(let problem) = error { return problem }
            return .notLoaded
        }
    }

    @Test func `a new database gets a ring of its owner's alone, and says so once`() throws {
        try withFolder { path in
            let store = try SQLStore(path: path)
            #expect(store.madeTokenKeys == path + ".keys")
            store.close()
            let mode = try FileManager.default.attributesOfItem(atPath: path + ".keys")[.posixPermissions]
            #expect(mode as? Int == 0o600)
            let again = try SQLStore(path: path)
            #expect(again.madeTokenKeys == nil)
            again.close()
        }
    }

    @Test func `without its ring a database is not opened, and no other ring is made`() throws {
        try withFolder { path in
            try SQLStore(path: path).close()
            let ring = try #require(try TokenKeyFile.ring(at: path + ".keys"))
            try FileManager.default.removeItem(atPath: path + ".keys")
            let problem = try #require(Self.opening(path))
            #expect(problem == .missingRing(place: path + ".keys", keys: ring.keys.map(\.id)))
            for key in ring.keys { #expect(problem.description.contains("`\(key.id)`")) }
            #expect(!FileManager.default.fileExists(atPath: path + ".keys"))
            // Access that does not involve tokens still works.
            try SQLStore(path: path, access: .administration).close()
            #expect(Self.opening(path, .given(ring, name: "X")) == nil)
        }
    }

    @Test func `a ring that lacks a key, or has another under its name, is refused by that key's id`() throws {
        try withFolder { path in
            let ring = try TokenKeyRing.fresh().renewed()
            try SQLStore(path: path, tokenKeys: .given(ring, name: "X")).close()
            for key in [ring.first(.sealing), ring.first(.lookUp)].compactMap(\.self) {
                let lacking = ring.without([key.id])
                #expect(
                    Self.opening(path, .given(lacking, name: "X"))
                        == .missingKeys([key.id], place: "of the variable X"))
                let other = ring.text.replacing(key.text, with: Data(repeating: 9, count: 32).base64EncodedString())
                #expect(
                    Self.opening(path, .given(try TokenKeyRing(parsing: other, place: ""), name: "X"))
                        == .wrongKeys([key.id], place: "of the variable X"))
            }
            // The earlier keys have no row, so they are not missed.
            let first = Set([ring.first(.sealing), ring.first(.lookUp)].compactMap(\.?.id))
            let rest = Set(ring.keys.map(\.id)).subtracting(first)
            #expect(Self.opening(path, .given(ring.without(rest), name: "X")) == nil)
        }
    }

    @Test(arguments: [0o604, 0o602, 0o620, 0o644, 0o666]) func `a ring that others may read or change is refused`(
        mode: Int
    ) throws {
        try withFolder { path in
            try SQLStore(path: path).close()
            let keys = path + ".keys"
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: keys)
            #expect(Self.opening(path) == .exposed(path: keys, mode: String(mode, radix: 8)))
            try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: keys)
            #expect(Self.opening(path) == nil)
        }
    }

    @Test func `a ring that was named and is not there is not made`() throws {
        try withFolder { path in
            guard case .unreadable(let place, let detail) = Self.opening(path, .file(path + ".ring", isMade: false))
            else {
                Issue.record("it was taken")
                return
            }
            #expect(place == path + ".ring" && detail.contains("islet keys new-ring"))
            #expect(!FileManager.default.fileExists(atPath: path + ".ring"))
        }
    }

    @Test func `a ring is replaced in one step, where a link leads, and keeps its mode`() throws {
        try withFolder { path in
            #expect(try TokenKeyFile.make(.fresh(), at: path))
            #expect(try !TokenKeyFile.make(.fresh(), at: path), "there is one")
            try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: path)
            try FileManager.default.createSymbolicLink(atPath: path + ".link", withDestinationPath: path)
            let ring = try #require(try TokenKeyFile.ring(at: path)).renewed()
            try TokenKeyFile.replace(path + ".link", with: ring)
            #expect(try TokenKeyFile.ring(at: path)?.text == ring.text)
            #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o640)
            let folder = URL(filePath: path).deletingLastPathComponent().path
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder).count == 2, "nothing else is left")
        }
    }

    private func withFolder(_ body: (String) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "islet-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try body(folder.appending(path: "islet.db").path)
    }
}
