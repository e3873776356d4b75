import APNSModel
import APNSSimulator
import Crypto
import Foundation
import Testing

@testable import islet

/// The files of a simulator that a server's configuration names.
struct SimulatorFilesTests {
    @Test func `a simulator keeps its provider key from run to run, for its owner alone`() throws {
        let folder = try Folder()
        let first = try SimulatorFiles.key(in: folder.url)
        let again = try SimulatorFiles.key(in: folder.url)
        #expect(first.keyID == "SIMULATOR1" && first.teamID == first.keyID && first.environments == [.sandbox])
        #expect(first.publicKey.rawRepresentation == again.publicKey.rawRepresentation)
        #expect(FileLook.machine.mode(folder.path("AuthKey_SIMULATOR1.p8")) == 0o600)
        try folder.write("no key", to: "AuthKey_SIMULATOR1.p8")
        let error = #expect(throws: CommandError.self) { try SimulatorFiles.key(in: folder.url) }
        #expect(error?.description.hasSuffix("remove it, and the simulator makes another") == true)
        #expect(try String(contentsOfFile: folder.path("AuthKey_SIMULATOR1.p8"), encoding: .utf8) == "no key")
    }
}
