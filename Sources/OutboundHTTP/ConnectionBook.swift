import NIOCore

/// Which connections to other servers there are: those that wait for a call, and how many carry one. Pure but for the
/// connections themselves, which it never touches.
struct ConnectionBook: Sendable {
    /// Calls of one origin at the same time; further ones wait within their own time.
    static let maximumCalls = 32

    struct Origin: Hashable, Sendable {
        var isSecure: Bool
        var host: String
        var port: Int
        /// A connection that was made without the check is not used where the check is wanted.
        var isPublicOnly: Bool
    }

    /// What waits is told a connection, or `nil`: it may make one.
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

    /// - Parameter promise: Of whoever has to wait.
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
        /// The next call has it, or the place to make one.
        case passed(Waiting, (any Channel)?)
        /// It waits for the next call.
        case idle
        case close
    }

    /// - Parameter channel: `nil` when it can carry no further call.
    mutating func giveBack(_ origin: Origin, _ channel: (any Channel)?) -> Return {
        guard var line = lines[origin] else { return .close }
        defer { lines[origin] = line.calls == 0 && line.idle.isEmpty && line.waiting.isEmpty ? nil : line }
        if !line.waiting.isEmpty { return .passed(line.waiting.removeFirst().promise, channel) }
        line.calls -= 1
        guard let channel, !isStopped else { return .close }
        // Those that ended while they waited are forgotten here.
        line.idle.removeAll { !$0.isActive }
        line.idle.append(channel)
        return .idle
    }

    /// - Returns: Whether it still waited; if not it has been given a place.
    mutating func leave(_ origin: Origin, _ number: UInt64) -> Bool {
        guard let index = lines[origin]?.waiting.firstIndex(where: { $0.number == number }) else { return false }
        lines[origin]?.waiting.remove(at: index)
        return true
    }

    /// Lends nothing from now on.
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
