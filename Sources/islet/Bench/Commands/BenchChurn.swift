import ArgumentParser

/// The `islet bench churn` command, in which one activity changes far more often than phones may get pushes.
struct BenchChurn: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "churn",
        abstract: "Changes one activity's state many times a second, and counts what leaves.",
        discussion: """
            Changes within a second go out together, so that a phone gets at most one push a second and the last \
            state for certain: both are checked.
            """)

    @OptionGroup var options: BenchOptions
    @OptionGroup var streams: BenchStreams
    @Option(help: "The number of phones.") var phones = 100
    @Option(help: "Changes a second that are tried.") var rate = 1000
    @Option(help: "How long, in seconds.") var seconds = 15

    func validate() throws {
        guard 1...10_000 ~= phones, 1...100_000 ~= rate, 1...3600 ~= seconds else {
            throw ValidationError("--phones is 1 to 10000, --rate 1 to 100000, --seconds 1 to 3600")
        }
    }

    func run() async throws {
        let (phones, rate, streams, seconds) = (phones, rate, streams.streams, seconds)
        let row = try await BenchStage.with(options) { bench in
            let population = Population(activities: 1, phones: phones)
            _ = try await Fanout(bench: bench, population: population, streams: streams).register()
            let load = ChurnLoad(bench: bench, population: population, rate: rate, streams: streams, seconds: seconds)
            return try await load.run()
        }
        try BenchReport.publish([row], to: options.json)
    }
}

/// Changes of one activity's state in batches. Each change in a batch waits for the commit of the one before.
struct ChurnLoad: Sendable {
    let bench: BenchStage
    let population: Population
    let rate: Int
    let streams: Int
    let seconds: Int

    /// First step after the one that phones show when they are registered.
    private static let firstStep = 2
    /// Number of batches per second.
    private static let batchesPerSecond = 100

    /// Runs the load and returns its figures.
    ///
    /// - Throws: `CommandError` if a phone lacks the last state, or if more pushes left than the policy allows.
    func run() async throws -> ChurnRow {
        let before = try bench.use()
        let totals = try await bench.crowd.totals()
        Progress.say("changing the state for \(seconds) s, in \(streams) streams")
        let begin = ContinuousClock.now
        let next = Counter()
        try await change(next, begin, until: begin + .seconds(seconds) / 2)
        let middle = try bench.use()
        try await change(next, begin, until: begin + .seconds(seconds))
        let elapsed = (ContinuousClock.now - begin).inSeconds
        // Changes of different streams have no order. A final change after all answers defines the last state.
        let changes = next.value + 1
        try await bench.calls.makeTogether([population.change(0, step: Self.firstStep + next.value)])
        try await bench.crowd.wait(for: Population.state(Self.firstStep + next.value), members: population.phones)
        let held = (ContinuousClock.now - begin).inSeconds
        try await bench.quiet()
        let after = try bench.use()
        let counted = try await bench.crowd.totals()
        let cpu = after.cpuSeconds - before.cpuSeconds
        let row = ChurnRow(
            phones: population.phones, streams: streams, changes: changes, seconds: elapsed.digits(2),
            changesPerSecond: (Double(changes) / elapsed).digits(0), pushes: counted.accepted - totals.accepted,
            pushesAllowed: population.phones * (Int(held.rounded(.up)) + 1),
            cpuMicrosecondsPerChange: (cpu / Double(changes) * 1e6).digits(1), cores: (cpu / held).digits(3),
            beforeMegabytes: before.residentBytes.megabytes, middleMegabytes: middle.residentBytes.megabytes,
            afterMegabytes: after.residentBytes.megabytes, peakMegabytes: after.peakBytes.megabytes)
        guard row.pushes <= row.pushesAllowed else {
            throw CommandError("\(row.pushes) pushes left, the policy allows \(row.pushesAllowed)")
        }
        try counted.check()
        return row
    }

    /// Changes the state at the given rate, or as fast as the server accepts changes.
    private func change(
        _ next: Counter, _ begin: ContinuousClock.Instant, until end: ContinuousClock.Instant
    ) async throws {
        let interval = Duration.seconds(1) / rate
        let size = max(1, rate / Self.batchesPerSecond)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<streams {
                group.addTask {
                    while ContinuousClock.now < end, begin + interval * next.value < end {
                        let numbers = next.take(size)
                        try await Task.sleep(until: begin + interval * numbers.lowerBound, clock: .continuous)
                        try await bench.calls.makeTogether(
                            numbers.map { population.change(0, step: Self.firstStep + $0) })
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}

/// Figures of one run, with the names that programs read.
struct ChurnRow: Encodable, Sendable {
    var phones: Int
    var streams: Int
    var changes: Int
    var seconds: Double
    var changesPerSecond: Double
    var pushes: Int
    var pushesAllowed: Int
    var cpuMicrosecondsPerChange: Double
    var cores: Double
    var beforeMegabytes: Double
    var middleMegabytes: Double
    var afterMegabytes: Double
    var peakMegabytes: Double

    enum CodingKeys: String, CodingKey {
        case phones, streams, changes, seconds, pushes
        case changesPerSecond = "changes_per_second"
        case pushesAllowed = "pushes_allowed"
        case cpuMicrosecondsPerChange = "server_cpu_us_per_change"
        case cores = "server_cores"
        case beforeMegabytes = "rss_before_mb"
        case middleMegabytes = "rss_middle_mb"
        case afterMegabytes = "rss_after_mb"
        case peakMegabytes = "peak_mb"
    }
}
