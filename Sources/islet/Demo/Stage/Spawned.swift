import Foundation
import Synchronization

/// A process started with the system's own call.
///
/// Foundation's `Process` waits for the end through descriptors on a separate thread. That sometimes crashes the parent
/// when many processes start at once.
final class Spawned: Sendable {
    private enum State {
        case running
        /// Exit code as a shell reports it: the code, or 128 plus the signal.
        case ended(Int32)
    }

    /// Process id.
    let identifier: Int32
    private let state = Mutex(State.running)

    /// Starts a process.
    ///
    /// - Parameters:
    ///   - environment: Whole environment; `nil`: that of this process.
    ///   - output: Existing file to which output is appended.
    ///   - errors: Existing file to which error output is appended.
    /// - Throws: `DemoFailure` if the process cannot be started.
    init(
        _ executable: URL, _ arguments: [String], environment: [String: String]? = nil, in directory: URL? = nil,
        output: URL, errors: URL
    ) throws(DemoFailure) {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, output.path, O_WRONLY | O_APPEND, 0)
        posix_spawn_file_actions_addopen(&actions, 2, errors.path, O_WRONLY | O_APPEND, 0)
        // Inheritable descriptors of this process are not meant for the child, so they are closed there.
        for name in (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? [] {
            guard let descriptor = Int32(name), descriptor > 2 else { continue }
            let flags = fcntl(descriptor, F_GETFD)
            if flags >= 0, flags & FD_CLOEXEC == 0 { posix_spawn_file_actions_addclose(&actions, descriptor) }
        }

        // A separate process group, as with `Process`: the parent decides which of the terminal's signals to pass on.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var (mask, defaults) = (sigset_t(), sigset_t())
        sigemptyset(&mask)
        sigemptyset(&defaults)
        for signal in [SIGINT, SIGTERM] { sigaddset(&defaults, signal) }
        posix_spawnattr_setsigmask(&attributes, &mask)
        posix_spawnattr_setsigdefault(&attributes, &defaults)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

        let all = environment ?? ProcessInfo.processInfo.environment
        // The working directory belongs to all threads of a process, so a shell changes it and then becomes the
        // program.
        let command = [executable.path] + arguments
        let line = directory.map { ["/bin/sh", "-c", #"cd "$0" && exec "$@""#, $0.path] + command } ?? command
        let words = line.map { strdup($0) }
        let variables = all.map { strdup("\($0)=\($1)") }
        defer { for pointer in words + variables { free(pointer) } }
        var identifier: pid_t = 0
        let code = posix_spawn(&identifier, line[0], &actions, &attributes, words + [nil], variables + [nil])
        guard code == 0 else {
            throw DemoFailure("\(executable.path) cannot be started: \(String(cString: strerror(code)))")
        }
        self.identifier = identifier
    }

    deinit {
        // A process that has ended must be reaped, and nobody else will ask for its exit code.
        _ = exitCode
    }

    /// Exit code, or 128 plus the signal that ended the process; `nil` while it runs.
    var exitCode: Int32? {
        state.withLock { state in
            if case .ended(let code) = state { return code }
            var status: Int32 = 0
            guard waitpid(identifier, &status, WNOHANG) == identifier else { return nil }
            let signal = status & 0x7F
            let code = signal == 0 ? (status >> 8) & 0xFF : 128 + signal
            state = .ended(code)
            return code
        }
    }

    var isRunning: Bool { exitCode == nil }

    /// Sends a signal to the process if it runs. The process id cannot be reused until its end was seen.
    func send(_ signal: Int32) {
        guard isRunning else { return }
        _ = Foundation.kill(identifier, signal)
    }
}
