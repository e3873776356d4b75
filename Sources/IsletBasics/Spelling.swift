/// A search for the name that a misspelled word was meant to be.
package enum Spelling {
    /// Longer names, and names beyond this number, are not compared.
    private static let maximumLength = 64
    private static let maximumNames = 256

    /// Returns the nearest name, or `nil` if no name is near enough to be meant.
    ///
    /// Capitals, `_`, `-` and blanks do not count: `eta_minutes` and `etaMinutes` are equal. A name is near enough if
    /// at most one letter in three differs, or if two letters are swapped. Below four letters, one letter in two may
    /// differ.
    ///
    /// - Parameter slips: Maximum number of letters that may differ, for callers that use the result without asking.
    package static func nearest(to word: String, among names: [String], slips: Int = .max) -> String? {
        guard word.utf8.count <= maximumLength else { return nil }
        let wanted = plain(word)
        // A swap of two letters counts as two replacements.
        let allowed = min(slips, wanted.count < 4 ? wanted.count / 2 : max(2, wanted.count / 3))
        let ranked = names.prefix(maximumNames).filter { $0.utf8.count <= maximumLength }
            .map { ($0, distance(wanted, plain($0))) }
        guard let best = ranked.min(by: { $0.1 < $1.1 }), best.1 <= allowed else { return nil }
        return best.0
    }

    private static func plain(_ word: String) -> [UInt8] {
        Array(word.lowercased().filter { !"_- ".contains($0) }.utf8)
    }

    /// Returns the least number of insertions, deletions and replacements between two texts (Levenshtein distance).
    package static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
        var row = Array(0...right.count)
        for (index, byte) in left.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for (column, other) in right.enumerated() {
                let above = row[column + 1]
                row[column + 1] = min(min(above, row[column]) + 1, diagonal + (byte == other ? 0 : 1))
                diagonal = above
            }
        }
        return row[right.count]
    }
}
