import APNSModel
import HTTPTypes
import JSONText
import LiveActivityAPI
import LiveActivityCore
import LiveActivityStorage
import Logging

/// The calls that replay a recorded day under another policy.
enum WhatIfCalls {
    private static let longest = 24

    /// `POST /v1/types/{type}/what-if`: replays a recorded day under a type's policy and under a changed one.
    ///
    /// It changes nothing. Only one trial runs at a time, for at most `Limits.trialTime`.
    @Sendable static func play(_ call: Call) async throws(Problem) -> Answer {
        let type = try call.type(call.parameters["type"] ?? "", pointer: nil)
        guard let trials = call.services.trials else {
            throw Problem(
                .notFound, "this server cannot try a policy", fix: "ask an `islet serve`, which has the configuration")
        }
        let request = try call.decode(WhatIfRequest.self)
        let (from, to) = try period(request, now: call.now)
        let present = type.policy.described
        var changed = type
        do throws(PolicyTrials.Faults) {
            changed.policy = try trials.policy(present, request.policy)
        } catch {
            throw Problem(error)
        }
        let place = call.services.trialPlace
        guard place.enter() else {
            throw Problem(
                .rateLimited, "another policy trial is running, and only one can run at a time",
                fix: "repeat the call later",
                headers: [.retryAfter: "5"])
        }
        defer { place.leave() }
        let limits = call.services.limits
        let reader = DayReader(
            store: call.services.store, app: call.app.bundleID, type: type.name, limits: limits.trial)
        let day = try await call.ask { () async throws(StorageError) in try await reader.day(from: from, to: to) }
        let clock = call.services.time.monotonic
        let end = clock() + limits.trialTime
        let isOver: @Sendable () -> Bool = { clock() >= end }
        let now = try await figures(.init(day: day, app: call.app, type: type, isOver: isOver), trials, call)
        let then = try await figures(.init(day: day, app: call.app, type: changed, isOver: isOver), trials, call)
        return try Answer(
            WhatIfAnswer(
                from: Instant(from), to: Instant(to), activities: day.activities.count, changes: day.changes,
                phones: day.phones.count, isPart: day.isPart, policy: changed.policy.described,
                sent: .init(recorded: day.sent), now: .init(played: now), then: .init(played: then),
                unknown: day.unknown))
    }

    private static func figures(
        _ trial: PolicyTrials.Trial, _ trials: PolicyTrials, _ call: Call
    ) async throws(Problem) -> DayFigures {
        do {
            return try await trials.play(trial)
        } catch is PolicyTrials.Stopped {
            throw Problem(
                .trialTooLong, "the day was not played within \(call.services.limits.trialTime.components.seconds) s",
                fix: "ask for fewer hours")
        } catch is CancellationError {
            throw Problem(.overloaded, "the trial was given up", headers: [.retryAfter: "1"])
        } catch {
            call.services.logger.error("a policy could not be tried", metadata: ["error": "\(error)"])
            throw Problem(.internalError, "the day could not be played")
        }
    }

    private static func period(
        _ request: WhatIfRequest, now: UnixTime
    ) throws(Problem) -> (from: UnixTime, to: UnixTime) {
        let to = request.to.map { min(UnixTime($0), now) } ?? now
        if let hours = request.hours {
            guard request.from == nil else {
                throw .invalid("/hours", "beside `from`", expected: "`hours` or `from`, not both")
            }
            guard 1...longest ~= hours else {
                throw .invalid("/hours", "too few or too many", expected: "1 to \(longest)", given: "\(hours)")
            }
        }
        let from = request.from.map { UnixTime($0) } ?? to - .seconds((request.hours ?? longest) * 3600)
        guard from < to else { throw .invalid("/from", "not before `to`, or in the future", expected: "a time before") }
        guard to - from <= .seconds(longest * 3600) else {
            throw .invalid("/from", "more than \(longest) hours before `to`", expected: "at most \(longest) hours")
        }
        return (from, to)
    }
}

extension Problem {
    /// Creates a refusal of an invalid policy, with every place that is wrong.
    fileprivate init(_ faults: PolicyTrials.Faults) {
        let first = faults.all.first
        self.init(
            .invalidBody, first.map { "/policy\($0.pointer): \($0.problem)" } ?? "the policy means nothing",
            pointer: first.map { "/policy\($0.pointer)" }, expected: first?.problem,
            fix: "docs/policy.md explains every key")
        errors = faults.all.prefix(20).map { .init(pointer: "/policy\($0.pointer)", expected: $0.problem) }
    }
}

extension WhatIfAnswer.Figures {
    fileprivate init(recorded figures: DayFigures) {
        self.init(
            pushes: figures.pushes, starts: figures.starts, updates: figures.updates, ends: figures.ends,
            fallbacks: figures.fallbacks, high: figures.high, low: figures.low, alerts: figures.alerts,
            reasons: Self.codes(figures.reasons),
            changes: .init(
                sent: figures.changes.sent, together: figures.changes.together, unsent: figures.changes.unsent),
            endedIdle: figures.endedIdle)
        guard let p50 = figures.wait(0.5), let p95 = figures.wait(0.95), let longest = figures.waits.last else {
            return
        }
        delay = .init(p50: p50 / .seconds(1), p95: p95 / .seconds(1), longest: longest / .seconds(1))
    }

    fileprivate init(played figures: DayFigures) {
        self.init(recorded: figures)
        held = Self.codes(figures.held)
        lowered = .init(byInterval: figures.loweredByInterval, byBudget: figures.loweredByBudget)
        refused = figures.refused
    }

    private static func codes(_ counts: [LiveActivityCore.Reason.Code: Int]) -> [String: Int] {
        Dictionary(uniqueKeysWithValues: counts.map { ($0.key.rawValue, $0.value) })
    }
}
