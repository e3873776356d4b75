import Foundation
import Synchronization
import Testing

/// The cost of a push, counted by a separate program (`push-cost`).
@Suite(.serialized, .timeLimit(.minutes(5)))
struct PushCostTests {
    private struct Measured: Decodable {
        var scenario: String
        var count: Int
        var statements: Int
        var rows: Int
        var commits: Int
        var bytes: Int
        var allocations: Int
    }

    @Test func `a push stays below its ceilings`() async throws {
        let measured = try await Self.run()
        #expect(Set(measured.map(\.scenario)) == Set(Ceilings.table.keys).union(["probe"]))
        for line in measured where line.scenario != "probe" {
            let ceiling = try #require(Ceilings.table[line.scenario])
            let numbers = [
                ("statements", line.statements, ceiling.statements), ("rows", line.rows, ceiling.rows),
                ("commits", line.commits, ceiling.commits), ("bytes", line.bytes, ceiling.bytes),
                ("allocations", line.allocations, ceiling.allocations),
            ]
            for (name, total, most) in numbers {
                let each = Double(total) / Double(line.count)
                #expect(each <= most, "\(line.scenario): \(each) \(name) each, \(most) allowed")
                // A count of zero would pass every gate.
                #expect(total > 0, "\(line.scenario): no \(name) were counted")
            }
        }
        // Each object is one allocation, and hardly anything else allocates meanwhile.
        let probe = try #require(measured.first { $0.scenario == "probe" })
        #expect((probe.count...probe.count + 100).contains(probe.allocations), "\(probe.allocations)")
    }

    private static func run() async throws -> [Measured] {
        let bundle = Bundle.allBundles.map(\.bundleURL).first { $0.pathExtension == "xctest" }
        let folder = bundle?.deletingLastPathComponent() ?? Bundle.main.bundleURL
        let process = Process()
        process.executableURL = folder.appendingPathComponent("push-cost")
        process.standardInput = FileHandle.nullDevice
        let output = Pipe()
        process.standardOutput = output
        let bytes = Mutex(Data())
        let (ended, end) = AsyncStream.makeStream(of: Void.self)
        output.fileHandleForReading.readabilityHandler = { handle in
            let data = handle.availableData
            if data.isEmpty {
                handle.readabilityHandler = nil
                end.finish()
            } else {
                bytes.withLock { $0.append(data) }
            }
        }
        try process.run()
        for await _ in ended {}
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        return try bytes.withLock { $0 }.split(separator: UInt8(ascii: "\n")).map { line in
            try JSONDecoder().decode(Measured.self, from: line)
        }
    }
}
