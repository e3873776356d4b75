import Foundation

/// One run of the fan-out: a population is registered, its states change once, and every phone must hold the change.
struct Fanout: Sendable {
    let bench: BenchStage
    let population: Population
    let streams: Int

    /// Cost of the registration, and the state of the server after it.
    struct Registration: Sendable {
        var seconds: Double
        var cpuSeconds: Double
        var databaseBytes: Int
        var startSeconds: Double
    }

    /// Step 1 is the state that phones show when they are registered. Step 2 is the change.
    private static let steps = (shown: 1, change: 2)

    /// Sets the states, registers the phones with their cards, and restarts the server.
    ///
    /// After the restart, the server's resource use belongs to the change alone.
    func register() async throws -> Registration {
        Progress.say("registering \(population.total) phones of \(population.activities) activities")
        try await bench.crowd.make(population.total)
        try await bench.calls.make(population.activities, streams: streams) {
            population.change($0, step: Self.steps.shown)
        }
        let (begin, before) = (ContinuousClock.now, try bench.use())
        try await bench.calls.make(population.total, streams: streams) { population.device($0) }
        Progress.say("devices after \((ContinuousClock.now - begin).inSeconds.digits(1)) s")
        try await bench.calls.make(population.total, streams: streams) {
            population.card($0, step: Self.steps.shown)
        }
        let seconds = (ContinuousClock.now - begin).inSeconds
        Progress.say("registered after \(seconds.digits(1)) s")
        try await bench.quiet()
        let cpu = try bench.use().cpuSeconds - before.cpuSeconds
        let size = bench.databaseBytes
        let start = try await bench.restart()
        try await bench.quiet()
        return Registration(seconds: seconds, cpuSeconds: cpu, databaseBytes: size, startSeconds: start)
    }

    /// Cost of a change, from its first call until the server has settled it.
    struct Change: Sendable {
        var pushes: Int
        /// Seconds until the last phone held the change.
        var seconds: Double
        var before: ProcessUse
        var after: ProcessUse
        var metrics: (before: MetricsText, after: MetricsText)
    }

    /// Changes the states of the first activities and waits until all of their phones hold the change.
    ///
    /// - Throws: `CommandError` if a phone lacks the last state, has a second card, or got more than one push.
    func change(_ activities: Int) async throws -> Change {
        let expected = activities * population.phones
        let metrics = try await bench.metrics()
        let use = try bench.use()
        let crowd = try await bench.crowd.totals()
        Progress.say("changing \(activities) activities: \(expected) pushes are due")
        let begin = ContinuousClock.now
        try await bench.calls.make(activities, streams: streams) { population.change($0, step: Self.steps.change) }
        try await bench.crowd.wait(for: Population.state(Self.steps.change), members: expected)
        let seconds = (ContinuousClock.now - begin).inSeconds
        Progress.say("every phone holds it after \(seconds.digits(2)) s")
        try await bench.quiet()
        let totals = try await bench.crowd.totals()
        let change = Change(
            pushes: totals.accepted - crowd.accepted, seconds: seconds, before: use, after: try bench.use(),
            metrics: (metrics, try await bench.metrics()))
        guard change.pushes == expected else {
            throw CommandError("\(change.pushes) pushes were accepted, \(expected) were due")
        }
        try totals.check()
        return change
    }
}

/// Figures of one run, with the names that programs read. Figures that could not be measured are absent.
struct FanoutRow: Encodable, Sendable {
    var storage = "sqlite"
    var activities: Int
    var phones: Int
    var pushes: Int
    var seconds: Double
    var pushesPerSecond: Double
    var serverCPUMicrosecondsPerPush: Double
    var coreSecondsPerMillion: Double
    var statementsPerPush: Double?
    var rowsPerPush: Double?
    var bytesPerPush: Double?
    var diskBytesPerPush: Double?
    var commits: Int?
    var residentBeforeMegabytes: Double
    var peakMegabytes: Double
    var registeredPerSecond: Double
    var registrationCPUMicroseconds: Double
    var databaseMegabytes: Double
    var startSeconds: Double

    enum CodingKeys: String, CodingKey {
        case storage, activities, phones, pushes, seconds, commits
        case pushesPerSecond = "pushes_per_second"
        case serverCPUMicrosecondsPerPush = "server_cpu_us_per_push"
        case coreSecondsPerMillion = "core_seconds_per_million"
        case statementsPerPush = "statements_per_push"
        case rowsPerPush = "rows_per_push"
        case bytesPerPush = "bytes_per_push"
        case diskBytesPerPush = "disk_bytes_per_push"
        case residentBeforeMegabytes = "rss_before_mb"
        case peakMegabytes = "peak_mb"
        case registeredPerSecond = "registered_per_second"
        case registrationCPUMicroseconds = "server_cpu_us_per_registration"
        case databaseMegabytes = "database_mb"
        case startSeconds = "start_seconds"
    }

    init(_ population: Population, _ registration: Fanout.Registration, _ change: Fanout.Change) {
        let pushes = Double(change.pushes)
        func perPush(_ metric: String) -> Double? {
            change.metrics.after.growth(of: metric, since: change.metrics.before).map { ($0 / pushes).digits(4) }
        }
        activities = population.activities
        phones = population.phones
        self.pushes = change.pushes
        seconds = change.seconds.digits(3)
        pushesPerSecond = (pushes / change.seconds).digits(0)
        let cpu = (change.after.cpuSeconds - change.before.cpuSeconds) / pushes
        serverCPUMicrosecondsPerPush = (cpu * 1e6).digits(2)
        // Microseconds per push equal seconds per million pushes.
        coreSecondsPerMillion = (cpu * 1e6).digits(2)
        statementsPerPush = perPush("islet_store_statements_total")
        rowsPerPush = perPush("islet_store_rows_written_total")
        bytesPerPush = perPush("islet_store_bytes_written_total")
        if let after = change.after.writtenBytes, let before = change.before.writtenBytes {
            diskBytesPerPush = (Double(after - before) / pushes).digits(1)
        }
        commits = change.metrics.after.growth(of: "islet_store_commits_total", since: change.metrics.before)
            .map { Int($0) }
        residentBeforeMegabytes = change.before.residentBytes.megabytes
        peakMegabytes = change.after.peakBytes.megabytes
        registeredPerSecond = (Double(population.total) / registration.seconds).digits(0)
        registrationCPUMicroseconds = (registration.cpuSeconds / Double(population.total) * 1e6).digits(1)
        databaseMegabytes = registration.databaseBytes.megabytes
        startSeconds = registration.startSeconds.digits(2)
    }
}
