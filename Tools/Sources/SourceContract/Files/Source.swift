/// A file of Swift source.
package struct Source: Sendable {
    /// The path that messages show.
    package let name: String
    package let text: String

    package init(name: String, text: String) {
        self.name = name
        self.text = text
    }
}

/// A place in a file, both counted from 1. Columns count UTF-8 bytes, as the compiler's do.
package struct Place: Sendable, Hashable, CustomStringConvertible {
    package let file: String
    package let line: Int
    package let column: Int

    package var description: String { "\(file):\(line):\(column)" }
}
