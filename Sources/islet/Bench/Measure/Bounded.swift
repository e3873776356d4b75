import Foundation
import UnixSignals

/// Work that ends: by itself, at a limit, or because a person wants to stop.
enum Bounded {
    /// Runs the body, and cancels it when the time is over or a signal comes: what it began it ends.
    ///
    /// - Throws: What the body throws, or `CommandError` that says what was not done in time.
    static func run<Value: Sendable>(
        _ what: String, within limit: Duration, _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try await withThrowingTaskGroup(of: Value?.self) { group in
            group.addTask { try await body() }
            group.addTask {
                try await Task.sleep(for: limit)
                throw CommandError("\(what) took more than \(Int(limit.inSeconds)) s: see --limit")
            }
            group.addTask {
                for await _ in await UnixSignalsSequence(trapping: .sigint, .sigterm) {
                    throw CommandError("\(what) was stopped")
                }
                return nil
            }
            defer { group.cancelAll() }
            while let value = try await group.next() {
                if let value { return value }
            }
            throw CancellationError()
        }
    }
}

/// What goes on, on standard error: a benchmark takes minutes.
enum Progress {
    static func say(_ text: String) {
        FileHandle.standardError.write(Data("bench: \(text)\n".utf8))
    }
}
