import APNSModel
import Foundation
package import LiveActivityCore
import Synchronization

/// The system's time zones as data, made when first asked for.
package final class ZoneDirectory: ZoneSource {
    /// What is looked for: changes between these years. Later the last offset holds.
    private static let (firstYear, endYear) = (2024, 2048)
    /// Zones there are, about 600; names that are none are not kept.
    private static let maximumZones = 1000
    /// No zone keeps an offset for less.
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

    /// By looking at the offset week by week, since Foundation's own search passes over changes of the standard time.
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
