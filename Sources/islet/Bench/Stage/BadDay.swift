import APNSSimulator
import JSONText
import LiveActivityAPI

/// Orders that change all day while APNs fails. Each phone of an order has a card.
struct BadDay: Sendable {
    let bench: BenchStage
    let population: Population
    let rate: Int
    let length: Duration

    private static let profile = FaultProfile.badDay
    /// First step after the one that phones show when they are registered.
    private static let firstStep = 2
    /// Number of batches per second.
    private static let batchesPerSecond = 4
    /// Allowed ratio of pushes after the faults to pushes that were due, because some are sent twice.
    private static let repeats = 1.25

    /// Totals at one moment of the day.
    private struct Counts {
        var arrived: Int
        var accepted: Int
    }

    /// Runs the day.
    ///
    /// - Returns: A row for each phase, and one for the time until every phone holds the newest state.
    /// - Throws: `CommandError` if a phone lacks that state, has a second card, or got a needless push.
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
            // A push that met a 5xx answer is repeated only after 15 minutes, as Apple asks, unless its state changes.
            // In the last phase, each order therefore changes once, however slow the machine is.
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

    /// Changes one order after the other at the given rate.
    ///
    /// - Returns: Maximum number of pushes that arrived at APNs within a second.
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

    /// Checks that the phones got the pushes that were due and no others.
    private func check(_ rows: [BadDayRow]) async throws {
        guard let last = rows.last, last.behind == 0 else {
            throw CommandError("\(rows.last?.behind ?? 0) phones lack the newest state")
        }
        let needless = try await bench.crowd.totals().needless
            .filter { ["starts", "second cards"].contains($0.what) && $0.count > 0 }
        guard needless.isEmpty else { throw CommandError("\(needless)") }
        // After the faults, a phone is due one push per change. It is due one more if the server does not know that it
        // holds the newest state. It may hold that state already, if APNs's answer was lost.
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
        // Orders that have not changed yet share a state with phones of others that are behind.
        let unchanged = newest.count { $0 < Self.firstStep }
        let first = try await bench.crowd.members(holding: Population.state(Self.firstStep - 1))
        return population.total - holding - min(first, unchanged * population.phones)
    }

    /// Returns the number of phones that, as far as the server knows, do not hold the newest state.
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

/// Figures of one part of the day, with the names that programs read.
struct BadDayRow: Encodable, Sendable {
    var phase: String
    var seconds: Double
    var changes: Int
    /// Pushes that arrived at APNs, with any result.
    var arrived: Int
    /// Pushes that took effect.
    var accepted: Int
    var mostInASecond: Int?
    /// Phones that did not hold the newest state at the end of this part.
    var behind: Int
    /// Phones that, as far as the server knew, did not hold it.
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
