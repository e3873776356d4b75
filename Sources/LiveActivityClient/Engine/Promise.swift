/// An answer that comes once. Whoever waits for it goes on without one when nobody is left who could give it.
final class Promise<Value: Sendable>: Sendable {
    private let input: AsyncStream<Value>.Continuation

    private init(_ input: AsyncStream<Value>.Continuation) { self.input = input }

    deinit { input.finish() }

    func give(_ value: Value) { input.yield(value) }

    /// Waits for what somebody was asked to give.
    ///
    /// - Returns: `nil` when the promise was dropped, or the task is cancelled.
    static func wait(_ ask: (Promise) -> Void) async -> Value? {
        let (answers, input) = AsyncStream.makeStream(of: Value.self, bufferingPolicy: .bufferingOldest(1))
        ask(Promise(input))
        for await answer in answers { return answer }
        return nil
    }
}
