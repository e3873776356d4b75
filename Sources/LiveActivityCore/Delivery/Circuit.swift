package import APNSModel

/// One circuit per route: pushes that fail for a fault that is nobody's own are not tried on every phone in turn.
///
/// A circuit opens when pushes fail for service or connection trouble with no answer between that shows APNs to be
/// well, and at once for a halt. Then nothing leaves but one probe at a time: an update or an end without an alert,
/// after a backoff of a minute at most. The first healthy answer closes it.
///
/// Where no harmless push waits for a minute after a probe was due, one push of any kind may leave, even a start or an
/// alert: a fleet of nothing but starts would wait for ever otherwise. Its fate, if it is lost, costs one phone.
package struct CircuitBoard: Sendable {
    /// Flights in a row without a healthy answer that open a circuit, when they hit as many phones.
    package static let failingFlights = 3
    /// Pushes in a row without a healthy answer that open it.
    package static let failingPushes = 50
    /// A probe's answer is there after this; else another may go.
    package static let probeLimit = Duration.seconds(15)
    /// How long a harmless push is waited for, before any will do.
    package static let patience = Duration.seconds(60)
    /// Who is held back while a probe is on its way, or may be about to, looks again after this.
    package static let probeAnswer = Duration.seconds(2)
    /// Who is held back while there is nothing to probe with looks again after this.
    package static let probeSearch = Duration.seconds(15)

    /// What is worth one line in a log.
    package enum Change: Sendable, Equatable {
        case opened(RouteTrouble, next: UnixTime)
        case closed(openFor: Duration)
    }

    /// How a route stands, for those who ask.
    package struct Status: Sendable, Equatable {
        package var openSince: UnixTime
        package var nextProbeAt: UnixTime
        package var isProbing: Bool
        package var reason: Reason
        package var isHalt: Bool
    }

    private enum Phase: Equatable {
        /// Nothing leaves until then; from then on a probe is wanted. `isPoor`: one was looked for in vain.
        case resting(until: UnixTime, isPoor: Bool)
        case probing(since: UnixTime)
    }

    private struct Opening {
        var since: UnixTime
        var tries: Int
        var trouble: RouteTrouble
        var phase: Phase
    }

    private struct Line {
        /// Grows with each opening and closing, and when a probe is given up.
        var life = 0
        var flights = 0
        var pushes = 0
        var phones: Set<DeviceKey> = []
        var opening: Opening?

        mutating func forget() {
            flights = 0
            pushes = 0
            phones = []
        }
    }

    private var lines: [PushRoute: Line] = [:]

    package init() {}

    // MARK: - What came of flights

    /// Works in what a flight's answers say about a route.
    ///
    /// - Parameter gate: The one that the flight was claimed under. What left before the route last opened or closed
    ///   says nothing about it now.
    package mutating func record(
        _ route: PushRoute, _ tally: RouteTally, under gate: CircuitGate, at now: UnixTime, dice: Double
    ) -> Change? {
        var line = lines[route] ?? Line()
        guard !tally.isEmpty, gate.lives[route, default: 0] == line.life else { return nil }
        defer { lines[route] = line }
        guard let opening = line.opening else { return recordHealthy(&line, tally, now, dice) }
        if tally.healthy > 0, tally.trouble.map({ !$0.isHalt }) ?? true {
            line.opening = nil
            line.life += 1
            return .closed(openFor: max(.zero, now - opening.since))
        }
        if case .probing = opening.phase, let trouble = tally.trouble {
            rest(&line, trouble, tries: opening.tries + 1, since: opening.since, now, dice)
        }
        return nil
    }

    private func recordHealthy(
        _ line: inout Line, _ tally: RouteTally, _ now: UnixTime, _ dice: Double
    ) -> Change? {
        guard let trouble = tally.trouble, trouble.isHalt || tally.healthy == 0 else {
            line.forget()
            return nil
        }
        line.flights += 1
        line.pushes += tally.troubled
        if line.phones.count < RouteTally.phonesKept { line.phones.formUnion(tally.troubledPhones) }
        // One phone that always meets a fault is no fault of the route, however often it is tried.
        let isRow = line.flights >= Self.failingFlights && line.phones.count >= Self.failingFlights
        guard trouble.isHalt || isRow || line.pushes >= Self.failingPushes && line.phones.count > 1 else { return nil }
        line.forget()
        line.life += 1
        return .opened(trouble, next: rest(&line, trouble, tries: 1, since: now, now, dice))
    }

    @discardableResult
    private func rest(
        _ line: inout Line, _ trouble: RouteTrouble, tries: Int, since: UnixTime, _ now: UnixTime, _ dice: Double
    ) -> UnixTime {
        let until = now + RetryDelay.lane(tries: tries, dice: dice)
        line.opening = Opening(
            since: since, tries: tries, trouble: trouble, phase: .resting(until: until, isPoor: false))
        return until
    }

    // MARK: - Probes

    /// The claim took the probe that the gate offered.
    package mutating func probeSent(_ route: PushRoute, at now: UnixTime) {
        giveUpProbe(of: route, at: now)
        guard lines[route]?.opening != nil else { return }
        lines[route]?.opening?.phase = .probing(since: now)
    }

    /// The claim held pushes of the route back and found none that may be risked.
    package mutating func probeNotFound(_ route: PushRoute, at now: UnixTime) {
        giveUpProbe(of: route, at: now)
        guard case .resting(let until, _) = lines[route]?.opening?.phase, until <= now else { return }
        lines[route]?.opening?.phase = .resting(until: until, isPoor: true)
    }

    /// A probe whose time is over makes room for another: its answer, if it still comes, is old news.
    private mutating func giveUpProbe(of route: PushRoute, at now: UnixTime) {
        guard let phase = lines[route]?.opening?.phase, Self.isGivenUp(phase, now) else { return }
        lines[route]?.life += 1
        lines[route]?.opening?.phase = .resting(until: Self.next(phase, now), isPoor: false)
    }

    private static func isGivenUp(_ phase: Phase, _ now: UnixTime) -> Bool {
        if case .probing = phase { next(phase, now) <= now } else { false }
    }

    // MARK: - What follows

    /// What the next claim may do.
    package func gate(at now: UnixTime) -> CircuitGate {
        var gate = CircuitGate.open
        gate.probeAnswerAt = now + Self.probeAnswer
        for (route, line) in lines {
            gate.lives[route] = line.life
            guard let opening = line.opening else { continue }
            if Self.isGivenUp(opening.phase, now) { gate.lives[route] = line.life + 1 }
            let next = Self.next(opening.phase, now)
            var lookAgainAt = next
            if next <= now {
                let isTrial = now - next >= Self.patience
                gate.probes.insert(route)
                if isTrial { gate.trials.insert(route) }
                let isPoor = opening.phase == .resting(until: next, isPoor: true) && !isTrial
                lookAgainAt = isPoor ? min(now + Self.probeSearch, next + Self.patience) : gate.probeAnswerAt
            } else if case .probing = opening.phase {
                lookAgainAt = gate.probeAnswerAt
            }
            gate.closed[route] = CircuitGate.Closure(
                until: lookAgainAt, reason: opening.trouble.reason(until: lookAgainAt))
        }
        return gate
    }

    /// When the next probe may leave. A clock that was set back does not make that longer than a wait can be.
    private static func next(_ phase: Phase, _ now: UnixTime) -> UnixTime {
        switch phase {
        case .resting(let until, _): min(until, now + RetryDelay.halted)
        case .probing(let since): min(since, now) + probeLimit
        }
    }

    /// Every route that is not well.
    package func status(at now: UnixTime) -> [PushRoute: Status] {
        lines.compactMapValues { line in
            guard let opening = line.opening else { return nil }
            let next = Self.next(opening.phase, now)
            let isProbing = if case .probing = opening.phase { true } else { false }
            return Status(
                openSince: opening.since, nextProbeAt: next, isProbing: isProbing,
                reason: opening.trouble.reason(until: next), isHalt: opening.trouble.isHalt)
        }
    }

    /// The next instant at which a gate differs from the one of now; `nil` while every route is well. Who was held back
    /// need not be told: the instant stands in the closure that held them.
    package func nextChangeAt(after now: UnixTime) -> UnixTime? {
        lines.values.compactMap { line -> UnixTime? in
            guard let phase = line.opening?.phase else { return nil }
            let next = Self.next(phase, now)
            return [next, next + Self.patience].first { $0 > now }
        }.min()
    }
}
