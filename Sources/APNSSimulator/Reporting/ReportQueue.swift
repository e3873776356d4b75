internal import APNSModel

/// What one app has to tell its backend: in order, one at a time, again after a failure.
struct ReportQueue: Sendable {
    private enum Phase: Sendable, Hashable {
        /// Nobody was asked to deliver.
        case idle
        /// Somebody was asked to, or is at it.
        case underWay
        /// After a failure.
        case pausing(until: UnixTime)
    }

    private var phase = Phase.idle
    private(set) var reports: [PhoneReport] = []
    private var failures = 0

    /// When to ask again.
    var due: UnixTime? {
        if case .pausing(let until) = phase { until } else { nil }
    }

    /// - Returns: Whether the oldest report was dropped for it.
    mutating func append(_ report: PhoneReport, limits: ReportLimits) -> Bool {
        reports.append(report)
        guard reports.count > limits.waiting else { return false }
        // The first may be under way.
        reports.remove(at: 1)
        return true
    }

    /// Whether somebody has to be asked to deliver now.
    mutating func shouldStart(isOnline: Bool, now: UnixTime) -> Bool {
        guard isOnline, !reports.isEmpty else { return false }
        switch phase {
        case .idle: break
        case .underWay: return false
        case .pausing(let until): guard until <= now else { return false }
        }
        phase = .underWay
        return true
    }

    /// The report to deliver; `nil` ends the delivery.
    mutating func next(isOnline: Bool) -> PhoneReport? {
        guard isOnline, let first = reports.first else {
            phase = .idle
            return nil
        }
        return first
    }

    /// The first report has arrived.
    mutating func succeeded() {
        failures = 0
        if !reports.isEmpty { reports.removeFirst() }
    }

    /// The first report has not arrived.
    ///
    /// - Returns: Whether it was tried often enough and is given up.
    mutating func failed(limits: ReportLimits, now: UnixTime) -> Bool {
        failures += 1
        guard failures < limits.attempts else {
            failures = 0
            phase = .idle
            if !reports.isEmpty { reports.removeFirst() }
            return true
        }
        let pause = limits.firstPause * (1 << min(failures - 1, 20))
        phase = .pausing(until: now + min(pause, limits.longestPause))
        return false
    }
}
