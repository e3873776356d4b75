import Foundation
import JSONText
import LiveActivityAPI
import TestSupport
import Testing

@testable import islet

/// A full disk: a small in-memory file system, in a mount namespace of its own.
@Suite(.serialized, .enabled("this system lets nobody make a mount namespace") { try await SmallDisk.isExpected() })
struct DiskFullTests {
    @Test func `on a full disk changes are refused and nothing is lost; with room again everything goes on`()
        async throws
    {
        let disk = try await SmallDisk(megabytes: 4)
        defer { disk.remove() }
        try await withStage(disk.surroundings) { stage in
            try await stage.addKilledPhone()
            var last = try await stage.setOrder("ready")
            try await stage.shows("ready")

            try disk.fill()
            let refused = try await refusal {
                // The free space in SQLite's log is used up first.
                for number in 0..<200 { last = try await stage.setOrder(["preparing", "picked_up"][number % 2]) }
            }
            #expect(refused?.status == 503, "\(String(describing: refused))")
            #expect(refused?.detail.contains("nothing was changed") == true, "\(String(describing: refused))")
            let view = try await stage.viewOrder()
            #expect(view.revision == last, "reads go on, and what was refused was not done")
            #expect(stage.isServerRunning)
            // A server that starts on a full disk reports it and does no harm.
            try await stage.crashServer()
            #expect(try await stage.viewOrder().revision == view.revision, "what was answered is there")
            _ = try await refusal { _ = try await stage.setOrder("preparing") }

            try disk.makeRoom()
            try await stage.setOrder("delivering")
            try await stage.shows("delivering")
        }
    }
}

/// A file system of a few megabytes in which our processes can be started.
struct SmallDisk {
    private let directory: URL
    private let holder: ChildProcess

    /// Returns `true` if tests that need the disk run: where it is possible, and always in CI, to fail there.
    static func isExpected() async throws -> Bool {
        if ProcessInfo.processInfo.environment["CI"] != nil { return true }
        return try await isPossible()
    }

    private static func isPossible() async throws -> Bool {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("islet-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let trial = try ChildProcess(
            "trial", executable: URL(fileURLWithPath: "/usr/bin/unshare"), arguments: ["-rm", "true"],
            log: folder.appendingPathComponent("trial.log"))
        return try await trial.exitCode(within: .seconds(20)) == 0
    }

    init(megabytes: Int) async throws {
        directory = FileManager.default.temporaryDirectory.appendingPathComponent("islet-disk-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        holder = try ChildProcess(
            "disk", executable: URL(fileURLWithPath: "/usr/bin/unshare"),
            arguments: [
                "-rm", "sh", "-c", #"mount -t tmpfs -o size="$0"m none "$1" && echo ready && exec sleep 1000"#,
                String(megabytes), directory.path,
            ], log: directory.deletingLastPathComponent().appendingPathComponent("\(directory.lastPathComponent).log"))
        _ = try await holder.firstLine(within: .seconds(20))
    }

    /// Starts processes where the disk is visible, and the server with its database on it.
    var surroundings: DemoStage.Surroundings {
        DemoStage.Surroundings(
            command: [
                "/usr/bin/nsenter", "--target", String(holder.identifier), "--user", "--mount",
                "--preserve-credentials", "--",
            ],
            environment: ["ISLET_STORAGE": "sqlite:\(directory.path)/islet.db"])
    }

    /// The disk's path for processes outside its namespace.
    private var seenFromOutside: String { "/proc/\(holder.identifier)/root\(directory.path)" }

    func fill() throws { try Self.fill(seenFromOutside) }

    func makeRoom() throws { try Self.makeRoom(seenFromOutside) }

    /// Fills the disk of a directory to the last byte.
    static func fill(_ directory: String) throws {
        let file = open("\(directory)/filler", O_CREAT | O_WRONLY | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw DemoFailure("the disk cannot be reached") }
        defer { close(file) }
        var size = 1 << 16
        while size > 0 {
            let written = Array(repeating: UInt8(0), count: size).withUnsafeBytes { write(file, $0.baseAddress, size) }
            if written < size { size /= 2 }
        }
    }

    /// Takes away what has filled the disk of a directory.
    static func makeRoom(_ directory: String) throws {
        guard unlink("\(directory)/filler") == 0 else { throw DemoFailure("the disk cannot be reached") }
    }

    func remove() {
        holder.kill()
        let parent = directory.deletingLastPathComponent()
        for suffix in ["", ".log", ".out"] {
            try? FileManager.default.removeItem(
                at: parent.appendingPathComponent(directory.lastPathComponent + suffix))
        }
    }
}
