import APNSModel
import LiveActivityAPI
import LiveActivityCore

/// The calls about the server's state.
enum OverviewCalls {
    /// `GET /v1/overview`: returns samples of the last 15 minutes, and the app's routes that have a problem.
    @Sendable static func overview(_ call: Call) async throws(Problem) -> Answer {
        try Answer(overview(of: call.app.bundleID, call.services.figures.all, call.services))
    }

    /// `GET /v1/nodes`: returns the servers that share the database.
    @Sendable static func nodes(_ call: Call) async throws(Problem) -> Answer { try Answer(call.services.nodes()) }

    static func overview(of app: BundleID, _ samples: [FigureSample], _ services: Services) -> Overview {
        let routes = services.delivery.routes().filter { $0.key.app == app }.map { route, status in
            Overview.RouteState(
                environment: route.environment.rawValue, state: status.isHalt ? "halted" : "inTrouble",
                code: status.reason.code.rawValue, text: status.reason.text, since: Instant(status.openSince),
                nextAttemptAt: Instant(status.nextProbeAt))
        }
        return Overview(
            startedAt: Instant(services.startedAt), version: services.version,
            interval: Int(Figures.interval.components.seconds),
            samples: samples.map { Overview.Sample($0, of: app) },
            routes: routes.sorted { $0.environment < $1.environment })
    }
}

extension Overview.Sample {
    fileprivate init(_ sample: FigureSample, of app: BundleID) {
        var verdicts: [String: Int] = [:]
        var reasons: [String: Int] = [:]
        for (outcome, count) in sample.pushes where outcome.app == app.text {
            verdicts[outcome.verdict, default: 0] += count
            if outcome.verdict != "accepted" {
                let reason = outcome.reason == "none" ? outcome.verdict : outcome.reason
                reasons[reason, default: 0] += count
            }
        }
        self.init(
            at: Instant(sample.at), pushes: verdicts, reasons: reasons,
            lag: Overview.Histogram(bounds: sample.lag.bounds, counts: sample.lag.counts))
        failedLag = Overview.Histogram(bounds: sample.failedLag.bounds, counts: sample.failedLag.counts)
        inFlight = sample.inFlight
        queued = sample.connections.reduce(0) { $0 + $1.queued }
        connections = sample.connections.reduce(0) { $0 + $1.connections }
        streams = sample.connections.reduce(0) { $0 + $1.streams }
        streamLimit = sample.connections.reduce(0) { $0 + $1.streamLimit }
        queueAge = sample.queueAge.map { $0 / .seconds(1) }
        waiting = sample.waiting
        memory = sample.memory
        budgets = Overview.Budgets(sample.tally, of: app)
    }
}

extension Overview.Budgets {
    fileprivate init(_ tally: Tally, of app: BundleID) {
        func left(_ kind: BudgetRecord.Kind) -> Overview.Histogram? {
            tally.measures[.budgetLeft(app, kind)].map { .init(bounds: $0.bounds, counts: $0.counts) }
        }
        self.init(
            high: left(.high), start: left(.start),
            startsPutOff: tally.counts.reduce(0) { sum, counted in
                guard case .startPutOff(app, type: _) = counted.key else { return sum }
                return sum + counted.value
            })
    }
}
