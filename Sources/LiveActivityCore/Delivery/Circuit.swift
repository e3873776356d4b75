package import APNSModel

/// Circuit breakers of all routes. They keep a fault of a route from being retried on every phone in turn.
///
/// A circuit opens after service or connection faults without a healthy answer between them, and at once after a halt.
/// While it is open, only one probe at a time leaves. A probe is an update or an end without an alert, sent after a
/// backoff of at most one minute. The first healthy answer closes the circuit.
///
/// If no harmless push is found within one minute after a probe was due, any push may be the probe. It may even be a
/// start or an alert, because routes with nothing else would never recover. A lost probe of this kind affects one
/// phone.
package struct CircuitBoard: Sendable {
    /// Number of consecutive flights without a healthy answer that opens a circuit, if they hit at least as many
    /// phones.
    package static let failingFlights = 3
    /// Number of consecutive pushes without a healthy answer that opens a circuit, if they hit more than one phone.
    package static let failingPushes = 50
    /// Time after which a probe counts as unanswered and another probe may leave.
    package static let probeLimit = Duration.seconds(15)
    /// Time to wait for a harmless push before any push may be the probe.
    package static let patience = Duration.seconds(60)
    /// Time after which held-back phones are checked again while a probe is on its way or may leave soon.
    package static let probeAnswer = Duration.seconds(2)
    /// Time after which held-back phones are checked again if no push can serve as the probe.
    package static let probeSearch = Duration.seconds(15)

    /// A change of a circuit that is worth one log line.
    package enum Change: Sendable, Equatable {
        case opened(RouteTrouble, next: UnixTime)
        case closed(openFor: Duration)
    }

    /// State of a circuit that is not closed.
    package struct Status: Sendable, Equatable {
        package var openSince: UnixTime
        package var nextProbeAt: UnixTime
        package var isProbing: Bool
        package var reason: Reason
        package var isHalt: Bool
    }

    private enum Phase: Equatable {
        /// Nothing leaves before `until`. After it, the route wants a probe. `isPoor` is `true` if a claim has found no
        /// push that can serve as one.
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
        /// Number of the circuit's state. It grows when the circuit opens or closes, and when a probe is given up.
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

    // MARK: - Results of flights

    /// Records what a flight's answers say about a route.
    ///
    /// - Parameter gate: The gate under which the flight was claimed. Answers to pushes that left before the circuit
    ///   last opened or closed are ignored, because they say nothing about the route now.
    /// - Returns: The change of the circuit; `nil` if it neither opened nor closed.
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
        // A single phone that always meets a fault does not make it a fault of the route, however often it is retried.
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

    /// Records that a claim has taken the probe that the gate offered.
    package mutating func probeSent(_ route: PushRoute, at now: UnixTime) {
        giveUpProbe(of: route, at: now)
        guard lines[route]?.opening != nil else { return }
        lines[route]?.opening?.phase = .probing(since: now)
    }

    /// Records that a claim held back pushes of the route and found none that may serve as a probe.
    package mutating func probeNotFound(_ route: PushRoute, at now: UnixTime) {
        giveUpProbe(of: route, at: now)
        guard case .resting(let until, _) = lines[route]?.opening?.phase, until <= now else { return }
        lines[route]?.opening?.phase = .resting(until: until, isPoor: true)
    }

    /// Gives up a probe whose time is over, so that another may leave. A later answer to it is ignored.
    private mutating func giveUpProbe(of route: PushRoute, at now: UnixTime) {
        guard let phase = lines[route]?.opening?.phase, Self.isGivenUp(phase, now) else { return }
        lines[route]?.life += 1
        lines[route]?.opening?.phase = .resting(until: Self.next(phase, now), isPoor: false)
    }

    private static func isGivenUp(_ phase: Phase, _ now: UnixTime) -> Bool {
        if case .probing = phase { next(phase, now) <= now } else { false }
    }

    // MARK: - Gates and states

    /// Forgets times that are too far away, because the clock was set back.
    package mutating func forgetFuture(at now: UnixTime) {
        for (route, line) in lines {
            guard case .resting(let until, let isPoor) = line.opening?.phase else { continue }
            lines[route]?.opening?.phase = .resting(until: min(until, now + RetryDelay.halted), isPoor: isPoor)
        }
    }

    /// Returns the gate for the next claim.
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
            gate.closed[route] = CircuitGate.Closure(until: lookAgainAt, trouble: opening.trouble)
        }
        return gate
    }

    /// Returns when the next probe may leave. After the clock was set back, this wait is still no longer than the
    /// longest wait.
    private static func next(_ phase: Phase, _ now: UnixTime) -> UnixTime {
        switch phase {
        case .resting(let until, _): min(until, now + RetryDelay.halted)
        case .probing(let since): min(since, now) + probeLimit
        }
    }

    /// Returns the state of every route whose circuit is open.
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

    /// Returns the next time at which the gate changes by itself; `nil` while every circuit is closed.
    package func nextChangeAt(after now: UnixTime) -> UnixTime? {
        lines.values.compactMap { line -> UnixTime? in
            guard let phase = line.opening?.phase else { return nil }
            let next = Self.next(phase, now)
            return [next, next + Self.patience].first { $0 > now }
        }.min()
    }
}
