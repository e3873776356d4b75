import APNSSimulator
import Foundation
import JSONText
import LiveActivityAPI
import Synchronization

/// A rush of starts during which APNs stops answering, and the alerts that the server raises.
struct Alarm: Sendable {
    let bench: BenchStage
    let starts: Int
    let phones: Int
    let rate: Int
    let streams: Int
    /// `true` if the run ends without waiting for APNs's recovery.
    let isBrief: Bool

    private static let alert = "IsletLate"
    private static let heldBack = "IsletRouteDown"
    /// Delay after which a state counts as late, as in the alert's rule.
    private static let lateAfter = Duration.seconds(10)
    /// Maximum time from the first late state to the alert.
    private static let limit = Duration.seconds(60)
    /// Maximum time from APNs's recovery to the end of the alert. The rule looks back one minute, and a probe waits for
    /// another.
    private static let overLimit = Duration.seconds(300)
    private static let pollInterval = Duration.milliseconds(500)
    /// Number of batches of starts per second.
    private static let batchesPerSecond = 4

    /// Observations with their times.
    private struct Sight: Sendable {
        var stoppedAt: ContinuousClock.Instant?
        var firedAt: ContinuousClock.Instant?
        var names: Set<String> = []
        var firedEarly = false
    }

    private final class Seen: Sendable {
        private let sight = Mutex(Sight())

        func change<Value: Sendable>(_ body: @Sendable (inout Sight) -> Value) -> Value {
            sight.withLock { body(&$0) }
        }
    }

    func run() async throws -> AlarmRow {
        try await register()
        let seen = Seen()
        let before = try await bench.crowd.totals().accepted
        Progress.say("starting \(starts) cards, \(rate) a second")
        let setSeconds = try await withThrowingTaskGroup(of: Double?.self) { group in
            group.addTask { try await start { seen.change { $0.stoppedAt = .now } } }
            group.addTask {
                try await watch(seen)
                return nil
            }
            var seconds = 0.0
            for try await one in group { seconds = one ?? seconds }
            return seconds
        }
        let accepted = try await bench.crowd.totals().accepted - before
        let metrics = try await bench.metrics()
        let overAfter = isBrief ? nil : try await recover()
        let result = seen.change { $0 }
        guard let stoppedAt = result.stoppedAt, let firedAt = result.firedAt else {
            throw CommandError("\(Self.alert) did not fire")
        }
        guard !result.firedEarly else { throw CommandError("\(Self.alert) fired before APNs stopped answering") }
        return AlarmRow(
            starts: starts, phones: phones, setSeconds: setSeconds.digits(1), acceptedBefore: accepted,
            late: Int(metrics["islet_delivery_failed_lag_seconds_count"] ?? 0),
            firedAfterStop: (firedAt - stoppedAt).inSeconds.digits(1),
            firedAfterLag: (firedAt - stoppedAt - Self.lateAfter).inSeconds.digits(1),
            alerts: result.names.sorted().joined(separator: " "),
            overAfter: overAfter?.digits(1),
            residentMegabytes: try bench.use().residentBytes.megabytes)
    }

    /// Restores APNs and waits.
    ///
    /// - Returns: Seconds from APNs's recovery until no alert about late states fires.
    private func recover() async throws -> Double {
        try await bench.stage.control.call(.DELETE, "/v1/faults")
        let begin = ContinuousClock.now
        Progress.say("APNs answers again")
        // While everything is held back there is no lag to measure, and the second alert fires in place of the first.
        try await Waiting.until("no alert of lateness fires", within: Self.overLimit) {
            try await firing().isDisjoint(with: [Self.alert, Self.heldBack])
        }
        return (ContinuousClock.now - begin).inSeconds
    }

    /// Registers phones with a push-to-start token and without cards.
    private func register() async throws {
        Progress.say("registering \(phones) phones")
        let population = Population(activities: phones, phones: 1)
        try await bench.crowd.make(phones)
        try await bench.calls.make(phones, streams: streams) { population.device($0) }
        try await bench.calls.make(phones, streams: streams) { population.startToken($0) }
        try await bench.quiet()
    }

    /// Sets activities at the given rate, distributed over the phones. APNs stops answering after a quarter of them.
    ///
    /// - Returns: Duration in seconds.
    private func start(_ onStop: @Sendable () -> Void) async throws -> Double {
        let population = Population(activities: starts, phones: 1)
        let size = max(1, rate / Self.batchesPerSecond)
        let begin = ContinuousClock.now
        var count = 0
        var hasStopped = false
        while count < starts {
            if !hasStopped, count >= starts / 4 {
                hasStopped = true
                try await bench.stage.control.call(.PUT, "/v1/faults", ["faults": [["effect": "stall"]]])
                onStop()
                Progress.say("APNs answers nothing from now on")
            }
            let end = min(count + size, starts)
            try await bench.calls.makeTogether(
                (count..<end).map { population.start($0, on: $0 % phones) })
            count = end
            try await Task.sleep(until: begin + .seconds(1) / rate * count, clock: .continuous)
        }
        return (ContinuousClock.now - begin).inSeconds
    }

    /// Polls the alerts until the expected one fires, or throws at the time limit.
    private func watch(_ seen: Seen) async throws {
        while true {
            let names = try await firing()
            let now = ContinuousClock.now
            let stoppedAt = seen.change { seen in
                seen.names.formUnion(names)
                guard names.contains(Self.alert), seen.firedAt == nil else { return seen.stoppedAt }
                seen.firedAt = now
                seen.firedEarly = seen.stoppedAt == nil
                return seen.stoppedAt
            }
            if names.contains(Self.alert) {
                Progress.say("\(Self.alert) fires")
                return
            }
            if let stoppedAt, now - stoppedAt > Self.lateAfter + Self.limit {
                throw CommandError("\(Self.alert) does not fire within \(Self.limit) of the first late state")
            }
            try await Task.sleep(for: Self.pollInterval)
        }
    }

    private func firing() async throws -> Set<String> {
        let list = try await bench.stage.islet.call(.GET, "/v1/alerts").decode(AlertList.self)
        return Set(list.alerts.map(\.name))
    }
}

/// Figures of the run, with the names that programs read.
struct AlarmRow: Encodable, Sendable {
    var starts: Int
    var phones: Int
    var setSeconds: Double
    /// Number of starts that APNs accepted, before and during its outage.
    var acceptedBefore: Int
    /// Number of attempts that delivered a state late, or not at all.
    var late: Int
    var firedAfterStop: Double
    /// Seconds from the first late state to the alert.
    var firedAfterLag: Double
    /// Names of all alerts that fired until then.
    var alerts: String
    /// Seconds from APNs's recovery to the end of the alert; `nil` if the run did not wait for it.
    var overAfter: Double?
    var residentMegabytes: Double

    enum CodingKeys: String, CodingKey {
        case starts, phones, alerts
        case setSeconds = "set_seconds"
        case acceptedBefore = "accepted_starts"
        case late = "failed_attempts"
        case firedAfterStop = "fired_after_stop_seconds"
        case firedAfterLag = "fired_after_lag_seconds"
        case overAfter = "over_after_seconds"
        case residentMegabytes = "rss_mb"
    }
}
