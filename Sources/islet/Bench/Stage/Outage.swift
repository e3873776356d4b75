import Foundation
import JSONText

/// An outage of APNs, during which activities of one phone each change, and its end.
struct Outage: Sendable {
    let bench: BenchStage
    let population: Population
    let streams: Int
    let minutes: Double

    /// Longest time after the last change in which the lanes that met the fault back off.
    private static let settling = Duration.seconds(60)
    private static let change = 2

    /// Runs the outage and returns its figures.
    ///
    /// - Throws: `CommandError` if a phone lacks the change at the end or has a second card, or if more or fewer pushes
    ///   were accepted than were due.
    func run() async throws -> OutageRow {
        let count = population.activities
        let accepted = try await bench.crowd.totals().accepted
        try await bench.stage.control.call(
            .PUT, "/v1/faults", ["faults": [["effect": "refuse", "status": 503, "reason": "ServiceUnavailable"]]])
        Progress.say("APNs answers 503 from now on; changing \(count) activities")
        try await bench.calls.make(count, streams: streams) { population.change($0, step: Self.change) }
        let time = Duration.seconds(60) * minutes
        try await Task.sleep(for: min(Self.settling, time))

        let (before, use) = (try await bench.metrics(), try bench.use())
        Progress.say("measuring \(minutes) minutes of the outage")
        try await Task.sleep(for: time)
        let (after, used) = (try await bench.metrics(), try bench.use())
        func perMinute(_ metric: String) -> Double? {
            after.growth(of: metric, since: before).map { ($0 / minutes).digits(1) }
        }

        try await bench.stage.control.call(.DELETE, "/v1/faults")
        Progress.say("APNs answers again")
        let begin = ContinuousClock.now
        try await bench.crowd.wait(for: Population.state(Self.change), members: count)
        let seconds = (ContinuousClock.now - begin).inSeconds
        try await bench.quiet()
        let totals = try await bench.crowd.totals()
        let pushes = totals.accepted - accepted
        guard pushes == count else { throw CommandError("\(pushes) pushes were accepted, \(count) were due") }
        try totals.checkCards()
        let all = try bench.use()
        return OutageRow(
            activities: count, minutes: minutes,
            cpuMillisecondsPerMinute: ((used.cpuSeconds - use.cpuSeconds) / minutes * 1000).digits(0),
            rowsPerMinute: perMinute("islet_store_rows_written_total"),
            statementsPerMinute: perMinute("islet_store_statements_total"),
            bytesPerMinute: perMinute("islet_store_bytes_written_total"),
            recoverySeconds: seconds.digits(1),
            recoveryMicrosecondsPerPush: ((all.cpuSeconds - used.cpuSeconds) / Double(count) * 1e6).digits(1),
            peakMegabytes: all.peakBytes.megabytes)
    }
}

/// Figures of the run, with the names that programs read. Figures that could not be measured are absent.
struct OutageRow: Encodable, Sendable {
    var activities: Int
    var minutes: Double
    var cpuMillisecondsPerMinute: Double
    var rowsPerMinute: Double?
    var statementsPerMinute: Double?
    var bytesPerMinute: Double?
    /// Seconds from APNs's recovery until the last phone held its state.
    var recoverySeconds: Double
    /// Processor time of the server in the recovery.
    var recoveryMicrosecondsPerPush: Double
    var peakMegabytes: Double

    enum CodingKeys: String, CodingKey {
        case activities, minutes
        case cpuMillisecondsPerMinute = "server_cpu_ms_per_minute"
        case rowsPerMinute = "rows_per_minute"
        case statementsPerMinute = "statements_per_minute"
        case bytesPerMinute = "bytes_per_minute"
        case recoverySeconds = "recovery_seconds"
        case recoveryMicrosecondsPerPush = "recovery_cpu_us_per_push"
        case peakMegabytes = "peak_mb"
    }
}
