import Dispatch
import LiveActivityCore

/// A command that changes nothing and occupies the store until it is opened.
struct Gate: Command {
    private let reached = AsyncStream.makeStream(of: Void.self)
    private let opened = DispatchSemaphore(value: 0)

    var keys: [SnapshotKey] { [] }
    var rank: CommandRank { .write }
    var isAlone: Bool { true }

    func decide(_ draft: inout Draft) throws(Refusal) {
        reached.continuation.finish()
        opened.wait()
    }

    /// Returns when the store runs the command.
    func isReached() async { for await _ in reached.stream {} }

    func open() { opened.signal() }
}
