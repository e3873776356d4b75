internal import APNSModel

/// The directory of all crowds' tokens. The mark in a token finds its crowd in one step.
struct CrowdDirectory: Sendable {
    struct Entry: Sendable {
        let crowd: String
        let kind: CrowdTokens.Kind
        let count: Int
        let bundleID: BundleID
        let environment: APNSEnvironment
    }

    private var entries: [UInt64: Entry] = [:]

    /// The entry and the member's number; `nil` if no crowd has the token.
    subscript(hex: String) -> (entry: Entry, member: Int)? {
        guard !entries.isEmpty, let (mark, member) = CrowdTokens.parse(hex), let entry = entries[mark],
            (0..<entry.count).contains(member)
        else { return nil }
        return (entry, member)
    }

    mutating func add(_ crowd: CrowdSpecification) {
        for kind in CrowdTokens.Kind.allCases {
            entries[CrowdTokens(crowd: crowd.name, kind: kind).mark] = Entry(
                crowd: crowd.name, kind: kind, count: crowd.count, bundleID: crowd.bundleID,
                environment: crowd.environment)
        }
    }

    mutating func remove(_ crowd: String) {
        for kind in CrowdTokens.Kind.allCases { entries[CrowdTokens(crowd: crowd, kind: kind).mark] = nil }
    }
}
