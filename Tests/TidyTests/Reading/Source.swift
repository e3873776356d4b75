import Foundation

/// A file as the rules see it.
struct Source {
    /// The path from the repository's root, with slashes.
    let path: String
    let text: String
    /// The text with the inside of comments, strings and back-quoted names blanked, so that rules about code do not
    /// match words. It has the same lines and the same lengths in bytes.
    let code: String

    init(_ path: String, _ text: String) {
        self.path = path
        self.text = text
        code = path.hasSuffix(".swift") ? CodeMask.applied(to: text) : text
    }

    var isSwift: Bool { path.hasSuffix(".swift") }
    /// Names of the path's folders, such as `LiveActivityCore` in `Sources/LiveActivityCore/Reason/Reason.swift`.
    var folders: [String] { path.split(separator: "/").dropLast().map(String.init) }

    func isUnder(_ folders: String...) -> Bool { folders.contains { path.hasPrefix($0 + "/") } }
}

/// A regular expression that is matched against a whole text and reports lines.
struct Pattern {
    private let expression: NSRegularExpression?

    /// Makes a pattern. An invalid one finds nothing, but each has a test in which it finds something.
    init(_ pattern: String) {
        expression = try? NSRegularExpression(pattern: pattern, options: .anchorsMatchLines)
    }

    struct Match {
        let line: Int
        /// The whole match, or the first group if the pattern has one.
        let text: String
        /// The offset of the match in the text's UTF-8.
        let offset: Int
    }

    func matches(in text: String) -> [Match] {
        let whole = text as NSString
        let everything = NSRange(location: 0, length: whole.length)
        guard let found = expression?.matches(in: text, range: everything), !found.isEmpty else { return [] }
        var matches: [Match] = []
        var (line, offset, seen) = (1, 0, 0)
        for result in found {
            let between = whole.substring(with: NSRange(location: seen, length: result.range.location - seen))
            line += between.utf8.reduce(0) { $0 + ($1 == UInt8(ascii: "\n") ? 1 : 0) }
            offset += between.utf8.count
            seen = result.range.location
            let group = result.numberOfRanges > 1 ? result.range(at: 1) : result.range
            matches.append(
                Match(
                    line: line, text: group.location == NSNotFound ? "" : whole.substring(with: group), offset: offset))
        }
        return matches
    }
}
