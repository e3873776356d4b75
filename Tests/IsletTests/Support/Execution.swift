import Foundation

@testable import islet

/// The result of one run of the executable.
struct Execution: Sendable {
    let code: Int32
    let output: String
    let errors: String

    /// Runs the executable to its end.
    static func of(
        _ arguments: [String], in folder: Folder, environment: [String: String] = [:], executable: URL? = nil,
        limit: Duration = .seconds(120)
    ) async throws -> Execution {
        let executable = try executable ?? Self.executable
        let id = UUID().uuidString
        let output = try folder.write("", to: "\(id).out")
        let errors = try folder.write("", to: "\(id).err")
        let process = try Spawned(
            executable, arguments, environment: ProcessInfo.processInfo.environment.merging(environment) { $1 },
            in: folder.url, output: URL(fileURLWithPath: output), errors: URL(fileURLWithPath: errors))
        do {
            try await Waiting.until("\(arguments) ends", within: limit) { !process.isRunning }
        } catch {
            process.send(SIGKILL)
            throw error
        }
        return Execution(
            code: process.exitCode ?? -1, output: try String(contentsOfFile: output, encoding: .utf8),
            errors: try String(contentsOfFile: errors, encoding: .utf8))
    }

    /// The lines that say why it failed.
    var refusals: [String] {
        errors.split(separator: "\n").filter { $0.hasPrefix("Error: ") }.map { String($0.dropFirst("Error: ".count)) }
    }

    /// The program beside the test bundle.
    static var executable: URL {
        get throws {
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

/// A server as a process of its own.
struct RunningServer {
    let process: ChildProcess
    let address: String
    let log: URL

    static func start(_ folder: Folder, config: String = "islet.yaml") async throws -> RunningServer {
        let log = folder.url.appendingPathComponent("\(UUID().uuidString).log")
        let process = try ChildProcess(
            "server", executable: Execution.executable, arguments: ["serve", "--config", folder.path(config)], log: log)
        let line = try await process.firstLine(within: .seconds(30))
        guard let address = line.split(separator: " ").last else { throw DemoFailure("no address in \(line)") }
        return RunningServer(process: process, address: String(address), log: log)
    }

    /// Runs a server on a free port while the body runs.
    static func with(_ folder: Folder, _ body: (RunningServer) async throws -> Void) async throws {
        let server = try await start(folder)
        do {
            try await body(server)
        } catch {
            await server.process.stop()
            throw error
        }
        await server.process.stop()
    }
}
