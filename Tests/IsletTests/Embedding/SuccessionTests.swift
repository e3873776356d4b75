import Logging
import ServiceLifecycle
import Synchronization
import Testing

@testable import EmbeddedIslet

/// Groups of services that replace each other.
struct SuccessionTests {
    private final class Book: Sendable {
        private let lines = Mutex<[String]>([])
        var all: [String] { lines.withLock(\.self) }
        func note(_ line: String) { lines.withLock { $0.append(line) } }
    }

    /// A service that notes when it starts, and when it has stopped.
    private struct Noted: Service {
        let name: String
        let book: Book

        func run() async throws {
            book.note("\(name) starts")
            try? await gracefulShutdown()
            await Task.yield()
            book.note("\(name) has stopped")
        }
    }

    private let book = Book()

    private func group(_ services: any Service...) -> ServiceGroup {
        let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        return ServiceGroup(configuration: .init(services: services.map { .init(service: $0) }, logger: quiet))
    }

    private func noted(_ name: String) -> ServiceGroup { group(Noted(name: name, book: book)) }

    @Test(.timeLimit(.minutes(1))) func `the next group starts when the one before has stopped, and not before`()
        async throws
    {
        let succession = Succession(noted("a"))
        let outer = group(succession)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await outer.run() }
            while book.all.isEmpty { await Task.yield() }
            for name in ["b", "c"] {
                await succession.replace(by: noted(name))
                while book.all.last != "\(name) starts" { await Task.yield() }
            }
            await outer.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
        #expect(
            book.all == [
                "a starts", "a has stopped", "b starts", "b has stopped", "c starts", "c has stopped",
            ])
    }

    @Test(.timeLimit(.minutes(1))) func `nobody waits for a group that starts no more`() async throws {
        let succession = Succession(noted("a"))
        let outer = group(succession)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await outer.run() }
            while book.all.isEmpty { await Task.yield() }
            // One may come before the end, while it stops, or after it.
            await outer.triggerGracefulShutdown()
            for name in ["b", "c", "d"] { tasks.addTask { await succession.replace(by: noted(name)) } }
            try await tasks.waitForAll()
        }
        await succession.replace(by: noted("e"))
        let starts = book.all.count { $0.hasSuffix("starts") }
        #expect(book.all.count { $0.hasSuffix("has stopped") } == starts)
        #expect(!book.all.contains("e starts"))
    }

    @Test(.timeLimit(.minutes(1))) func `a service that fails ends all, with its error`() async throws {
        struct Failing: Service {
            struct Fault: Error {}
            func run() async throws { throw Fault() }
        }
        let succession = Succession(noted("a"))
        await #expect(throws: Failing.Fault.self) {
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                tasks.addTask { try await succession.run() }
                while book.all.isEmpty { await Task.yield() }
                await succession.replace(by: group(Failing()))
                try await tasks.waitForAll()
            }
        }
    }
}
