/// An untidy place: where it is, what is wrong, and how to fix it.
struct Finding: Hashable, Comparable, CustomStringConvertible {
    let path: String
    let line: Int
    let what: String
    let remedy: String

    init(_ path: String, line: Int = 1, _ what: String, _ remedy: String) {
        self.path = path
        self.line = line
        self.what = what
        self.remedy = remedy
    }

    static func < (left: Self, right: Self) -> Bool { (left.path, left.line) < (right.path, right.line) }

    var description: String { "\(path):\(line): \(what); \(remedy)" }
}
