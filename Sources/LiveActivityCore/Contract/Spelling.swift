/// Finds the name that a misspelt one may stand for.
enum Spelling {
    /// Longer names, and longer lists of them, are not compared.
    private static let maximumLength = 64
    private static let maximumNames = 256

    /// The name that differs in nothing but capitals and separators (`eta_minutes`, `etaMinutes`), else the one that a
    /// slip or two of the keyboard turns into it.
    static func nearest(to word: String, among names: [String]) -> String? {
        guard word.utf8.count <= maximumLength else { return nil }
        let plain = plain(word)
        let candidates = names.prefix(maximumNames).filter { $0.utf8.count <= maximumLength }
        if let same = candidates.first(where: { Self.plain($0) == plain }) { return same }
        let allowed = min(2, word.utf8.count / 3)
        guard allowed > 0 else { return nil }
        let near = candidates.map { ($0, distance(Array(Self.plain($0).utf8), Array(plain.utf8))) }
            .filter { $0.1 <= allowed }
        return near.min { $0.1 < $1.1 }?.0
    }

    private static func plain(_ word: String) -> String {
        word.lowercased().filter { !"_- ".contains($0) }
    }

    /// Levenshtein's.
    private static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
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
