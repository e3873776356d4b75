import Foundation

/// A file as the rules see it.
struct Source {
    /// From the repository's root, with slashes.
    let path: String
    let text: String
    /// The text with the inside of comments, strings and back-quoted names blanked, so that a rule about code is not
    /// fooled by words. Same lines, same lengths in bytes.
    let code: String

    init(_ path: String, _ text: String) {
        self.path = path
        self.text = text
        code = path.hasSuffix(".swift") ? CodeMask.applied(to: text) : text
    }

    var isSwift: Bool { path.hasSuffix(".swift") }
    /// `LiveActivityCore` of `Sources/LiveActivityCore/Reason/Reason.swift`.
    var folders: [String] { path.split(separator: "/").dropLast().map(String.init) }

    func isUnder(_ folders: String...) -> Bool { folders.contains { path.hasPrefix($0 + "/") } }
}

/// A regular expression over a whole text, found again by line.
struct Pattern {
    private let expression: NSRegularExpression?

    /// A pattern that does not parse finds nothing; each has a test that shows it finding something.
    init(_ pattern: String) {
        expression = try? NSRegularExpression(pattern: pattern, options: .anchorsMatchLines)
    }

    struct Match {
        let line: Int
        /// The whole match, or the first group if the pattern has one.
        let text: String
        /// Where it begins in the text's UTF-8.
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
