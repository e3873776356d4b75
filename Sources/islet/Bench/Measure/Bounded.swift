import Foundation
import UnixSignals

/// Work that ends by itself, at a time limit, or when a person stops it.
enum Bounded {
    /// Runs the body, and cancels it at the limit or on a signal. Waits for the body to clean up.
    ///
    /// - Throws: The body's error, or `CommandError` that names the unfinished work.
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

/// Progress messages on standard error, because a benchmark takes minutes.
enum Progress {
    static func say(_ text: String) {
        FileHandle.standardError.write(Data("bench: \(text)\n".utf8))
    }
}
