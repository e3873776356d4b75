import Foundation
import NIOCore
import NIOPosix
import Synchronization

/// A process started by the system's own call, with its input and output on an event loop.
///
/// Not Foundation's `Process`, because its children inherit the signals that its thread blocks and then ignore the
/// request to end.
final class ChildProcess: Sendable {
    struct Ended: Error, CustomStringConvertible {
        let description: String
    }

    private let identifier: pid_t
    private let channel: any Channel
    private let lines: Lines
    /// `true` once the process was reaped: another process may have its number by then.
    private let isReaped = Mutex(false)

    init(_ executable: String, _ arguments: [String]) async throws {
        let (input, output) = (try Self.makePipe(), try Self.makePipe())
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, input.read, 0)
        posix_spawn_file_actions_adddup2(&actions, output.write, 1)
        posix_spawn_file_actions_adddup2(&actions, output.write, 2)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var mask = sigset_t()
        sigemptyset(&mask)
        posix_spawnattr_setsigmask(&attributes, &mask)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        let words = ([executable] + arguments).map { strdup($0) }
        let variables = ProcessInfo.processInfo.environment.map { strdup("\($0)=\($1)") }
        defer { for pointer in words + variables { free(pointer) } }
        var identifier: pid_t = 0
        let code = posix_spawn(&identifier, executable, &actions, &attributes, words + [nil], variables + [nil])
        close(input.read)
        close(output.write)
        guard code == 0 else {
            close(input.write)
            close(output.read)
            throw Ended(description: "\(executable) cannot be started: \(String(cString: strerror(code)))")
        }
        self.identifier = identifier
        let lines = Lines()
        self.lines = lines
        channel = try await NIOPipeBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(Reader(lines)) }
            }
            .takingOwnershipOfDescriptors(input: output.read, output: input.write).get()
    }

    /// Makes a pipe whose ends are not inherited by processes that start meanwhile.
    private static func makePipe() throws -> (read: CInt, write: CInt) {
        var ends: [CInt] = [0, 0]
        guard pipe(&ends) == 0 else { throw Ended(description: "no pipe can be made") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }

    func write(_ text: String) async throws {
        try await channel.writeAndFlush(ByteBuffer(string: text)).get()
    }

    /// Returns the first whole line that contains the text, as soon as there is one.
    func line(with text: String) async throws -> String {
        while true {
            let (found, isOver, seen) = lines.state.withLock { state in
                let whole = state.text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
                return (whole.first { $0.contains(text) }.map(String.init), state.isOver, state.changes)
            }
            if let found { return found }
            guard !isOver else { throw Ended(description: "the process ended before it said \(text)") }
            await lines.change(after: seen)
        }
    }

    /// Returns when a process listens on the port. Throws if the process ended instead.
    func isListening(on port: Int) async throws {
        let deadline = ContinuousClock.now + .seconds(60)
        while true {
            if let channel = try? await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .connect(host: "127.0.0.1", port: port).get()
            {
                return try await channel.close()
            }
            let (isOver, text) = lines.state.withLock { ($0.isOver, $0.text) }
            guard !isOver, ContinuousClock.now < deadline else {
                throw Ended(description: "nobody listens on port \(port): \(text.suffix(500))")
            }
            await Task.yield()
        }
    }

    /// Throws what is known about the process's end if it ended by itself.
    func isStillThere() throws {
        var status: CInt = 0
        guard waitpid(identifier, &status, WNOHANG) == identifier else { return }
        isReaped.withLock { $0 = true }
        let text = lines.state.withLock(\.text)
        throw Ended(description: "it ended by itself, with wait status \(status), and said: \(text.suffix(2_000))")
    }

    /// Kills the process at once. Its output is no longer needed.
    func end() async throws {
        if !isReaped.withLock(\.self) {
            kill(identifier, SIGKILL)
            var status: CInt = 0
            waitpid(identifier, &status, 0)
        }
        try await channel.close()
    }

    private final class Lines: Sendable {
        struct State {
            var text = ""
            var isOver = false
            var changes = 0
            var waiters: [CheckedContinuation<Void, Never>] = []
        }

        let state = Mutex(State())

        func add(_ text: String, isOver: Bool = false) {
            let waiters = state.withLock { state in
                state.text += text
                state.isOver = state.isOver || isOver
                state.changes += 1
                defer { state.waiters = [] }
                return state.waiters
            }
            for waiter in waiters { waiter.resume() }
        }

        func change(after seen: Int) async {
            await withCheckedContinuation { continuation in
                let isChanged = state.withLock { state in
                    if state.changes != seen { return true }
                    state.waiters.append(continuation)
                    return false
                }
                if isChanged { continuation.resume() }
            }
        }
    }

    private final class Reader: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let lines: Lines

        init(_ lines: Lines) {
            self.lines = lines
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            lines.add(String(buffer: unwrapInboundIn(data)))
        }

        func channelInactive(context: ChannelHandlerContext) {
            lines.add("", isOver: true)
            context.fireChannelInactive()
        }
    }
}
