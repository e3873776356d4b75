/// Build of an app, as in `CFBundleVersion`: whole numbers separated by dots, compared number by number.
package struct AppBuild: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// Numbers without trailing zeros, so 120 equals 120.0.
    private let numbers: [UInt64]

    /// Creates a build. Returns `nil` unless the text is one to four numbers of at most 18 digits each.
    package init?(_ text: String) {
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count <= 4 else { return nil }
        var numbers: [UInt64] = []
        for part in parts {
            guard (1...18).contains(part.count), part.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
            numbers.append(part.reduce(0) { $0 * 10 + UInt64($1 - 0x30) })
        }
        while numbers.count > 1, numbers.last == 0 { numbers.removeLast() }
        self.numbers = numbers
    }

    package static func < (left: Self, right: Self) -> Bool {
        left.numbers.lexicographicallyPrecedes(right.numbers)
    }

    package var description: String { numbers.map(String.init).joined(separator: ".") }
}

/// Range of builds, from `from` up to but not including `before`.
package struct BuildRange: Sendable, Hashable, CustomStringConvertible {
    /// First build of the range; `nil` if the range begins with the first build of all.
    package let from: AppBuild?
    package let before: AppBuild

    package init(from: AppBuild?, before: AppBuild) {
        self.from = from
        self.before = before
    }

    /// Creates a range from its stored form, such as `..<120` or `90..<120`. Returns `nil` for other text.
    package init?(stored text: Substring) {
        let parts = text.split(separator: "..<", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let before = AppBuild(String(parts[1])) else { return nil }
        from = parts[0].isEmpty ? nil : AppBuild(String(parts[0]))
        guard parts[0].isEmpty || from != nil else { return nil }
        self.before = before
    }

    package var description: String { "\(from?.description ?? "")..<\(before)" }

    package func contains(_ build: AppBuild) -> Bool { build < before && (from.map { $0 <= build } ?? true) }
}

/// Builds of an app that cannot decode what an activity shows. They are determined once, when its state is set.
package struct UnfitBuilds: Sendable, Hashable {
    /// Builds that cannot decode the content state.
    package var state: [BuildRange]
    /// Builds that cannot decode the attributes. Only a start carries attributes.
    package var attributes: [BuildRange]

    package init(state: [BuildRange] = [], attributes: [BuildRange] = []) {
        self.state = state
        self.attributes = attributes
    }

    package var isEmpty: Bool { state.isEmpty && attributes.isEmpty }

    /// Stored form; `nil` if there are no such builds.
    package var stored: String? {
        guard !isEmpty else { return nil }
        return [state, attributes].map { $0.map(\.description).joined(separator: ",") }.joined(separator: ";")
    }

    package init(stored text: String?) {
        let parts = (text ?? "").split(separator: ";", omittingEmptySubsequences: false).map { half in
            half.split(separator: ",").compactMap(BuildRange.init(stored:))
        }
        self.init(state: parts.first ?? [], attributes: parts.count > 1 ? parts[1] : [])
    }

    /// Returns whether a device's build cannot decode the state.
    ///
    /// A build that is missing or has another form counts as one of the newest.
    package func hasState(_ build: String?) -> Bool { Self.contains(state, build) }

    package func hasStart(_ build: String?) -> Bool { Self.contains(state, build) || Self.contains(attributes, build) }

    private static func contains(_ ranges: [BuildRange], _ build: String?) -> Bool {
        guard !ranges.isEmpty, let build = build.flatMap(AppBuild.init) else { return false }
        return ranges.contains { $0.contains(build) }
    }
}
