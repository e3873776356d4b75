import IsletBasics

extension Spelling {
    /// The name that a slip or two of the keyboard turns into this one. It is said as a fact, so that no more may
    /// differ.
    static func meant(by word: String, among names: [String]) -> String? {
        nearest(to: word, among: names, slips: min(2, word.utf8.count / 3))
    }
}
