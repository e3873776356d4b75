import Foundation
import Testing

@testable import islet

/// `islet --version` says what a report of a fault needs.
struct VersionTests {
    @Test func `it is the version, and in brackets commit, configuration, compiler and platform`() {
        var build = BuildDescription()
        build.version = "1.2.3"
        build.commit = "31aed94c1a2b"
        build.configuration = "release"
        build.compiler = "Swift 6.3"
        build.platform = "linux x86_64"
        #expect(build.text == "islet 1.2.3 (commit 31aed94c1a2b, release, Swift 6.3, linux x86_64)")
        build.commit = nil
        #expect(build.text == "islet 1.2.3 (commit unknown, release, Swift 6.3, linux x86_64)")
    }

    @Test func `the executable says so, in one line`() async throws {
        let run = try await Execution.of(["--version"], in: try Folder())
        #expect(run.code == 0 && run.errors.isEmpty && run.output == BuildDescription().text + "\n")
        let form = /islet (\d+\.\d+\.\d+) \(commit (unknown|[0-9a-f]{12,}(-dirty)?), (debug|release), Swift 6\.\d.*\)\n/
        let match = try #require(run.output.wholeMatch(of: form), "\(run.output)")
        #expect(match.1 == Islet.version)
    }
}
