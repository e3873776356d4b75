import Foundation
import LiveActivityStorage
import Synchronization

/// Crashes of the server at a chosen point, for tests only.
///
/// With `ISLET_FAULT_POINT=settle.after-commit:3`, the process kills itself with SIGKILL when it reaches that point for
/// the third time.
enum FaultInjection {
    static let variable = "ISLET_FAULT_POINT"

    /// Returns the fault points that the variable describes.
    ///
    /// - Throws: `CommandError` if the variable does not name a point.
    static func points(
        _ environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(CommandError) -> FaultPoints {
        guard let text = environment[variable], !text.isEmpty else { return FaultPoints() }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        guard let point = FaultPoint(rawValue: parts[0]), parts.count <= 2,
            let occurrence = parts.count == 2 ? Int(parts[1]) : 1, occurrence > 0
        else {
            let points = FaultPoint.allCases.map(\.rawValue).joined(separator: ", ")
            throw CommandError("\(variable) is POINT or POINT:COUNT, where POINT is one of \(points)")
        }
        return FaultPoints(reach: Countdown(to: point, occurrence).reach)
    }

    private final class Countdown: Sendable {
        private let point: FaultPoint
        private let left: Mutex<Int>

        init(to point: FaultPoint, _ occurrence: Int) {
            self.point = point
            left = Mutex(occurrence)
        }

        @Sendable func reach(_ reached: FaultPoint) {
            guard reached == point else { return }
            let isNow = left.withLock { left in
                left -= 1
                return left == 0
            }
            if isNow { _ = kill(getpid(), SIGKILL) }
        }
    }
}
