import APNSModel
import Foundation
package import LiveActivityCore
import Synchronization

/// The system's time zones as data, built when first needed.
package final class ZoneDirectory: ZoneSource {
    /// The years in which changes of the offset are searched. After them, the last offset stays.
    private static let (firstYear, endYear) = (2024, 2048)
    /// Limit of stored zones. About 600 exist; unknown names are not stored.
    private static let maximumZones = 1000
    /// Search step in seconds. No zone keeps an offset for less than a week.
    private static let step: Int64 = 7 * 86_400

    private let known = Mutex<[String: ZoneRules]>([:])

    package init() {}

    package func rules(of zone: String) -> ZoneRules? {
        if let rules = known.withLock({ $0[zone] }) { return rules }
        guard let zoneInfo = TimeZone(identifier: zone) else { return nil }
        let rules = Self.rules(of: zoneInfo)
        known.withLock { known in
            if known.count < Self.maximumZones { known[zone] = rules }
        }
        return rules
    }

    /// Finds changes by reading the offset week by week, because Foundation's own search skips changes of the standard
    /// time.
    private static func rules(of zone: TimeZone) -> ZoneRules {
        func offset(_ seconds: Int64) -> Int {
            zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(seconds)))
        }
        var time = Int64(firstYear - 1970) * 31_556_952
        let end = Int64(endYear - 1970) * 31_556_952
        let first = offset(time)
        var current = first
        var transitions: [ZoneRules.Transition] = []
        while time < end {
            let next = time + step
            let then = offset(next)
            if then != current {
                var (before, after) = (time, next)
                while after - before > 1 {
                    let middle = before + (after - before) / 2
                    if offset(middle) == current { before = middle } else { after = middle }
                }
                transitions.append(.init(at: UnixTime(seconds: after), offset: offset(after)))
                current = then
            }
            time = next
        }
        return ZoneRules(offset: first, transitions: transitions)
    }
}
