import Dispatch
import Foundation
import LiveActivityCore
import LiveActivityStorage
import Synchronization

@testable import StorageSQL

extension SQLStore {
    /// Holds the writer's thread until the semaphore is signaled.
    func block() -> DispatchSemaphore {
        let gate = DispatchSemaphore(value: 0)
        let hasBegun = DispatchSemaphore(value: 0)
        queue.submit(
            WriterQueue.Job(
                rank: .write,
                work: .statements { _ in
                    hasBegun.signal()
                    gate.wait()
                    return WriterQueue.Done {}
                }, fail: { _ in }))
        hasBegun.wait()
        return gate
    }

    func waits(for count: Int) async {
        while queue.waiting < count { await Task.yield() }
    }

    /// Lets the given number of commands queue behind a busy writer, then releases it and awaits them.
    func whileBlocked(
        until count: Int, _ body: (inout ThrowingTaskGroup<Void, any Error>) throws -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            let gate = block()
            try body(&group)
            await waits(for: count)
            gate.signal()
            try await group.waitForAll()
        }
    }
}

/// Values in the order of arrival.
final class Noted<Value: Sendable>: Sendable {
    private let values = Mutex<[Value]>([])

    var all: [Value] { values.withLock { $0 } }
    func note(_ value: Value) { values.withLock { $0.append(value) } }
}

/// Result of a submitted command, once there is one.
final class Answer<Reply: Sendable>: Sendable {
    private let told = Mutex<Result<Result<Reply, Refusal>, StorageError>?>(nil)

    var value: Result<Result<Reply, Refusal>, StorageError>? { told.withLock { $0 } }
    fileprivate func tell(_ result: Result<Result<Reply, Refusal>, StorageError>) { told.withLock { $0 = result } }

    /// Awaits the result.
    func result() async -> Result<Result<Reply, Refusal>, StorageError> {
        while true {
            if let value { return value }
            await Task.yield()
        }
    }
}

extension SQLStore {
    /// Submits a command as `commit` does, without awaiting it. Commands arrive in the order of the calls.
    func submit<C: Command>(_ command: C) -> Answer<C.Reply> {
        let answer = Answer<C.Reply>()
        queue.submit(
            WriterQueue.Job(
                rank: command.rank, weight: command.weight, isAlone: command.isAlone,
                work: .command(keys: command.keys) { draft in
                    let reply = draft.run(command)
                    return WriterQueue.Done { answer.tell(.success(reply)) }
                },
                fail: { error in answer.tell(.failure(error)) }))
        return answer
    }
}
