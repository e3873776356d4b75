import Foundation

/// Seeds that no earlier run has used. `script/test` derives the first one from the commit's id (`ISLET_FIRST_SEED`,
/// which it prints); a plain `swift test` begins with 1.
package enum FreshSeeds {
    package static let first =
        ProcessInfo.processInfo.environment["ISLET_FIRST_SEED"].flatMap(UInt64.init) ?? 1

    package static func take(_ count: UInt64) -> ClosedRange<UInt64> { first...(first + count - 1) }
}
