import Dispatch
import Foundation
import GRDB
import Synchronization
import Testing

@testable import StorageConformance
@testable import StorageSQL
@testable import StorageSQLite

struct ReaderQueueTests {
    @Test func `reads that wait at the same time share a transaction, and each sees the commits before it`()
        async throws
    {
        try await withDirectory { directory in
            let begun = Counted()
            var configuration = Configuration()
            configuration.prepareDatabase { db in
                db.trace { event in
                    if "\(event)".hasPrefix("BEGIN DEFERRED") { begun.add() }
                }
            }
            let path = directory.appending(path: "a.db").path
            let pool = try DatabasePool(path: path, configuration: configuration)
            try await pool.write { db in try db.execute(sql: "CREATE TABLE t (a); INSERT INTO t VALUES (1)") }
            let queue = ReaderQueue(SQLiteDatabase(path: path, pool: pool))
            let before = begun.count
            // Both groups are held, so the next reads wait.
            let gates = [DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)]
            let (held, hold) = AsyncStream.makeStream(of: Int.self)
            for gate in gates {
                queue.submit { _ in
                    hold.yield(0)
                    gate.wait()
                }
            }
            var entered = 0
            for await _ in held {
                entered += 1
                if entered == 2 { break }
            }
            try await pool.write { db in try db.execute(sql: "UPDATE t SET a = 2") }
            let values = await withTaskGroup(of: Int?.self) { group in
                let (submitted, submit) = AsyncStream.makeStream(of: Void.self)
                for _ in 0..<10 {
                    group.addTask {
                        await withCheckedContinuation { continuation in
                            queue.submit { result in
                                let connection = try? result.get() as? SQLiteTransaction
                                let read = connection.flatMap { try? Int.fetchOne($0.db, sql: "SELECT a FROM t") }
                                continuation.resume(returning: read)
                            }
                            submit.yield()
                        }
                    }
                }
                var count = 0
                for await _ in submitted {
                    count += 1
                    if count == 10 { break }
                }
                gates[0].signal()
                return await group.reduce(into: []) { $0.append($1) }
            }
            gates[1].signal()
            #expect(values == Array(repeating: 2, count: 10))
            #expect(begun.count - before == 3, "two that were held, and one for the ten")
        }
    }

    @Test func `without a database each read learns why`() async throws {
        try await withDirectory { directory in
            let path = directory.appending(path: "a.db").path
            let pool = try DatabasePool(path: path)
            let queue = ReaderQueue(SQLiteDatabase(path: path, pool: pool))
            try pool.close()
            for _ in 0..<3 {
                let isFailure = await withCheckedContinuation { continuation in
                    queue.submit { result in continuation.resume(returning: (try? result.get()) == nil) }
                }
                #expect(isFailure)
            }
        }
    }
}

private final class Counted: Sendable {
    private let number = Mutex(0)

    var count: Int { number.withLock(\.self) }

    func add() { number.withLock { $0 += 1 } }
}
