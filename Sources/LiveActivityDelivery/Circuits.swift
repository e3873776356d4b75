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

    func gate(at now: UnixTime) -> CircuitGate { board.withLock { $0.gate(at: now) } }

    func status(at now: UnixTime) -> [PushRoute: CircuitBoard.Status] { board.withLock { $0.status(at: now) } }

    /// Records a claim under a gate. Its probes are on their way; a route for which it found no probe has none to send.
    func claimed(probed: Set<PushRoute>, held: Set<PushRoute>, at now: UnixTime) {
        guard !probed.isEmpty || !held.isEmpty else { return }
        board.withLock { board in
            for route in probed { board.probeSent(route, at: now) }
            for route in held.subtracting(probed) { board.probeNotFound(route, at: now) }
        }
    }

    func record(_ route: PushRoute, _ tally: RouteTally, under gate: CircuitGate, at now: UnixTime, dice: Double) {
        let (change, halt) = board.withLock { board in
            let before = board.status(at: now)[route]?.isHalt ?? false
            let change = board.record(route, tally, under: gate, at: now, dice: dice)
            let after = board.status(at: now)[route]
            return (change, before ? nil : after.flatMap { $0.isHalt ? $0.reason.code : nil })
        }
        if let halt { halts.withLock { $0[route] = halt } }
        guard let change else { return }
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
