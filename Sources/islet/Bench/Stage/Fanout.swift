import Foundation
import JSONText

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
        let channels = try await openChannels()
        try await bench.calls.make(population.total, streams: streams) { phone in
            let channel = channels.isEmpty ? nil : channels[phone / population.phones]
            return population.card(phone, step: Self.steps.shown, on: channel)
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

    /// Maximum time until the server has made a channel.
    private static let channelLimit = Duration.seconds(30)

    /// Makes the server open a channel for each activity, and puts the phones' cards there.
    ///
    /// As an app does, the first phone of an activity announces its card. The answers to its calls then name the
    /// channel.
    ///
    /// - Returns: The channels by activity; empty if cards have update tokens.
    private func openChannels() async throws -> [String] {
        guard population.route == .channel else { return [] }
        try await bench.calls.make(population.activities, streams: streams) { population.announcement($0) }
        var channels: [String] = []
        for index in 0..<population.activities {
            let channel = try await channel(of: index)
            try await bench.crowd.startCards(
                on: channel, first: population.firstPhone(of: index), count: population.phones)
            channels.append(channel)
        }
        Progress.say("the server has made \(channels.count) channels")
        return channels
    }

    private func channel(of index: Int) async throws -> String {
        let call = population.device(population.firstPhone(of: index))
        let body = try JSONValue(parsing: call.body)
        let end = ContinuousClock.now + Self.channelLimit
        while ContinuousClock.now < end {
            let answer = try await bench.stage.islet.call(.PUT, call.path, body)
            let activity = answer.object?["activities"]?.array?.first?.object
            if let channel = activity?["channel"]?.string { return channel }
            try await Task.sleep(for: Waiting.pause)
        }
        throw CommandError("the server made no channel for \(population.activity(index))")
    }

    /// Cost of a change, from its first call until the server has settled it.
    struct Change: Sendable {
        var pushes: Int
        /// Seconds until the last phone held the change.
        var seconds: Double
        var before: ProcessUse
        var after: ProcessUse
        var metrics: (before: MetricsText, after: MetricsText)
        var broadcasts = 0
        /// Bytes that APNs received: HTTP/2 frames with headers and payloads, without TLS.
        var apnsBytes = 0
    }

    /// Changes the states of the first activities and waits until all of their phones hold the change.
    ///
    /// - Throws: `CommandError` if a phone lacks the last state, has a second card, or got more than one push.
    func change(_ activities: Int) async throws -> Change {
        let due = population.route.due(population, activities: activities)
        let bytes = try await bench.bytesToAPNs()
        let metrics = try await bench.metrics()
        let use = try bench.use()
        let crowd = try await bench.crowd.totals()
        Progress.say("changing \(activities) activities: \(due.pushes) pushes, \(due.broadcasts) broadcasts are due")
        let begin = ContinuousClock.now
        try await bench.calls.make(activities, streams: streams) { population.change($0, step: Self.steps.change) }
        try await bench.crowd.wait(
            for: Population.state(Self.steps.change), members: activities * population.phones)
        let seconds = (ContinuousClock.now - begin).inSeconds
        Progress.say("every phone holds it after \(seconds.digits(2)) s")
        try await bench.quiet()
        let totals = try await bench.crowd.totals()
        let change = Change(
            pushes: totals.accepted - crowd.accepted, seconds: seconds, before: use, after: try bench.use(),
            metrics: (metrics, try await bench.metrics()), broadcasts: totals.broadcasts - crowd.broadcasts,
            apnsBytes: try await bench.bytesToAPNs() - bytes)
        guard change.pushes == due.pushes, change.broadcasts == due.broadcasts else {
            throw CommandError(
                "\(change.pushes) pushes and \(change.broadcasts) broadcasts were accepted, \(due.pushes) and "
                    + "\(due.broadcasts) were due")
        }
        try totals.check()
        return change
    }
}

/// Figures of one run, with the names that programs read. Figures that could not be measured are absent, and so are
/// those of a push where there is none.
struct FanoutRow: Encodable, Sendable {
    var storage = "sqlite"
    var route: String
    var activities: Int
    var phones: Int
    var pushes: Int
    var broadcasts: Int
    var seconds: Double
    var serverCPUMilliseconds: Double
    var apnsBytes: Int
    var storeBytes: Int?
    var statements: Int?
    var rows: Int?
    var pushesPerSecond: Double?
    var serverCPUMicrosecondsPerPush: Double?
    var coreSecondsPerMillion: Double?
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
        case storage, route, activities, phones, pushes, broadcasts, seconds, statements, rows, commits
        case serverCPUMilliseconds = "server_cpu_ms"
        case apnsBytes = "apns_bytes"
        case storeBytes = "store_bytes"
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
        func growth(_ metric: String) -> Int? {
            change.metrics.after.growth(of: metric, since: change.metrics.before).map { Int($0) }
        }
        let cpu = change.after.cpuSeconds - change.before.cpuSeconds
        route = population.route.rawValue
        activities = population.activities
        phones = population.phones
        pushes = change.pushes
        broadcasts = change.broadcasts
        seconds = change.seconds.digits(3)
        serverCPUMilliseconds = (cpu * 1000).digits(0)
        apnsBytes = change.apnsBytes
        storeBytes = growth("islet_store_bytes_written_total")
        statements = growth("islet_store_statements_total")
        rows = growth("islet_store_rows_written_total")
        commits = growth("islet_store_commits_total")
        residentBeforeMegabytes = change.before.residentBytes.megabytes
        peakMegabytes = change.after.peakBytes.megabytes
        registeredPerSecond = (Double(population.total) / registration.seconds).digits(0)
        registrationCPUMicroseconds = (registration.cpuSeconds / Double(population.total) * 1e6).digits(1)
        databaseMegabytes = registration.databaseBytes.megabytes
        startSeconds = registration.startSeconds.digits(2)
        if change.pushes > 0 { divide(change, cpuSeconds: cpu) }
    }

    /// Adds the figures of one push.
    private mutating func divide(_ change: Fanout.Change, cpuSeconds: Double) {
        let pushes = Double(change.pushes)
        pushesPerSecond = (pushes / change.seconds).digits(0)
        serverCPUMicrosecondsPerPush = (cpuSeconds / pushes * 1e6).digits(2)
        // Microseconds per push equal seconds per million pushes.
        coreSecondsPerMillion = serverCPUMicrosecondsPerPush
        statementsPerPush = statements.map { (Double($0) / pushes).digits(4) }
        rowsPerPush = rows.map { (Double($0) / pushes).digits(4) }
        bytesPerPush = storeBytes.map { (Double($0) / pushes).digits(4) }
        if let after = change.after.writtenBytes, let before = change.before.writtenBytes {
            diskBytesPerPush = (Double(after - before) / pushes).digits(1)
        }
    }
}
