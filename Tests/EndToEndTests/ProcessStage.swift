import Foundation

@testable import islet

/// Runs a server and a simulator as processes, in a directory that is removed.
func withStage(
    _ surroundings: DemoStage.Surroundings = DemoStage.Surroundings(), in folder: URL? = nil,
    play: any Play = OrderPlay(), executable: URL? = nil, _ body: (DemoStage) async throws -> Void
) async throws {
    try await Turns.ofSystems.take { try await withStageNow(surroundings, in: folder, play, executable, body) }
}

private func withStageNow(
    _ surroundings: DemoStage.Surroundings, in folder: URL?, _ play: any Play, _ executable: URL?,
    _ body: (DemoStage) async throws -> Void
) async throws {
    let directory =
        folder ?? FileManager.default.temporaryDirectory.appendingPathComponent("islet-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let stage = try await DemoStage(
        directory: directory, startGrace: "0s", executable: executable ?? Executable.islet, play: play,
        surroundings: surroundings)
    do {
        try await body(stage)
    } catch {
        await stage.close()
        throw error
    }
    await stage.close()
}

enum Executable {
    /// The program beside the test bundle, or the one that the environment names. `script/crash` uses a release build.
    static var islet: URL {
        get throws {
            if let path = ProcessInfo.processInfo.environment["CRASH_EXECUTABLE"] { return URL(fileURLWithPath: path) }
            let bundle = Bundle.allBundles.map(\.bundleURL).first { $0.pathExtension == "xctest" }
            let folder = bundle?.deletingLastPathComponent() ?? Bundle.main.bundleURL
            let executable = folder.appendingPathComponent("islet")
            guard FileManager.default.isExecutableFile(atPath: executable.path) else {
                throw DemoFailure("no islet executable in \(folder.path)")
            }
            return executable
        }
    }
}
