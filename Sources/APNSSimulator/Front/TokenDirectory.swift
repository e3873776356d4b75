internal import APNSModel

/// The tokens that APNs knows, with their phone and app.
struct TokenDirectory: Sendable {
    struct Entry: Sendable {
        let phone: PhoneID
        let use: TokenUse
        let bundleID: BundleID
        let environment: APNSEnvironment
        var end: End?
    }

    /// The end of a token. APNs answers 410 with `at`, from `refusedFrom` on.
    struct End: Sendable {
        let at: UnixTime
        let refusedFrom: UnixTime
        let reason: APNSReason.Known
    }

    private var entries: [String: Entry] = [:]
    private var ended: [String] = []
    private var forgotten = 0

    /// Maximum number of ended tokens that are remembered. Older ones count as unknown.
    private static let longestMemory = 100_000

    subscript(hex: String) -> Entry? { entries[hex] }

    mutating func add(_ hex: String, _ entry: Entry) {
        entries[hex] = entry
    }

    mutating func end(_ hex: String, _ how: TokenEnd, at: UnixTime, grace: Duration) {
        guard entries[hex] != nil, entries[hex]?.end == nil else { return }
        entries[hex]?.end =
            switch how {
            case .replaced, .uninstalled: End(at: at, refusedFrom: at, reason: .unregistered)
            case .over: End(at: at, refusedFrom: at + grace, reason: .expiredToken)
            }
        ended.append(hex)
        guard ended.count - forgotten > Self.longestMemory else { return }
        entries[ended[forgotten]] = nil
        forgotten += 1
        if forgotten == Self.longestMemory {
            ended.removeFirst(forgotten)
            forgotten = 0
        }
    }
}
