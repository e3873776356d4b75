import Foundation

/// A record of events on which tests wait. A wait that times out reports the events that happened instead.
final class Log<Element: Sendable>: @unchecked Sendable {
    struct Missing: Error, CustomStringConvertible {
        let description: String
    }

    private let lock = NSLock()
    private var elements: [Element] = []
    private var listeners: [AsyncStream<Void>.Continuation] = []

    /// Far more than a busy machine needs. A test that waits so long has failed.
    private static var patience: DispatchTimeInterval { .seconds(20) }

    private func locked<Value>(_ body: (Log) -> Value) -> Value {
        lock.lock()
        defer { lock.unlock() }
        return body(self)
    }

    var all: [Element] { locked(\.elements) }

    func add(_ element: Element) {
        let listeners = locked { log in
            log.elements.append(element)
            return log.listeners
        }
        for listener in listeners { listener.yield() }
    }

    /// Waits, without polling, until the events satisfy the condition.
    func wait(until isWanted: ([Element]) -> Bool) async throws {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        locked { $0.listeners.append(continuation) }
        continuation.yield()
        DispatchQueue.global().asyncAfter(deadline: .now() + Self.patience) { continuation.finish() }
        for await _ in stream where isWanted(all) { return }
        try Task.checkCancellation()
        throw Missing(description: "it never came; there were \(all)")
    }
}
