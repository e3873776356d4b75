import JSONText
public import LiveActivityProviders

/// Tells Islet what is next: the same choice for each of a person's devices that has the same day.
public struct NextUpProvider: ActivityProvider {
    private let book: GoalBook

    /// A provider that looks into this book.
    public init(_ book: GoalBook) {
        self.book = book
    }

    /// The goal that is next on the person's local day; the memo holds the lock.
    public func answer(_ question: ProviderQuestion) async throws -> ProviderAnswer? {
        guard let day = Day(question.localDay) else { return nil }
        let lock = try? question.memo?.decode(Today.Lock.self)
        guard let today = book.today(of: question.user, on: day, lock: lock) else { return nil }
        var answer = ProviderAnswer(state: try JSONValue(encoding: today.state).object ?? [:])
        answer.attributes = try JSONValue(encoding: NextUpAttributes(person: question.user)).object
        answer.memo = try JSONValue(encoding: today.lock)
        return answer
    }
}
