import CoreMetrics
import Foundation
import HTTPTypes
import JSONText
import LiveActivityCore
import StorageSQL
import StorageSQLite
import Testing

@testable import LiveActivityServer

@Suite struct MetricsTests {
    // MARK: - The text

    @Test func `the text is Prometheus's format, escaped and sorted`() {
        var buckets = BucketCounts(bounds: [0.5, 1])
        for value in [0.25, 0.5, 0.75, 7] { buckets.observe(value) }
        let text = PrometheusText.write([
            MetricFamily(
                .httpRequests,
                [
                    .init(["/b", "GET", "200"], .number(2)),
                    .init(["/a\"\\\n", "GET", "200"], .number(1e18)),
                ]),
            MetricFamily(.storeGroupSize, [.init([], .buckets(buckets))]),
            MetricFamily(.apnsClockSkew, [.init(["sandbox"], .number(-0.5))]),
        ])
        #expect(
            text == #"""
                # HELP islet_apns_clock_skew_seconds Time by which APNs's clock is ahead of this machine's, by \#
                its last answer.
                # TYPE islet_apns_clock_skew_seconds gauge
                islet_apns_clock_skew_seconds{environment="sandbox"} -0.5
                # HELP islet_http_requests_total Requests answered, by route template. \#
                A request that matches no route is `none`.
                # TYPE islet_http_requests_total counter
                islet_http_requests_total{route="/a\"\\\n",method="GET",status="200"} 1000000000000000000
                islet_http_requests_total{route="/b",method="GET",status="200"} 2
                # HELP islet_store_group_size Commands in one transaction.
                # TYPE islet_store_group_size histogram
                islet_store_group_size_bucket{le="0.5"} 2
                islet_store_group_size_bucket{le="1"} 3
                islet_store_group_size_bucket{le="+Inf"} 4
                islet_store_group_size_sum 8.5
                islet_store_group_size_count 4

                """#)
    }

    @Test(arguments: [(Double.infinity, "+Inf"), (-.infinity, "-Inf"), (.nan, "NaN"), (1e300, "1e+300"), (0, "0")])
    func `a number is written as Prometheus reads it`(number: Double, text: String) {
        #expect(
            PrometheusText.write([MetricFamily(.queueAge, [.init([], .number(number))])])
                .hasSuffix("\nislet_queue_age_seconds \(text)\n"))
    }

    // MARK: - The table

    @Test func `every name is one of Prometheus's, says its unit or that it counts, and has its buckets in order`() {
        for metric in Metric.allCases {
            #expect(metric.name.wholeMatch(of: /(islet|process)_[a-z_]+/) != nil)
            #expect(metric.name.hasSuffix("_total") == (metric.kind == .counter), "\(metric)")
            #expect(metric.bounds.isEmpty == (metric.kind != .histogram), "\(metric)")
            #expect(metric.bounds == metric.bounds.sorted() && Set(metric.bounds).count == metric.bounds.count)
            #expect(metric.help.hasSuffix("."), "\(metric)")
        }
    }

    @Test func `docs metrics md describes every metric with its labels`() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let text = try String(contentsOf: root.appending(path: "docs/metrics.md"), encoding: .utf8)
        let rows = text.split(separator: "\n").filter { $0.hasPrefix("| `") }
        for metric in Metric.allCases {
            let labels = metric.labels.isEmpty ? "–" : metric.labels.map { "`\($0)`" }.joined(separator: ", ")
            let row = "| `\(metric.name)` | \(metric.kind.rawValue) | \(labels) |"
            #expect(rows.contains { $0.hasPrefix(row) }, "no row that begins with \(row)")
        }
    }

    // MARK: - The registry

    @Test func `series are bounded, and what is beyond goes to one`() throws {
        let registry = MetricsRegistry()
        for status in 0..<MetricsRegistry.maximumSeries + 50 {
            Counter(
                label: Metric.httpRequests.name,
                dimensions: [("route", "/a"), ("method", "GET"), ("status", "\(status)")], factory: registry
            ).increment()
        }
        let family = try #require(registry.families.first { $0.metric == .httpRequests })
        #expect(family.series.count == MetricsRegistry.maximumSeries + 1)
        #expect(family.series.first { $0.labels == ["other", "other", "other"] }?.value == .number(50))
    }

    @Test func `what the table does not have is dropped`() {
        let registry = MetricsRegistry()
        Counter(label: "somebody_elses_total", factory: registry).increment()
        Counter(label: Metric.httpRequests.name, dimensions: [("token", "abc")], factory: registry).increment()
        Counter(label: Metric.flightsOpen.name, factory: registry).increment()
        Recorder(label: Metric.flightsOpen.name, factory: registry).record(1)
        #expect(registry.families.isEmpty)
    }

    @Test func `a series goes on where another handler of the same labels left it`() {
        let registry = MetricsRegistry()
        for _ in 0..<3 { Meter(label: Metric.flightsOpen.name, factory: registry).increment() }
        Timer(label: Metric.pushAnswer.name, dimensions: [("environment", "sandbox")], factory: registry)
            .recordMilliseconds(20)
        var expected = BucketCounts(bounds: Metric.pushAnswer.bounds)
        expected.observe(0.02)
        #expect(registry.families.first { $0.metric == .flightsOpen }?.series.map(\.value) == [.number(3)])
        #expect(registry.families.first { $0.metric == .pushAnswer }?.series.map(\.value) == [.buckets(expected)])
    }

    // MARK: - The process

    @Test func `the process's line of proc is read, whatever its name is`() {
        let stat = "42 (a ) b) S 1 42 42 0 -1 4194560 100 0 0 0 150 50 0 0 20 0 4 0 12345 1000000 300 18446744"
        #expect(
            ProcessReading(stat: stat, openFiles: 7, ticksPerSecond: 100, pageBytes: 4096)?.fields
                == [300 * 4096, 2, 7])
        #expect(ProcessReading(stat: "42 (a) S 1", openFiles: 7, ticksPerSecond: 100, pageBytes: 4096) == nil)
    }

    // MARK: - The call

    @Test func `the page has every metric, and moves with what happens`() async throws {
        try await withServer { fixture in
            let first = try await fixture.call(.get, "/metrics", key: nil)
            #expect(first.status == 200)
            #expect(first.headers[.contentType] == "text/plain; version=0.0.4; charset=utf-8")
            for metric in Metric.allCases {
                #expect(first.text.contains("# TYPE \(metric.name) \(metric.kind.rawValue)\n"), "\(metric)")
            }
            let before = Exposition(first.text)
            #expect(before["islet_http_requests_total{"].isEmpty)

            try await fixture.registerPhone()
            #expect(
                try await fixture.put(
                    "/v1/activities/order-4711",
                    #"{"type":"Order","state":{"a":1},"attributes":{},"audience":{"users":["ada"]}}"#
                ).status == 200)
            fixture.clock.advance(.seconds(7))
            _ = try await fixture.call(.get, "/no/such/thing/\(token("secret"))")
            _ = try await fixture.call(HTTPRequest.Method("BREW") ?? .get, "/healthz")

            let text = try await fixture.call(.get, "/metrics", key: nil).text
            let after = Exposition(text)
            #expect(
                after["islet_http_requests_total{"] == [
                    #"route="/metrics",method="GET",status="200""#: 1,
                    #"route="/v1/devices/{device}",method="PUT",status="200""#: 1,
                    #"route="/v1/devices/{device}/push-to-start-tokens/{type}",method="PUT",status="200""#: 1,
                    #"route="/v1/activities/{activity}",method="PUT",status="200""#: 1,
                    #"route="none",method="GET",status="404""#: 1, #"route="none",method="other",status="405""#: 1,
                ])
            #expect(after.number(#"islet_http_request_seconds_count{route="none"}"#) == 2)
            for name in ["commits", "statements", "rows_written", "bytes_written"] {
                let name = "islet_store_\(name)_total"
                #expect(try #require(after.number(name)) > #require(before.number(name)), "\(name)")
            }
            #expect(after.number(#"islet_store_commands_total{rank="write"}"#).map { $0 > 3 } == true)
            #expect(after.number(#"islet_store_commands_total{rank="claim"}"#) == 0)
            #expect(after.number("islet_store_waiting") == 0)
            #expect(after.number("islet_store_group_size_count") == after.number("islet_store_commits_total"))
            #expect(after.number("islet_store_commit_seconds_count") == after.number("islet_store_commits_total"))
            // The start is due since the call, and nobody claims here.
            #expect(before.number("islet_queue_age_seconds") == 0)
            #expect(after.number("islet_queue_age_seconds") == 7)
            #expect(after.number(#"islet_apns_connections{environment="sandbox"}"#) == 1)
            #expect(after.number(#"islet_apns_streams_limit{environment="sandbox"}"#) == 1000)
            #expect(after.number(#"islet_apns_clock_skew_seconds{environment="sandbox"}"#) == -1.5)
            #expect(after.number(#"islet_build_info{version="1.2.3"}"#) == 1)
            #expect(after.number("process_start_time_seconds") == 1_799_999_000)
            #if os(Linux)
                #expect(after.number("process_resident_memory_bytes").map { $0 > 1_000_000 } == true)
                #expect(after.number("process_open_fds").map { $0 > 2 } == true)
            #endif
            for secret in ["order-4711", "phone-1", "ada", "BREW", String(token("secret").prefix(8))]
                + fixture.keys.values.flatMap({ [$0.id, String($0.text.suffix(20))] })
            {
                #expect(!text.contains(secret), "\(secret)")
            }
        }
    }

    @Test func `where metrics are turned off there is no page`() async throws {
        try await withServer(hasMetrics: false) { fixture in
            let reply = try await fixture.call(.get, "/metrics", key: nil)
            #expect(reply.status == 404 && reply.code == "not_found")
            #expect(reply["/fix"]?.string?.contains("metrics: true") == true)
        }
    }

    @Test func `the page is there when the database is not`() async throws {
        try await withServer { fixture in
            fixture.store.close()
            let text = Exposition(try await fixture.call(.get, "/metrics", key: nil).text)
            #expect(text.number(#"islet_build_info{version="1.2.3"}"#) == 1)
            #expect(text.number("islet_store_commits_total") == nil)
        }
    }
}

/// The lines of a page.
private struct Exposition {
    private let lines: [(name: Substring, value: Double)]

    init(_ text: String) {
        lines = text.split(separator: "\n").filter { !$0.hasPrefix("#") }.compactMap { line in
            guard let space = line.lastIndex(of: " "), let value = Double(line[line.index(after: space)...]) else {
                return nil
            }
            return (line[..<space], value)
        }
    }

    func number(_ name: String) -> Double? { lines.first { $0.name == name }?.value }

    /// Returns the series whose names have this prefix, by the text between the braces.
    subscript(_ prefix: String) -> [String: Double] {
        Dictionary(
            lines.filter { $0.name.hasPrefix(prefix) }.map {
                (String($0.name.dropFirst(prefix.count).dropLast()), $0.value)
            }, uniquingKeysWith: { first, _ in first })
    }
}

extension ProcessReading {
    fileprivate var fields: [Double] { [Double(residentBytes), cpuSeconds, Double(openFiles)] }
}
