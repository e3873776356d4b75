import ArgumentParser
import LiveActivityCore

/// The `islet bench puts` command, in which each change of an activity of one phone is a call of its own.
struct BenchPuts: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "puts",
        abstract: "Changes activities of one phone each, by a PUT each, and measures the time to APNs's answer.",
        discussion: """
            The calls share a few connections that stay open. Each changes the state of another activity. The lag is \
            that of the server's own metric islet_delivery_lag_seconds, interpolated within its buckets.
            """)

    @OptionGroup var options: BenchOptions
    @Option(help: "The number of activities. Each changes once.") var activities = 20_000
    @Option(help: "Changes a second that are tried. With 0 each caller goes on as soon as its call is answered.")
    var rate = 1000
    @Option(help: "The calls on their way at the same time.") var callers = LoadCaller.maximumCallers

    func validate() throws {
        guard 1...1_000_000 ~= activities, 0...10_000 ~= rate, 1...LoadCaller.maximumCallers ~= callers else {
            throw ValidationError(
                "--activities is 1 to 1000000, --rate 0 to 10000, --callers 1 to \(LoadCaller.maximumCallers)")
        }
    }

    func run() async throws {
        let (activities, rate, callers) = (activities, rate, callers)
        let row = try await BenchStage.with(options) { bench in
            let population = Population(activities: activities, phones: 1)
            let fanout = Fanout(bench: bench, population: population, streams: 4)
            _ = try await fanout.register()
            let load = PutLoad(bench: bench, population: population, rate: rate, callers: callers)
            return try await load.run()
        }
        try BenchReport.publish([row], to: options.json)
    }
}

/// Calls that change one activity each, at a fixed rate or one after the other.
struct PutLoad: Sendable {
    let bench: BenchStage
    let population: Population
    let rate: Int
    let callers: Int

    /// The step after the one that phones show when they are registered.
    private static let step = 2

    /// Runs the load and returns its figures.
    ///
    /// - Throws: `CommandError` if a call fails, a phone lacks the change, or more pushes left than were due.
    func run() async throws -> PutRow {
        let count = population.activities
        let (metrics, totals) = (try await bench.metrics(), try await bench.crowd.totals())
        let use = try bench.use()
        Progress.say("changing \(count) activities by a call each")
        let begin = ContinuousClock.now
        let latencies = try await calls(begin)
        let elapsed = (ContinuousClock.now - begin).inSeconds
        try await bench.crowd.wait(for: Population.state(Self.step), members: count)
        try await bench.quiet()
        let (after, counted) = (try bench.use(), try await bench.crowd.totals())
        guard counted.accepted - totals.accepted == count else {
            throw CommandError("\(counted.accepted - totals.accepted) pushes were accepted, \(count) were due")
        }
        try counted.check()
        let now = try await bench.metrics()
        let lag = now.buckets(of: "islet_delivery_lag_seconds", since: metrics)
        func perChange(_ metric: String) -> Double? {
            now.growth(of: metric, since: metrics).map { ($0 / Double(count)).digits(4) }
        }
        let answers = Quantiles(latencies)
        return PutRow(
            activities: count, rate: rate, callers: callers, seconds: elapsed.digits(2),
            changesPerSecond: (Double(count) / elapsed).digits(0),
            cpuMicrosecondsPerChange: ((after.cpuSeconds - use.cpuSeconds) / Double(count) * 1e6).digits(1),
            commitsPerChange: perChange("islet_store_commits_total"),
            statementsPerChange: perChange("islet_store_statements_total"),
            rowsPerChange: perChange("islet_store_rows_written_total"),
            bytesPerChange: perChange("islet_store_bytes_written_total"),
            callMedianMilliseconds: (answers[0.5] ?? 0).digits(2), callP99Milliseconds: (answers[0.99] ?? 0).digits(2),
            lagMedianMilliseconds: lag.quantile(0.5).map { ($0 * 1000).digits(2) },
            lagP99Milliseconds: lag.quantile(0.99).map { ($0 * 1000).digits(2) })
    }

    /// Makes the calls.
    ///
    /// - Returns: Duration of each call in milliseconds.
    private func calls(_ begin: ContinuousClock.Instant) async throws -> [Double] {
        let next = Counter()
        return try await withThrowingTaskGroup(of: [Double].self) { group in
            for _ in 0..<callers {
                group.addTask {
                    var latencies: [Double] = []
                    while true {
                        let number = next.take(1).lowerBound
                        guard number < population.activities else { return latencies }
                        if rate > 0 {
                            let due = begin + .seconds(1) / rate * number
                            try await Task.sleep(until: due, clock: .continuous)
                        }
                        let start = ContinuousClock.now
                        try await bench.calls.put(population.change(number, step: Self.step))
                        latencies.append((ContinuousClock.now - start).inSeconds * 1000)
                    }
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
    }
}

/// Figures of one run, with the names that programs read. Figures that could not be measured are absent.
struct PutRow: Encodable, Sendable {
    var activities: Int
    var rate: Int
    var callers: Int
    var seconds: Double
    var changesPerSecond: Double
    var cpuMicrosecondsPerChange: Double
    var commitsPerChange: Double?
    var statementsPerChange: Double?
    var rowsPerChange: Double?
    var bytesPerChange: Double?
    var callMedianMilliseconds: Double
    var callP99Milliseconds: Double
    var lagMedianMilliseconds: Double?
    var lagP99Milliseconds: Double?

    enum CodingKeys: String, CodingKey {
        case activities, rate, callers, seconds
        case changesPerSecond = "changes_per_second"
        case cpuMicrosecondsPerChange = "server_cpu_us_per_change"
        case commitsPerChange = "commits_per_change"
        case statementsPerChange = "statements_per_change"
        case rowsPerChange = "rows_per_change"
        case bytesPerChange = "bytes_per_change"
        case callMedianMilliseconds = "call_p50_ms"
        case callP99Milliseconds = "call_p99_ms"
        case lagMedianMilliseconds = "lag_p50_ms"
        case lagP99Milliseconds = "lag_p99_ms"
    }
}
