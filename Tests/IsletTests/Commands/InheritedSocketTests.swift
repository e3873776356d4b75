import Foundation
import Testing

@testable import islet

@Suite(.serialized) struct InheritedSocketTests {
    @Test func `a socket is taken when it was handed to this very process`() throws {
        #expect(try InheritedSocket.descriptor(["LISTEN_FDS": "1", "LISTEN_PID": "77"], process: 77) == 3)
        #expect(try InheritedSocket.descriptor(["LISTEN_FDS": "1", "LISTEN_PID": "76"], process: 77) == nil)
        #expect(try InheritedSocket.descriptor(["LISTEN_FDS": "1"], process: 77) == nil)
        #expect(try InheritedSocket.descriptor([:], process: 77) == nil)
    }

    @Test(arguments: ["0", "2", "", "one"]) func `any other number of sockets is refused`(count: String) {
        #expect(throws: CommandError.self) {
            try InheritedSocket.descriptor(["LISTEN_FDS": count, "LISTEN_PID": "77"], process: 77)
        }
    }

    /// A short form of `script/rolling-restart`: real processes, a socket that outlives them, and no call that fails.
    @Test(.timeLimit(.minutes(5))) func `restarts under load fail no call, and take each write once`() async throws {
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../script/rolling-restart").standardizedFileURL
        let run = try await Execution.of(
            ["python3", script.path, "--islet", Execution.executable.path, "--restarts", "3", "--writers", "2"],
            in: Folder(), executable: URL(fileURLWithPath: "/usr/bin/env"), limit: .seconds(240))
        #expect(run.code == 0, "\(run.output) \(run.errors)")
        #expect(run.output.contains(#""restarts": 3"#) && run.output.contains(#""failed": 0"#), "\(run.output)")
    }
}
