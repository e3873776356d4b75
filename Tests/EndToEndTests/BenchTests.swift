import Foundation
import JSONText
import Testing

@testable import islet

/// The benchmarks at a tiny size: they run, count, and clean up. The figures themselves mean nothing here.
struct BenchTests {
    /// Figures of the fan-out that programs read.
    private static let figures = [
        "activities", "phones", "pushes", "seconds", "server_cpu_us_per_push", "peak_mb", "statements_per_push",
        "rows_per_push", "bytes_per_push", "commits", "registered_per_second", "database_mb", "start_seconds",
        "apns_bytes", "store_bytes", "statements", "rows",
    ]

    @Test(arguments: [(1, 50), (50, 1)])
    func `a small fan-out reaches every phone once, and its figures can be read`(
        activities: Int, phones: Int
    ) async throws {
        let rows = try await rows(["fanout", "--activities", "\(activities)", "--phones", "\(phones)"])
        let row = try #require(rows.first?.object)
        #expect(rows.count == 1)
        #expect(row["activities"]?.int == activities)
        #expect(row["phones"]?.int == phones)
        #expect(row["pushes"]?.int == 50)
        for name in Self.figures { #expect((row[name]?.double ?? -1) > 0, "\(name)") }
    }

    @Test func `a change on channels is one broadcast for each activity, beside a push for each phone by token`()
        async throws
    {
        let rows = try await rows(["fanout", "--activities", "2", "--phones", "60", "--channel"])
        let routes = rows.compactMap(\.object)
        try #require(routes.count == 2)
        let (token, channel) = (routes[0], routes[1])
        #expect(token["route"] == "token" && channel["route"] == "channel")
        #expect(token["pushes"]?.int == 120 && token["broadcasts"]?.int == 0)
        #expect(channel["pushes"]?.int == 0 && channel["broadcasts"]?.int == 2)
        for name in ["seconds", "apns_bytes", "store_bytes", "statements", "rows", "commits", "database_mb"] {
            #expect((channel[name]?.double ?? -1) > 0, "\(name)")
        }
        for name in ["apns_bytes", "rows"] {
            let (dear, cheap) = (token[name]?.int ?? 0, channel[name]?.int ?? .max)
            #expect(cheap < dear, "\(name): \(cheap) and \(dear)")
        }
    }

    @Test func `phones get far fewer pushes than a state has changes, and the last of them`() async throws {
        let rows = try await rows(["churn", "--phones", "5", "--seconds", "2", "--rate", "50"])
        let row = try #require(rows.first?.object)
        let (changes, pushes) = (row["changes"]?.int ?? 0, row["pushes"]?.int ?? 0)
        #expect(changes > 10)
        #expect(pushes >= 5 && pushes < changes * 5)
    }

    @Test func `after a day on which everything at Apple fails, every phone holds the newest state, and no more left`()
        async throws
    {
        let rows = try await rows(["bad-day", "--minutes", "0.1", "--activities", "20", "--rate", "20"])
        let phases = rows.compactMap(\.object)
        #expect(
            phases.compactMap { $0["phase"]?.string } == [
                "well", "5xx", "429", "one stream", "silence", "well again", "until all hold the newest",
            ])
        #expect(phases.last?["phones_behind"] == 0)
        #expect(phases.contains { ($0["phones_behind"]?.int ?? 0) > 0 }, "the faults were met")
    }

    @Test func `an APNs that stops answering is told of in time`() async throws {
        let rows = try await rows(["alarm", "--starts", "120", "--phones", "60", "--rate", "8", "--brief"])
        let row = try #require(rows.first?.object)
        let fired = row["fired_after_lag_seconds"]?.double ?? 1000
        #expect(fired > 0 && fired <= 60, "\(fired)")
        #expect(row["alerts"]?.string?.contains("IsletLate") == true)
        #expect((row["failed_attempts"]?.int ?? 0) > 0)
    }

    @Test func `each change of an order that is a call of its own is pushed once`() async throws {
        let rows = try await rows(["puts", "--activities", "40", "--rate", "0", "--callers", "4"])
        let row = try #require(rows.first?.object)
        for name in ["changes_per_second", "server_cpu_us_per_change", "statements_per_change", "call_p99_ms"] {
            #expect((row[name]?.double ?? -1) > 0, "\(name)")
        }
        #expect((row["lag_p99_ms"]?.double ?? -1) > 0)
    }

    @Test func `orders that changed in an outage have their newest state after it`() async throws {
        let rows = try await rows(["outage", "--activities", "60", "--minutes", "0.05"])
        let row = try #require(rows.first?.object)
        // Fewer rows than lanes: they wait for the route.
        #expect((row["rows_per_minute"]?.double ?? 10_000) < 60 * 20, "\(row)")
        #expect((row["recovery_seconds"]?.double ?? -1) > 0)
    }

    /// Runs a benchmark to its end and expects success.
    private func rows(_ arguments: [String]) async throws -> [JSONValue] {
        try await Turns.ofSystems.take { try await rowsNow(arguments) }
    }

    private func rowsNow(_ arguments: [String]) async throws -> [JSONValue] {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("islet-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let json = folder.appendingPathComponent("rows.json")
        let log = folder.appendingPathComponent("bench.log")
        let bench = try ChildProcess(
            "benchmark", executable: Executable.islet,
            arguments: ["bench"] + arguments + ["--json", json.path, "--directory", folder.path, "--limit", "120"],
            log: log)
        do {
            let code = try await bench.exitCode(within: .seconds(150))
            let words = try String(contentsOf: log, encoding: .utf8)
            #expect(code == 0, "\(words)")
        } catch {
            await bench.stop()
            throw error
        }
        // The folder of the database is removed with its content.
        let left = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(Set(left) == ["bench.log", "bench.out", "rows.json"])
        return try JSONValue(parsing: try Data(contentsOf: json)).array ?? []
    }
}
