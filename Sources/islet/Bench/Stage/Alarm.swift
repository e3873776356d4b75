import APNSSimulator
import Foundation
import JSONText
import LiveActivityAPI
import Synchronization

/// A rush of starts in the middle of which APNs stops answering, and what the server says of it.
struct Alarm: Sendable {
    let bench: BenchStage
    let starts: Int
    let phones: Int
    let rate: Int
    let streams: Int
    /// It ends without APNs's recovery.
    let isBrief: Bool

    private static let alert = "IsletLate"
    private static let heldBack = "IsletRouteDown"
    /// A state is late after this: the rule's own level.
    private static let lateAfter = Duration.seconds(10)
    /// From then on the alert has this long.
    private static let limit = Duration.seconds(60)
    /// And this long to be over, once APNs answers: the rule looks back on a minute, and a probe waits for another.
    private static let overLimit = Duration.seconds(300)
    private static let pollInterval = Duration.milliseconds(500)
    /// Batches of starts in a second.
    private static let batchesPerSecond = 4

    /// When what was seen.
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

    /// - Returns: The seconds from the moment at which APNs answers again until nothing says that states are late.
    private func recover() async throws -> Double {
        try await bench.stage.control.call(.DELETE, "/v1/faults")
        let begin = ContinuousClock.now
        Progress.say("APNs answers again")
        // Where all is held back there is no lag to tell: then it is the other one that says so.
        try await Waiting.until("no alert of lateness fires", within: Self.overLimit) {
            try await firing().isDisjoint(with: [Self.alert, Self.heldBack])
        }
        return (ContinuousClock.now - begin).inSeconds
    }

    /// Phones with a push-to-start token, and nothing on them.
    private func register() async throws {
        Progress.say("registering \(phones) phones")
        let population = Population(activities: phones, phones: 1)
        try await bench.crowd.make(phones)
        try await bench.calls.make(phones, streams: streams) { population.device($0) }
        try await bench.calls.make(phones, streams: streams) { population.startToken($0) }
        try await bench.quiet()
    }

    /// Sets activities at the rate, one after the other on each phone; after a quarter of them APNs stops answering.
    ///
    /// - Returns: The seconds that it took.
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

    /// Asks which alerts fire, until the one does or its time is over.
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

/// What came of the day, by the names that programs read.
struct AlarmRow: Encodable, Sendable {
    var starts: Int
    var phones: Int
    var setSeconds: Double
    /// Starts that APNs took, before and while it stopped.
    var acceptedBefore: Int
    /// Attempts that brought a state late, or not at all.
    var late: Int
    var firedAfterStop: Double
    /// Since the first state was late.
    var firedAfterLag: Double
    /// Every alert that fired until then.
    var alerts: String
    /// Since APNs answers again; `nil` where that was not awaited.
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
