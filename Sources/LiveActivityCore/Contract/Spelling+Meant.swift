import IsletBasics

extension Spelling {
    /// Returns the name that differs from a word by at most two typing errors; `nil` if there is none.
    ///
    /// The limit is strict, because messages state the result as a fact.
    static func meant(by word: String, among names: [String]) -> String? {
        nearest(to: word, among: names, slips: min(2, word.utf8.count / 3))
    }
}
