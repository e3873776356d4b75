package import APNSModel
package import LiveActivityCore
import LiveActivityStorage
import Logging

/// The connections to APNs of one environment, added up.
package struct ConnectionReading: Sendable, Equatable {
    package var environment: APNSEnvironment
    package var connections = 0
    package var streams = 0
    package var streamLimit = 0
    package var queued = 0
    package var clockSkew: Duration?

    package init(_ environment: APNSEnvironment) {
        self.environment = environment
    }
}

/// The state of delivery to APNs, requested anew at each reading.
package struct DeliverySources: Sendable {
    /// The routes that have a problem, with its reason.
    package var routes: @Sendable () -> [PushRoute: CircuitBoard.Status]
    /// One reading for each environment.
    package var connections: @Sendable () -> [ConnectionReading]

    package init(
        routes: @escaping @Sendable () -> [PushRoute: CircuitBoard.Status] = { [:] },
        connections: @escaping @Sendable () -> [ConnectionReading] = { [] }
    ) {
        self.routes = routes
        self.connections = connections
    }
}

/// The sources of the figures of `GET /metrics` outside the store.
package struct MetricsSources: Sendable {
    package let registry: MetricsRegistry
    let version: String
    let startedAt: UnixTime
    let connections: @Sendable () -> [ConnectionReading]
    /// `true` if `GET /metrics` is served. Otherwise only alerts and the overview use the figures.
    package var isServed = true
    /// `true` if `GET /metrics` needs a key of the scope `read`.
    package var needsKey = false
    /// `true` if a separate listener serves `GET /metrics`, and the API's own address does not.
    package var listensApart = false

    /// - Parameters:
    ///   - startedAt: The time when the process started.
    ///   - connections: Called at each reading. Returns one reading for each environment.
    package init(
        registry: MetricsRegistry, version: String, startedAt: UnixTime,
        connections: @escaping @Sendable () -> [ConnectionReading] = { [] }
    ) {
        self.registry = registry
        self.version = version
        self.startedAt = startedAt
        self.connections = connections
    }
}

/// All metrics at one instant.
struct MetricsPage {
    let sources: MetricsSources
    let services: Services
    /// `true` to log failures of the store. `false` for readings every few seconds.
    var saysFailures = true

    func text() async -> String {
        let wanted = Set(Metric.allCases)
        let families = Dictionary(
            await families(wanted).map { ($0.metric, $0) }, uniquingKeysWith: { first, _ in first })
        // Metrics without a value are written too, without series. A name that is missing is then misspelled.
        return PrometheusText.write(Metric.allCases.map { families[$0] ?? MetricFamily($0, []) })
    }

    /// Returns the wanted metrics, and reads no source that has none of them.
    ///
    /// If the store does not answer, its metrics are missing, because the others are needed most in that case.
    func families(_ wanted: Set<Metric>) async -> [MetricFamily] {
        var read = sources.registry.families + process() + connections() + streams() + alerts() + health()
        do throws(StorageError) {
            let statistics = try await services.store.statistics()
            read += store(statistics) + TallyFamilies(statistics.tally, services.apps).all
            if !wanted.isDisjoint(with: [.webhookWaiting, .webhookBehind, .webhookDead, .webhookOff]) {
                read += try await webhooks()
            }
            if !wanted.isDisjoint(with: [.queueDepth, .startsOpen]) {
                read += backlog(try await services.store.backlog(at: services.time.wall()))
            }
            if wanted.contains(.devices) { read.append(try await devices()) }
            if wanted.contains(.channelQueueAge) { read.append(try await channels()) }
        } catch {
            if saysFailures {
                services.logger.error("the store's statistics could not be read", metadata: ["error": "\(error)"])
            }
        }
        return read.filter { wanted.contains($0.metric) }.map(\.bounded)
    }

    private func health() -> [MetricFamily] {
        let health = services.store.health
        let failures = [("read", health.failedReads), ("write", health.failedWrites)]
        return [
            MetricFamily(.storeFailures, failures.map { .init([$0], .number(Double($1))) }),
            MetricFamily(.storeWriting, health.writing.seconds),
        ]
    }

    private func backlog(_ backlog: Backlog) -> [MetricFamily] {
        [
            MetricFamily(
                .queueDepth,
                [("lanes", backlog.lanes), ("notifications", backlog.notifications)].map { work, count in
                    MetricFamily.Series([work], .number(Double(count)))
                }),
            MetricFamily(.startsOpen, backlog.openStarts),
        ]
    }

    private func devices() async throws(StorageError) -> MetricFamily {
        let (census, store) = (services.census, services.store)
        let counts = try await census.value(at: services.time.monotonic()) { () async throws(StorageError) in
            try await store.deviceCounts()
        }
        let apps = services.apps.keys.sorted { $0.text < $1.text }
        return MetricFamily(.devices, apps.map { .init([$0.text], .number(Double(counts[$0] ?? 0))) })
    }

    private func channels() async throws(StorageError) -> MetricFamily {
        let due = try await services.store.nextChannelAt()
        return MetricFamily(.channelQueueAge, max(due.map { services.time.wall() - $0 } ?? .zero, .zero).seconds)
    }

    private func alerts() -> [MetricFamily] {
        let counts = services.alerts.book.counts
        return [
            MetricFamily(
                .alertsFiring,
                AlertRule.all.map { .init([$0.name, $0.severity.rawValue], .number(Double(counts[$0.name] ?? 0))) })
        ]
    }

    private func store(_ statistics: StoreStatistics) -> [MetricFamily] {
        let age = statistics.earliestDue.map { services.time.wall() - $0 } ?? .zero
        return [
            MetricFamily(.queueAge, max(age, .zero).seconds),
            MetricFamily(.storeCommits, statistics.commits),
            MetricFamily(
                .storeCommands,
                CommandRank.allCases.map { rank in
                    MetricFamily.Series([rank.name], .number(Double(statistics.commands[rank] ?? 0)))
                }),
            MetricFamily(.storeGroupSize, [.init([], .buckets(statistics.groupSizes))]),
            MetricFamily(.storeCommitSeconds, [.init([], .buckets(statistics.commitSeconds))]),
            MetricFamily(.storeWaiting, statistics.waiting),
            MetricFamily(.storeStatements, statistics.statements),
            MetricFamily(.storeRowsWritten, statistics.rowsWritten),
            MetricFamily(.storeBytesWritten, statistics.bytesWritten),
            MetricFamily(
                .storeErasedRows,
                statistics.erased.sorted { $0.key < $1.key }.map { table, count in
                    MetricFamily.Series([table], .number(Double(count)))
                }),
            MetricFamily(.storeDamagedRows, statistics.damagedRows),
        ]
    }

    /// Returns the metrics of the configured webhooks.
    private func webhooks() async throws(StorageError) -> [MetricFamily] {
        guard !services.webhooks.isEmpty else { return [] }
        let newest = try await services.store.eventSpan().newest
        var series: [Metric: [MetricFamily.Series]] = [:]
        for place in try await services.store.webhooks() where services.webhooks[place.key] != nil {
            let counts = try await services.store.deliveryCounts(of: place.key)
            func add(_ metric: Metric, _ value: Int) {
                series[metric, default: []].append(
                    .init([place.key.app.text, place.key.name], .number(Double(value))))
            }
            add(.webhookWaiting, counts.waiting)
            add(.webhookBehind, Int(max(0, newest - place.position)))
            add(.webhookDead, counts.dead)
            add(.webhookOff, place.disabledAt == nil ? 0 : 1)
        }
        return series.map { MetricFamily($0.key, $0.value) }
    }

    private func streams() -> [MetricFamily] {
        [
            MetricFamily(.eventStreams, services.events.count),
            MetricFamily(
                .eventsSent,
                services.events.sent.sorted { $0.key.text < $1.key.text }.map { app, count in
                    MetricFamily.Series([app.text], .number(Double(count)))
                }),
        ]
    }

    private func connections() -> [MetricFamily] {
        let readings = sources.connections()
        func family(_ metric: Metric, _ value: (ConnectionReading) -> Double?) -> MetricFamily {
            MetricFamily(
                metric,
                readings.compactMap { reading in
                    value(reading).map { .init([reading.environment.rawValue], .number($0)) }
                })
        }
        return [
            family(.apnsConnections) { Double($0.connections) }, family(.apnsStreams) { Double($0.streams) },
            family(.apnsStreamLimit) { Double($0.streamLimit) }, family(.apnsQueued) { Double($0.queued) },
            family(.apnsClockSkew) { $0.clockSkew?.seconds }, trouble(),
        ]
    }

    /// Returns the trouble of every configured route. A route without a problem has 0.
    private func trouble() -> MetricFamily {
        let (routes, now) = (services.delivery.routes(), services.time.wall())
        var series: [MetricFamily.Series] = []
        for app in services.apps.values.sorted(by: { $0.bundleID.text < $1.bundleID.text }) {
            for environment in app.environments.sorted(by: { $0.rawValue < $1.rawValue }) {
                let since = routes[PushRoute(app.bundleID, environment)]?.openSince
                let seconds = since.map { max(now - $0, .zero).seconds } ?? 0
                series.append(.init([app.bundleID.text, environment.rawValue], .number(seconds)))
            }
        }
        return MetricFamily(.apnsTrouble, series)
    }

    private func process() -> [MetricFamily] {
        var families = [
            MetricFamily(.buildInfo, [.init([sources.version], .number(1))]),
            MetricFamily(.startTime, Double(sources.startedAt.milliseconds) / 1000),
        ]
        guard let reading = ProcessReading.now() else { return families }
        families.append(MetricFamily(.residentBytes, reading.residentBytes))
        families.append(MetricFamily(.cpuSeconds, reading.cpuSeconds))
        families.append(MetricFamily(.openFiles, reading.openFiles))
        return families
    }
}

extension Duration {
    fileprivate var seconds: Double { self / .seconds(1) }
}

extension MetricFamily {
    /// The family with a limited number of series. The rest of counters and histograms is merged into one series, whose
    /// labels are all `other`.
    var bounded: MetricFamily {
        let most = MetricsRegistry.maximumSeries
        guard series.count > most + 1 else { return self }
        let sorted = series.sorted { $0.labels.lexicographicallyPrecedes($1.labels) }
        let others = metric.labels.map { _ in MetricsRegistry.overflow }
        var number = 0.0
        var buckets = BucketCounts(bounds: metric.bounds)
        for one in sorted[most...] {
            switch one.value {
            case .number(let value): number += value
            case .buckets(let counts): buckets.add(counts)
            }
        }
        switch metric.kind {
        case .counter: return MetricFamily(metric, sorted[..<most] + [Series(others, .number(number))])
        case .histogram: return MetricFamily(metric, sorted[..<most] + [Series(others, .buckets(buckets))])
        case .gauge: return MetricFamily(metric, Array(sorted[..<most]))
        }
    }
}
