/// An answer that arrives once. A waiting caller continues without an answer when nobody is left to give one.
final class Promise<Value: Sendable>: Sendable {
    private let input: AsyncStream<Value>.Continuation

    private init(_ input: AsyncStream<Value>.Continuation) { self.input = input }

    deinit { input.finish() }

    func give(_ value: Value) { input.yield(value) }

    /// Passes a promise to `ask` and waits for its answer.
    ///
    /// - Returns: `nil` if the promise was dropped or the task is canceled.
    static func wait(_ ask: (Promise) -> Void) async -> Value? {
        let (answers, input) = AsyncStream.makeStream(of: Value.self, bufferingPolicy: .bufferingOldest(1))
        ask(Promise(input))
        for await answer in answers { return answer }
        return nil
    }
}
