import JSONText
public import LiveActivityProviders

/// A provider that tells Islet what is next. Devices of a person with the same day get the same choice.
public struct NextUpProvider: ActivityProvider {
    private let book: GoalBook

    /// Creates a provider that reads this book.
    public init(_ book: GoalBook) {
        self.book = book
    }

    /// Returns the goal that is next on the person's local day. The memo holds the lock.
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
