import APNSSimulator
import JSONText
import LiveActivityAPI

/// Orders that change all the day, each phone of an order with a card, and an APNs that fails.
struct BadDay: Sendable {
    let bench: BenchStage
    let population: Population
    let rate: Int
    let length: Duration

    private static let profile = FaultProfile.badDay
    /// Steps begin after what the phones show when they are registered.
    private static let firstStep = 2
    /// Changes go out in batches of so much of a second.
    private static let batchesPerSecond = 4
    /// Beyond one push for each that is owed: what is sent twice because something went wrong after the faults.
    private static let repeats = 1.25

    /// What was counted in one part of the day.
    private struct Counts {
        var arrived: Int
        var accepted: Int
    }

    /// - Returns: A row for each phase, and one for the time until every phone holds the newest state.
    /// - Throws: `CommandError` when a phone lacks it, has a second card, or got a needless push.
    func run() async throws -> [BadDayRow] {
        _ = try await Fanout(bench: bench, population: population, streams: 2).register()
        var newest = Array(repeating: 1, count: population.activities)
        var rows: [BadDayRow] = []
        var changes = 0
        try await bench.stage.control.call(
            .PUT, "/v1/faults", ["profile": .string(Self.profile.rawValue), "seconds": seconds(length)])
        let begin = ContinuousClock.now
        var counts = try await self.counts()
        var behind = 0
        for phase in Self.profile.phases {
            Progress.say("\(phase.name)")
            let first = changes
            // What met a 5xx and is not changed any more is repeated after 15 minutes, as Apple asks: each order is
            // changed once when all is well again, however slow the machine is.
            let least = phase.name == Self.profile.phases.last?.name ? population.activities : 0
            let arrivals = try await change(
                &newest, &changes, begin, until: begin + length * phase.share.upperBound, atLeast: least)
            let owed = try await phonesOwed()
            let now = try await self.counts()
            behind = try await phonesBehind(newest)
            rows.append(try row(phase.name, changes - first, counts, now, arrivals, behind, owed))
            counts = now
        }
        try await bench.stage.control.call(.DELETE, "/v1/faults")
        rows.append(try await recover(newest, counts, behind))
        try await check(rows)
        return rows
    }

    // MARK: - Steps

    /// Changes one order after the other at the rate.
    ///
    /// - Returns: The most pushes that arrived at APNs within a second.
    private func change(
        _ newest: inout [Int], _ changes: inout Int, _ begin: ContinuousClock.Instant,
        until end: ContinuousClock.Instant, atLeast least: Int
    ) async throws -> Int {
        let size = max(1, rate / Self.batchesPerSecond)
        let enough = changes + least
        var (most, second, arrived) = (0, ContinuousClock.now, try await counts().arrived)
        while ContinuousClock.now < end || changes < enough {
            var calls: [APICall] = []
            for _ in 0..<size {
                let index = changes % population.activities
                newest[index] = Self.firstStep + changes
                calls.append(population.change(index, step: newest[index]))
                changes += 1
            }
            try await bench.calls.makeTogether(calls)
            if ContinuousClock.now - second >= .seconds(1) {
                let now = try await counts().arrived
                (most, arrived, second) = (max(most, now - arrived), now, ContinuousClock.now)
            }
            let next = begin + .seconds(1) / rate * changes
            try await Task.sleep(until: min(next, max(end, .now)), clock: .continuous)
        }
        return most
    }

    /// Waits until every phone holds the newest state of its order.
    private func recover(_ newest: [Int], _ before: Counts, _ behind: Int) async throws -> BadDayRow {
        Progress.say("\(behind) phones are behind")
        let begin = ContinuousClock.now
        for step in newest {
            try await bench.crowd.wait(for: Population.state(step), members: population.phones)
        }
        let seconds = (ContinuousClock.now - begin).inSeconds
        try await bench.quiet()
        let now = try await counts()
        var row = try row(
            "until all hold the newest", 0, before, now, nil, try await phonesBehind(newest), try await phonesOwed())
        row.seconds = seconds.digits(1)
        return row
    }

    /// What the phones got is what they had to get.
    private func check(_ rows: [BadDayRow]) async throws {
        guard let last = rows.last, last.behind == 0 else {
            throw CommandError("\(rows.last?.behind ?? 0) phones lack the newest state")
        }
        let needless = try await bench.crowd.totals().needless
            .filter { ["starts", "second cards"].contains($0.what) && $0.count > 0 }
        guard needless.isEmpty else { throw CommandError("\(needless)") }
        // From the end of the faults on, each phone gets once what the server does not know it to hold (which it may,
        // where the answer was swallowed), and each change once.
        guard rows.count > 2 else { return }
        let (faults, well) = (rows[rows.count - 3], rows[rows.count - 2])
        let due = Double(faults.owed + well.changes * population.phones)
        let arrived = Double(well.arrived + last.arrived)
        guard arrived <= due * Self.repeats + Double(population.phones) else {
            throw CommandError("\(Int(arrived)) pushes arrived after the faults, \(Int(due)) were due")
        }
    }

    // MARK: - Counting

    private func counts() async throws -> Counts {
        let simulator = try await bench.stage.control.call(.GET, "/v1/simulator").object
        return Counts(
            arrived: simulator?["received"]?.int ?? 0, accepted: try await bench.crowd.totals().accepted)
    }

    private func phonesBehind(_ newest: [Int]) async throws -> Int {
        var holding = 0
        for step in newest where step >= Self.firstStep {
            holding += try await bench.crowd.members(holding: Population.state(step))
        }
        // Those that were not changed yet share a state, with phones of others that are behind.
        let unchanged = newest.count { $0 < Self.firstStep }
        let first = try await bench.crowd.members(holding: Population.state(Self.firstStep - 1))
        return population.total - holding - min(first, unchanged * population.phones)
    }

    /// Phones that the server does not know to hold the newest state, whatever they hold.
    private func phonesOwed() async throws -> Int {
        var owed = 0
        for index in 0..<population.activities {
            let view = try await bench.stage.islet
                .call(.GET, "/v1/activities/\(population.activity(index))?limit=\(population.phones)")
                .decode(ActivityView.self)
            owed += view.devices.count { $0.revision < view.revision }
        }
        return owed
    }

    private func row(
        _ name: String, _ changes: Int, _ before: Counts, _ now: Counts, _ most: Int?, _ behind: Int, _ owed: Int
    ) throws -> BadDayRow {
        let phase = Self.profile.phases.first { $0.name == name }
        let share = phase.map { $0.share.upperBound - $0.share.lowerBound } ?? 0
        return BadDayRow(
            phase: name, seconds: (length.inSeconds * share).digits(1), changes: changes,
            arrived: now.arrived - before.arrived, accepted: now.accepted - before.accepted, mostInASecond: most,
            behind: behind, owed: owed, residentMegabytes: try bench.use().residentBytes.megabytes)
    }

    private func seconds(_ duration: Duration) -> JSONValue {
        .number(JSONNumber(duration.inSeconds) ?? JSONNumber(0))
    }
}

/// One part of the day, by the names that programs read.
struct BadDayRow: Encodable, Sendable {
    var phase: String
    var seconds: Double
    var changes: Int
    /// At APNs, whatever it made of them.
    var arrived: Int
    /// That took effect.
    var accepted: Int
    var mostInASecond: Int?
    /// Phones that did not hold the newest state at its end.
    var behind: Int
    /// Phones that the server did not know to hold it.
    var owed: Int
    var residentMegabytes: Double

    enum CodingKeys: String, CodingKey {
        case phase, seconds, changes, accepted
        case arrived = "pushes_arrived"
        case mostInASecond = "most_in_a_second"
        case behind = "phones_behind"
        case owed = "phones_owed"
        case residentMegabytes = "rss_mb"
    }
}
