import APNSModel
import LiveActivityCore
import Logging
import Synchronization

/// Thread-safe circuits of all routes. It logs one line for each opening and closing.
final class Circuits: Sendable {
    private let board = Mutex(CircuitBoard())
    /// Halted routes that have not been stored yet.
    private let halts = Mutex<[PushRoute: Reason.Code]>([:])
    private let logger: Logger

    init(logger: Logger) {
        self.logger = logger
    }

    func gate(at now: UnixTime) -> CircuitGate {
        board.withLock { board in
            board.forgetFuture(at: now)
            return board.gate(at: now)
        }
    }

    /// Returns the next time at which the gate changes by itself; `nil` while every circuit is closed.
    func nextChangeAt(after now: UnixTime) -> UnixTime? { board.withLock { $0.nextChangeAt(after: now) } }

    func status(at now: UnixTime) -> [PushRoute: CircuitBoard.Status] { board.withLock { $0.status(at: now) } }

    /// Records a claim under a gate. Its probes are on their way; a route for which it found no probe has none to send.
    func claimed(probed: Set<PushRoute>, held: Set<PushRoute>, at now: UnixTime) {
        guard !probed.isEmpty || !held.isEmpty else { return }
        board.withLock { board in
            for route in probed { board.probeSent(route, at: now) }
            for route in held.subtracting(probed) { board.probeNotFound(route, at: now) }
        }
    }

    /// Records what a flight's answers say about a route.
    ///
    /// - Returns: `true` if lanes that wait for a route must be looked at earlier than before.
    func record(
        _ route: PushRoute, _ tally: RouteTally, under gate: CircuitGate, at now: UnixTime, dice: Double
    ) -> Bool {
        let (change, halt, isEarlier) = board.withLock { board in
            let before = board.status(at: now)[route]
            let change = board.record(route, tally, under: gate, at: now, dice: dice)
            let after = board.status(at: now)[route]
            let isEarlier = before.map { $0.nextProbeAt > after?.nextProbeAt ?? .distantPast } ?? false
            let wasHalt = before?.isHalt ?? false
            return (change, wasHalt ? nil : after.flatMap { $0.isHalt ? $0.reason.code : nil }, isEarlier)
        }
        if let halt { halts.withLock { $0[route] = halt } }
        if let change { log(change, of: route) }
        return isEarlier
    }

    private func log(_ change: CircuitBoard.Change, of route: PushRoute) {
        let metadata: Logger.Metadata = ["app": "\(route.app)", "environment": "\(route.environment.rawValue)"]
        switch change {
        case .opened(let trouble, let next):
            let reason = trouble.reason(until: next)
            logger.log(
                level: trouble.isHalt ? .error : .warning,
                trouble.isHalt ? "delivery is halted until the cause is fixed" : "APNs is in trouble",
                metadata: metadata.merging(["code": "\(reason.code.rawValue)", "reason": "\(reason.text)"]) { $1 })
        case .closed(let duration):
            logger.notice(
                "delivery resumes", metadata: metadata.merging(["seconds": "\(duration.components.seconds)"]) { $1 })
        }
    }

    /// Returns the routes that were halted since the last call, with the reasons.
    func takeHalts() -> [PushRoute: Reason.Code] {
        halts.withLock { halts in
            defer { halts = [:] }
            return halts
        }
    }

    /// Puts halted routes back that could not be stored.
    func putBack(_ untold: [PushRoute: Reason.Code]) {
        halts.withLock { $0.merge(untold) { newer, _ in newer } }
    }
}
