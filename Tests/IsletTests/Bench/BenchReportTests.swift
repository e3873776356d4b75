import Foundation
import JSONText
import Testing

@testable import islet

/// The report at the end of a benchmark.
struct BenchReportTests {
    private static let population = Population(activities: 2, phones: 3)

    private static func use(cpu: Double, resident: Int, peak: Int, written: Int?) throws -> ProcessUse {
        let ticks = Int(cpu * 100)
        return try ProcessUse(
            stat: "1 (islet) S 1 1 1 0 -1 0 0 0 0 0 \(ticks) 0 0",
            status: "VmRSS: \(resident) kB\nVmHWM: \(peak) kB\n", io: written.map { "write_bytes: \($0)\n" },
            ticksPerSecond: 100)
    }

    private static func change(
        pushes: Int = 6, broadcasts: Int = 0, metrics: (String, String), written: Int?
    ) throws -> Fanout.Change {
        Fanout.Change(
            pushes: pushes, seconds: 0.5,
            before: try use(cpu: 1, resident: 1000, peak: 3000, written: written.map { _ in 100 }),
            after: try use(cpu: 1.06, resident: 2000, peak: 4000, written: written),
            metrics: (MetricsText(metrics.0), MetricsText(metrics.1)), broadcasts: broadcasts, apnsBytes: 900)
    }

    private static let registration = Fanout.Registration(
        seconds: 2, cpuSeconds: 0.6, databaseBytes: 3_000_000, startSeconds: 0.25)

    private static let metrics = (
        "islet_store_statements_total 10\nislet_store_commits_total 4\n",
        "islet_store_statements_total 40\nislet_store_rows_written_total 12\n"
            + "islet_store_bytes_written_total 600\nislet_store_commits_total 7\n"
    )

    @Test func `a row of the fan-out divides by the pushes, and has the names that programs read`() throws {
        let row = FanoutRow(Self.population, Self.registration, try Self.change(metrics: Self.metrics, written: 700))
        let figures = try BenchReport.figures(row)
        let expected: [String: Double] = [
            "activities": 2, "phones": 3, "pushes": 6, "broadcasts": 0, "seconds": 0.5, "pushes_per_second": 12,
            "server_cpu_ms": 60, "apns_bytes": 900, "store_bytes": 600, "statements": 30, "rows": 12,
            "server_cpu_us_per_push": 10_000, "core_seconds_per_million": 10_000, "statements_per_push": 5,
            "rows_per_push": 2, "bytes_per_push": 100, "disk_bytes_per_push": 100, "commits": 3, "rss_before_mb": 1,
            "peak_mb": 4.1, "registered_per_second": 3, "server_cpu_us_per_registration": 100_000, "database_mb": 3,
            "start_seconds": 0.25,
        ]
        #expect(Set(figures.keys) == Set(expected.keys).union(["storage", "route"]))
        #expect(figures["storage"] == "sqlite")
        #expect(figures["route"] == "token")
        for (name, value) in expected { #expect(figures[name]?.double == value, "\(name)") }
    }

    @Test func `a row by channel has the figures of the whole change, and none of a push`() throws {
        let change = try Self.change(pushes: 0, broadcasts: 2, metrics: Self.metrics, written: 700)
        let population = Population(activities: 2, phones: 3, route: .channel)
        let figures = try BenchReport.figures(FanoutRow(population, Self.registration, change))
        #expect(figures["route"] == "channel")
        let expected: [String: Double] = [
            "pushes": 0, "broadcasts": 2, "server_cpu_ms": 60, "apns_bytes": 900, "store_bytes": 600, "rows": 12,
        ]
        for (name, value) in expected { #expect(figures[name]?.double == value, "\(name)") }
        #expect(!figures.keys.contains { $0.contains("_per_push") || $0 == "pushes_per_second" })
        let due = FanoutRoute.channel.due(population, activities: 1)
        #expect(due.pushes == 0 && due.broadcasts == 1)
    }

    @Test func `what could not be measured is left out, and never a guess`() throws {
        let row = FanoutRow(Self.population, Self.registration, try Self.change(metrics: ("", ""), written: nil))
        let names = try BenchReport.figures(row).keys
        for name in [
            "statements_per_push", "rows_per_push", "bytes_per_push", "disk_bytes_per_push", "commits", "statements",
            "rows", "store_bytes",
        ] {
            #expect(!names.contains(name), "\(name)")
        }
    }

    @Test(arguments: ["refused", "starts", "secondCards", "staleIgnored", "dropped"])
    func `a push that was not needed is found in what the phones were sent`(what: String) throws {
        var view: JSONObject = ["accepted": 9, "acceptedByPriority": ["5": 9], "refused": 0, "updates": 9]
        try CrowdCalls.Totals(view).check()
        #expect(CrowdCalls.Totals(view).accepted == 9)
        view[what] = 1
        #expect(throws: CommandError.self) { try CrowdCalls.Totals(view).check() }
    }

    @Test func `a push at high priority is found in what the phones were sent`() throws {
        let view: JSONObject = ["accepted": 9, "acceptedByPriority": ["10": 1, "5": 8]]
        #expect(throws: CommandError.self) { try CrowdCalls.Totals(view).check() }
    }

    @Test func `a table has a line for each figure and a column for each row`() {
        let table = BenchReport.table([["phones": 1, "pushes": 1000], ["phones": 20, "extra": "x"]])
        #expect(table == "phones     1  20\npushes  1000   –\nextra      –   x")
    }

    @Test func `each call of a population is one line of JSON, and each step's state differs`() throws {
        let population = Self.population
        let calls = [population.change(1, step: 2), population.device(5), population.card(5, step: 1)]
        let bodies = try calls.map { call in
            let line = call.line
            #expect(line.hasSuffix("}\n") && line.dropLast().allSatisfy { $0 != "\n" })
            let value = try JSONValue(parsing: line.utf8)
            #expect(value.object?["method"] == "PUT")
            #expect(value.object?["path"]?.string == call.path)
            return try #require(value.object?["body"]?.object)
        }
        #expect(bodies[0]["priority"] == "low")
        // Phones 3 to 5 belong to the second activity.
        #expect(bodies[2]["activity"] == "order-1")
        #expect(Set((1...100).map(Population.state)).count == 100)
    }

    @Test func `phones on a channel say that they can, and their cards name it in place of a token`() throws {
        let population = Population(activities: 2, phones: 3, route: .channel)
        let calls = [population.device(3), population.announcement(1), population.card(3, step: 1, on: "abcd")]
        let bodies = try calls.map { try #require(try JSONValue(parsing: $0.body).object) }
        #expect(bodies[0]["channels"] == true)
        #expect(bodies[1]["state"] == "requesting" && bodies[1]["activity"] == "order-1")
        #expect(bodies[2]["channel"] == "abcd" && bodies[2]["token"] == nil)
        #expect(calls[1].path == calls[2].path)
    }

    @Test(arguments: [
        (["fanout", "--activities", "0"], "--activities times --phones is 1 to 1000000"),
        (["fanout", "--activities", "2", "--phones", "1000000"], "--activities times --phones is 1 to 1000000"),
        (["fanout", "--phones", "\(Int.max)", "--activities", "3"], "--activities times --phones is 1 to 1000000"),
        (["fanout", "--streams", "9"], "--streams is 1 to 8, not 9"),
        (["fanout", "--channel", "--activities", "1001"], "--channel takes 1 to 1000 activities, not 1001"),
        (["registration", "--devices", "1500"], "a multiple of --phones"),
        (["churn", "--rate", "0"], "--rate 1 to 100000"),
        (["store", "--limit", "0"], "--limit is 1 to 86400 seconds, not 0"),
        (["send", "--pushes", "0"], "--pushes is 1 to 1000000, not 0"),
    ])
    func `what cannot be measured is refused before anything starts`(
        arguments: [String], refusal: String
    ) async throws {
        let run = try await Execution.of(["bench"] + arguments, in: Folder())
        #expect(run.code == 64 && run.output.isEmpty)
        #expect(run.errors.contains(refusal), "\(run.errors)")
    }
}
