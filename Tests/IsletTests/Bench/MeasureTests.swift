import Foundation
import JSONText
import LiveActivityCore
import Testing

@testable import islet

/// Figures as the system and the server report them, before any division.
struct MeasureTests {
    private static let status =
        "Name:\tislet\nVmPeak:\t  900 kB\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\nThreads:\t9\n"
    private static let io = "rchar: 1\nwchar: 2\nread_bytes: 3\nwrite_bytes: 4096\ncancelled_write_bytes: 7\n"

    /// Returns a line of /proc/PID/stat with this name, 150 ticks in user mode and 50 in kernel mode.
    private static func stat(name: String) -> String {
        "4711 (\(name)) S 1 4711 4711 0 -1 4194560 100 0 0 0 150 50 7 7 20 0 9 0 12345 100000 256"
    }

    @Test(arguments: ["islet", "a b", "odd) S 9 9 (name"])
    func `a process's use is read from proc, whatever the process is called`(name: String) throws {
        let use = try ProcessUse(stat: Self.stat(name: name), status: Self.status, io: Self.io, ticksPerSecond: 100)
        #expect(use.cpuSeconds == 2)
        #expect(use.residentBytes == 1 << 20)
        #expect(use.peakBytes == 2 << 20)
        #expect(use.writtenBytes == 4096)
    }

    @Test(arguments: [("", MeasureTests.status), ("1 (a) S 1", MeasureTests.status), ("1 (a) S", "VmRSS:\t1 kB\n")])
    func `what does not look like proc is refused`(stat: String, status: String) {
        #expect(throws: CommandError.self) {
            try ProcessUse(stat: stat, status: status, io: nil, ticksPerSecond: 100)
        }
    }

    @Test func `a metric is the sum of its samples, and one that is not there is nothing`() {
        let metrics = MetricsText(
            """
            # HELP islet_deliveries_total Pushes, by what came of them.
            # TYPE islet_deliveries_total counter
            islet_deliveries_total{app="a b",outcome="accepted"} 40
            islet_deliveries_total{app="odd } 7",outcome="refused"} 2 1700000000000
            islet_store_commits_total 1.5e3
            islet_store_commits 9

            nonsense
            """)
        #expect(metrics["islet_deliveries_total"] == 42)
        #expect(metrics["islet_store_commits_total"] == 1500)
        #expect(metrics["islet_store"] == nil)
        let before = MetricsText("islet_deliveries_total 2\n")
        #expect(metrics.growth(of: "islet_deliveries_total", since: before) == 40)
        #expect(metrics.growth(of: "islet_store_commits_total", since: before) == 1500)
        #expect(metrics.growth(of: "islet_store", since: before) == nil)
    }

    @Test func `a quantile of a histogram is that of what was counted since, over all labels`() throws {
        func page(_ counts: [Int]) -> MetricsText {
            MetricsText(
                """
                lag_bucket{environment="sandbox",le="0.1"} \(counts[0])
                lag_bucket{environment="sandbox",le="0.5"} \(counts[1])
                lag_bucket{environment="sandbox",le="+Inf"} \(counts[2])
                lag_bucket{environment="production",le="0.1"} 0
                lag_bucket{environment="production",le="0.5"} 10
                lag_bucket{environment="production",le="+Inf"} 10
                lag_sum{environment="production"} 3
                """)
        }
        let buckets = page([50, 80, 100]).buckets(of: "lag", since: page([40, 40, 40]))
        #expect(buckets.quantile(0) == 0)
        #expect(buckets.quantile(0.5) == 0.1 + 0.4 * 2 / 3, "10 of 60 up to 0.1, and 30 up to 0.5")
        #expect(buckets.quantile(0.99) == 0.5, "beyond the last finite bound")
        #expect(page([1, 1, 1]).buckets(of: "lag", since: page([1, 1, 1])).quantile(0.5) == nil)
        #expect(page([1, 1, 1]).buckets(of: "nothing", since: page([1, 1, 1])).quantile(0.5) == nil)
    }

    @Test func `a quantile is the smallest sample that its share is not above`() {
        let quantiles = Quantiles((1...200).map(Double.init).shuffled())
        #expect(quantiles[0.5] == 100)
        #expect(quantiles[0.99] == 198)
        #expect(quantiles[0] == 1)
        #expect(quantiles[1] == 200)
        #expect(Quantiles([])[0.5] == nil)
    }

    @Test(arguments: 1...7)
    func `the answers of a batch are counted however they are cut`(size: Int) throws {
        let bytes = Array(#"{"status":200,"body":{"status":4}}"#.utf8) + [10] + Array(#"{"status":204}"#.utf8) + [10]
        var answers = BatchAnswers()
        for start in stride(from: 0, to: bytes.count, by: size) {
            try answers.take(bytes[start..<min(start + size, bytes.count)])
        }
        #expect(answers.count == 2)
    }

    @Test(arguments: [#"{"status":404,"body":{"status":200}}"#, #"{"status":500}"#, "", "oops"])
    func `a line of a batch that is no success is refused`(line: String) {
        #expect(throws: CommandError.self) {
            var answers = BatchAnswers()
            try answers.take(Array((line + "\n").utf8))
        }
    }
}
