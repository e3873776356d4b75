import APNSModel
import LiveActivityCore
import LiveActivityServer
import TestSupport
import Testing

@testable import LiveActivityDelivery

@Suite(.timeLimit(.minutes(10)))
struct MetricsTests {
    static let outcomes: [(SettleFlight.Outcome, verdict: String, reason: String)] = [
        (.answered(.success(PushAnswer(status: 200))), "accepted", "none"),
        (answer(410, .unregistered), "token_dead", "Unregistered"),
        (answer(400, .badDeviceToken), "token_dead", "BadDeviceToken"),
        (answer(400, .deviceTokenNotForTopic), "token_dead", "DeviceTokenNotForTopic"),
        (answer(429, .tooManyRequests), "slow_down", "TooManyRequests"),
        (answer(503, .serviceUnavailable), "service_trouble", "ServiceUnavailable"),
        (answer(403, .expiredProviderToken), "provider_token", "ExpiredProviderToken"),
        (answer(429, .tooManyProviderTokenUpdates), "provider_token", "TooManyProviderTokenUpdates"),
        (answer(503, .shutdown), "connection", "Shutdown"),
        (answer(403, .invalidProviderToken), "halted", "InvalidProviderToken"),
        (answer(400, .badTopic), "parked", "BadTopic"),
        (.answered(.success(PushAnswer(status: 418, reason: .unknown("Teapot-8f14e45f")))), "parked", "other"),
        (.answered(.failure(PushFailure(.unknownFate, "x"))), "unknown_fate", "unknownFate"),
        (.answered(.failure(PushFailure(.cannotConnect, "x"))), "connection", "cannotConnect"),
        (.answered(.failure(PushFailure(.refusedByPeer, "x"))), "connection", "refusedByPeer"),
        (.answered(.failure(PushFailure(.notSentInTime, "x"))), "not_sent", "notSentInTime"),
        (.answered(.failure(PushFailure(.overloaded, "x"))), "not_sent", "overloaded"),
        (.answered(.failure(PushFailure(.stopping, "x"))), "not_sent", "stopping"),
        (.answered(.failure(PushFailure(.notConfigured, "x"))), "halted", "notConfigured"),
        (.notBuilt(.missingAlertTitle), "parked", "payload"),
    ]

    private static func answer(_ status: Int, _ reason: APNSReason.Known) -> SettleFlight.Outcome {
        .answered(.success(PushAnswer(status: status, reason: .known(reason))))
    }

    @Test(arguments: outcomes.indices) func `every outcome has its verdict and reason`(index: Int) {
        let (outcome, verdict, reason) = Self.outcomes[index]
        #expect(DeliveryMetrics.Outcome(outcome) == DeliveryMetrics.Outcome(verdict: verdict, reason: reason))
    }

    @Test func `what is awaited is counted when it is known`() {
        #expect(DeliveryMetrics.Outcome(.awaited(until: Sample.now)) == nil)
    }

    @Test func `deliveries, lag, answers and what is on its way are counted`() async throws {
        // The second phone's first push has no answer until it is released.
        let sender = ScriptedSender { _, number in number == 1 ? .hold : .answer(PushAnswer(status: 200)) }
        try await withStage(sender) { stage in
            try await stage.prepare(phones: 2)
            try await stage.perform { _ async throws in
                await stage.sender.received(2)
                #expect(stage.number(.pushesInFlight) == 1)
                #expect(stage.number(.flightsOpen) == 1)
                await stage.clock.advanceToSleeper(.milliseconds(1500))
                await stage.settled(1)
                // One outcome is known, the other is awaited.
                #expect(stage.deliveries == ["update accepted none": 1])
                stage.clock.advance(by: .milliseconds(500))
                sender.release(.failure(PushFailure(.unknownFate, "lost")))
                await stage.settled(2)
                #expect(stage.deliveries == ["update accepted none": 1, "update unknown_fate unknownFate": 1])
                await stage.until { stage.number(.flightsOpen) == 0 }
                #expect(stage.number(.pushesInFlight) == 0)
                // Only APNs's own answers have a duration.
                #expect(stage.buckets(.pushAnswer)?.total == 1)
            }
        }
    }

    @Test func `the lag is that of phones that waited, and runs from the commit`() async throws {
        let sender = ScriptedSender { _, _ in .hold }
        try await withStage(sender) { stage in
            // The token came after the state, so no phone waited.
            try await stage.prepare()
            try await stage.perform { _ async throws in
                stage.clock.advance(by: .seconds(1))
                try await stage.report(token: "another")
                await stage.sender.received(1)
                sender.release()
                await stage.settled(1)
                #expect(stage.buckets(.deliveryLag)?.total == 0)
                stage.clock.advance(by: .seconds(100))
                try await stage.put(2)
                await stage.until { sender.held == 1 }
                stage.clock.advance(by: .milliseconds(700))
                sender.release()
                await stage.settled(2)
                let lag = try #require(stage.buckets(.deliveryLag))
                #expect(lag.total == 1 && lag.sum == 0.7, "\(lag)")
            }
        }
    }

    @Test func `what a long coalescing window holds back is late from its end on`() async throws {
        let window = Duration.seconds(300)
        let sender = ScriptedSender { _, _ in .hold }
        try await withStage(sender, window: window, { $0.look = window }) { stage in
            try await stage.prepare()
            try await stage.perform { _ async throws in
                await stage.sender.received(1)
                sender.release()
                await stage.settled(1)
                stage.clock.advance(by: .seconds(10))
                try await stage.put(2)
                await stage.clock.advance(through: window - .seconds(10))
                await stage.until { sender.held == 1 }
                stage.clock.advance(by: .milliseconds(700))
                sender.release(.success(PushAnswer(status: 503, reason: .known(.serviceUnavailable))))
                await stage.settled(2)
                let failed = try #require(stage.buckets(.deliveryFailedLag))
                #expect(failed.total == 1 && failed.sum == 0.7, "\(failed)")
                // The push is tried again. Its lateness counts from when it first began to go out.
                await stage.until { stage.clock.nextWake.map { $0 < .seconds(400) } ?? false }
                stage.clock.advance(by: .seconds(60))
                await stage.until { sender.held == 1 }
                sender.release()
                // Includes the first state, which went out as it was set.
                await stage.until { stage.buckets(.deliveryLag)?.total == 2 }
                let lag = try #require(stage.buckets(.deliveryLag))
                #expect(lag.total == 2 && abs(lag.sum - 60.7) < 0.001, "\(lag)")
            }
        }
    }

    @Test func `from when a state may go out is told by the window that a claim saw`() {
        let (window, set) = (Duration.seconds(300), Sample.now + .seconds(1000))
        var activity = ActivityRecord(
            number: 1, app: Sample.bundleID, id: Sample.activityID("a"), type: "order", at: Sample.now)
        func mayLeave(_ claimed: Duration) -> Duration {
            activity.mayLeaveAt(claimedAt: set + claimed, window: window) - set
        }
        (activity.changedAt, activity.lap, activity.begunLap) = (set, 3, 2)
        // Nothing holds the state; then a window holds it for two more minutes, but does not hold an alert.
        activity.holdUntil = set - .seconds(5)
        #expect(mayLeave(.seconds(20)) == .zero)
        activity.holdUntil = set + .seconds(120)
        #expect(mayLeave(.seconds(130)) == .seconds(120) && mayLeave(.seconds(1)) == .zero)
        // Once the state goes out, `holdUntil` belongs to the next window. The state went out late.
        activity.begunLap = 3
        activity.holdUntil = set + .seconds(130) + window
        #expect(mayLeave(.seconds(131)) == .seconds(130))
        activity.holdUntil = set + .seconds(3600) + window
        #expect(mayLeave(.seconds(3601)) == window)
        activity.holdUntil = set - .seconds(400) + window
        #expect(mayLeave(.seconds(1)) == .zero)
    }
}

extension Stage {
    private func series(_ metric: Metric) -> [MetricFamily.Series] {
        metrics.families.first { $0.metric == metric }?.series ?? []
    }

    fileprivate func number(_ metric: Metric) -> Double? {
        guard case .number(let value)? = series(metric).first?.value else { return nil }
        return value
    }

    /// Returns the buckets of the environment that the stage's phones are in.
    fileprivate func buckets(_ metric: Metric) -> BucketCounts? {
        guard case .buckets(let buckets)? = series(metric).first(where: { $0.labels == ["production"] })?.value else {
            return nil
        }
        return buckets
    }

    /// Number of deliveries, by kind, verdict and reason.
    fileprivate var deliveries: [String: Int] {
        var counts: [String: Int] = [:]
        for one in series(.deliveries) {
            guard case .number(let value) = one.value else { continue }
            #expect(one.labels.prefix(2) == [Sample.bundleID.text, "production"])
            counts[one.labels.dropFirst(2).joined(separator: " ")] = Int(value)
        }
        return counts
    }
}
