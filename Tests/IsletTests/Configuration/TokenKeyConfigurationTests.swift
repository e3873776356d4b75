import Foundation
import StorageSQL
import StorageSQLite
import Testing

@testable import islet

struct TokenKeyConfigurationTests {
    private static func ring(_ folder: Folder, mode: Int = 0o600) throws -> String {
        let path = try folder.write(TokenKeyRing.fresh().text, to: "ring.json")
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        return path
    }

    @Test func `a ring in a file is found beside the configuration, and is not made`() throws {
        let folder = try Folder()
        let path = try Self.ring(folder)
        let settings = try folder.load(Sample.file("tokenKeys: {file: ring.json}"))
        guard case .file(path, isMade: false) = settings.tokenKeys else {
            Issue.record("the ring is \(settings.tokenKeys)")
            return
        }
    }

    @Test(arguments: [
        ("{file: none.json}", "/tokenKeys/file", "`islet keys new-ring` prints"),
        ("{file: key.p8}", "/tokenKeys/file", "others may read"),
        ("{file: ring.json, environment: RING}", "/tokenKeys", "either as file or as environment"),
        ("{environment: NONE}", "/tokenKeys/environment", "NONE is not set"),
        ("{environment: BAD}", "/tokenKeys/environment", "of the variable BAD are not a valid key ring"),
        ("{environment: 'c2VjcmV0IHNlY3JldA=='}", "/tokenKeys/environment", "the name of an environment variable"),
        ("{file: '{\"sealing\": \"c2VjcmV0\"}'}", "/tokenKeys/file", "not its text"),
    ])
    func `what is no ring is refused where it stands, and nothing of it is quoted`(
        value: String, pointer: String, words: String
    ) throws {
        let folder = try Folder()
        _ = try Self.ring(folder)
        let error = try #require(
            try folder.error(
                Sample.file("tokenKeys: \(value)"), ["RING": TokenKeyRing.fresh().text, "BAD": "c2VjcmV0 {"]))
        #expect(error.pointer == pointer && error.problem.contains(words), "\(error)")
        #expect(!error.description.contains("c2VjcmV0"))
    }
}
