import NIOCore

/// Record of the connections to other servers: the idle ones, and the number of calls. It never uses the connections
/// themselves, except to check whether they are active.
struct ConnectionBook: Sendable {
    /// Maximum number of concurrent calls to one origin. Further calls wait within their own timeout.
    static let maximumCalls = 32

    struct Origin: Hashable, Sendable {
        var isSecure: Bool
        var host: String
        var port: Int
        /// `true` if the addresses were checked to be public. A connection made without this check is not reused for a
        /// call that needs it.
        var isPublicOnly: Bool
    }

    /// Promise of a waiting call: a connection, or `nil` if the call may make one.
    typealias Waiting = EventLoopPromise<(any Channel)?>

    enum Lease: Sendable {
        case use(any Channel)
        case connect
        case wait(number: UInt64)
        case stopped
    }

    private struct Line: Sendable {
        var idle: [any Channel] = []
        var calls = 0
        var waiting: [(number: UInt64, promise: Waiting)] = []
    }

    private var lines: [Origin: Line] = [:]
    private var number: UInt64 = 0
    private var isStopped = false

    /// Assigns a connection to a call.
    ///
    /// - Parameter promise: Promise that is kept if the call has to wait.
    mutating func lend(_ origin: Origin, _ promise: Waiting) -> Lease {
        guard !isStopped else { return .stopped }
        var line = lines[origin] ?? Line()
        defer { lines[origin] = line }
        guard line.calls < Self.maximumCalls else {
            number += 1
            line.waiting.append((number, promise))
            return .wait(number: number)
        }
        line.calls += 1
        while let channel = line.idle.popLast() {
            if channel.isActive { return .use(channel) }
        }
        return .connect
    }

    enum Return: Sendable {
        /// The next call gets the connection, or the right to make one.
        case passed(Waiting, (any Channel)?)
        /// The connection waits for the next call.
        case idle
        case close
    }

    /// Takes back a connection after a call.
    ///
    /// - Parameter channel: The connection; `nil` if it cannot carry another call.
    mutating func giveBack(_ origin: Origin, _ channel: (any Channel)?) -> Return {
        guard var line = lines[origin] else { return .close }
        defer { lines[origin] = line.calls == 0 && line.idle.isEmpty && line.waiting.isEmpty ? nil : line }
        if !line.waiting.isEmpty { return .passed(line.waiting.removeFirst().promise, channel) }
        line.calls -= 1
        guard let channel, !isStopped else { return .close }
        // Connections that closed while idle are removed here.
        line.idle.removeAll { !$0.isActive }
        line.idle.append(channel)
        return .idle
    }

    /// Removes a waiting call.
    ///
    /// - Returns: `true` if it was still waiting; `false` if it already got a connection or the right to make one.
    mutating func leave(_ origin: Origin, _ number: UInt64) -> Bool {
        guard let index = lines[origin]?.waiting.firstIndex(where: { $0.number == number }) else { return false }
        lines[origin]?.waiting.remove(at: index)
        return true
    }

    /// Stops lending. Returns the idle connections and the waiting calls.
    mutating func stop() -> (idle: [any Channel], waiting: [Waiting]) {
        isStopped = true
        let idle = lines.values.flatMap { $0.idle }
        let waiting = lines.values.flatMap { $0.waiting.map(\.promise) }
        for origin in lines.keys {
            lines[origin]?.idle = []
            lines[origin]?.waiting = []
        }
        return (idle, waiting)
    }
}
