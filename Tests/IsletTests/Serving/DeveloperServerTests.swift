import Foundation
import Testing

@testable import islet

/// Tests of `islet serve --dev`.
struct DeveloperServerTests {
    @Test(.timeLimit(.minutes(2)))
    func `it makes a configuration of its own, and variables for another server change nothing`() async throws {
        let folder = try Folder()
        let stray = folder.path("stray.db")
        let process = try ChildProcess(
            "dev", executable: Execution.executable, arguments: ["serve", "--dev", "--port", "0"],
            environment: ["ISLET_STORAGE": "sqlite:\(stray)"], log: folder.url.appendingPathComponent("dev.log"))
        let line = try await process.firstLine(within: .seconds(60))
        await process.stop()
        #expect(line.contains("127.0.0.1"), "\(line)")
        #expect(!FileManager.default.fileExists(atPath: stray))
    }
}
