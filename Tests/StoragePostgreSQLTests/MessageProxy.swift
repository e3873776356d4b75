import Foundation
import PostgresCluster
import Synchronization

/// Passes connections on to a server's socket, message by message, and cuts them at one of the messages
/// (https://www.postgresql.org/docs/15/protocol-message-formats.html).
///
/// A network fails in just these ways as far as a client can see: a message arrived or not, and its answer did or not.
final class MessageProxy: Sendable {
    /// Place of a cut, counted in messages of both directions from `arm` on.
    struct Cut: Sendable, Equatable {
        var message: Int
        /// `true` if the message arrives before the connection ends.
        var arrives: Bool

        init(message: Int, arrives: Bool) {
            self.message = message
            self.arrives = arrives
        }
    }

    private struct State {
        var isCounting = false
        var count = 0
        var cut: Cut?
        var hasCut = false
        var open: Set<CInt> = []
        var isOver = false
    }

    /// Folder of the proxy's socket, as the `host` of a URL.
    let directory: URL
    private let target: String
    private let listener: CInt
    private let state = Mutex(State())

    /// Listens at a socket of its own.
    init(to cluster: PostgresCluster) throws {
        directory = FileManager.default.temporaryDirectory.appending(path: "islet-proxy-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        target = cluster.directory.appending(path: Self.socketName).path
        listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        let path = directory.appending(path: Self.socketName).path
        guard listener >= 0, Self.withAddress(of: path, { bind(listener, $0, $1) }) == 0, listen(listener, 16) == 0
        else {
            throw PostgresCluster.Failure(description: "cannot listen at \(path): \(String(cString: strerror(errno)))")
        }
        Thread.detachNewThread { [self] in accepting() }
    }

    static let socketName = ".s.PGSQL.5432"

    /// Counts messages from now on, and cuts the connection of one of them.
    func arm(_ cut: Cut?) {
        state.withLock { state in
            state.isCounting = true
            state.count = 0
            state.cut = cut
            state.hasCut = false
        }
    }

    /// Stops counting. Returns the number of messages since `arm`, and whether a connection was cut.
    func disarm() -> (messages: Int, hasCut: Bool) {
        state.withLock { state in
            state.isCounting = false
            return (state.count, state.hasCut)
        }
    }

    func stop() {
        let open = state.withLock { state in
            state.isOver = true
            return state.open
        }
        for descriptor in open { shutdown(descriptor, Int32(SHUT_RDWR)) }
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
        try? FileManager.default.removeItem(at: directory)
    }

    // MARK: - Connections

    private func accepting() {
        while true {
            let client = accept(listener, nil, nil)
            guard client >= 0 else { return }
            let server = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
            guard Self.withAddress(of: target, { connect(server, $0, $1) }) == 0 else {
                close(client)
                close(server)
                continue
            }
            state.withLock { $0.open.formUnion([client, server]) }
            let halves = Halves(client, server)
            Thread.detachNewThread { [self] in
                pump(from: client, to: server, begins: true)
                end(halves)
            }
            Thread.detachNewThread { [self] in
                pump(from: server, to: client, begins: false)
                end(halves)
            }
        }
    }

    /// Both directions of a connection, whose descriptors are closed once both have ended.
    private final class Halves: Sendable {
        let descriptors: [CInt]
        let left = Atomic<Int>(2)

        init(_ client: CInt, _ server: CInt) {
            descriptors = [client, server]
        }
    }

    private func end(_ halves: Halves) {
        for descriptor in halves.descriptors { shutdown(descriptor, Int32(SHUT_RDWR)) }
        guard halves.left.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0 else { return }
        state.withLock { $0.open.subtract(halves.descriptors) }
        for descriptor in halves.descriptors { close(descriptor) }
    }

    private func pump(from source: CInt, to sink: CInt, begins: Bool) {
        // A client's first message has no type.
        var hasType = !begins
        while let message = Self.read(source, hasType: hasType) {
            hasType = true
            let (passes, goesOn) = state.withLock { state -> (Bool, Bool) in
                guard state.isCounting else { return (true, true) }
                state.count += 1
                guard let cut = state.cut, !state.hasCut, state.count == cut.message else { return (true, true) }
                state.hasCut = true
                return (cut.arrives, false)
            }
            if passes { Self.write(message, to: sink) }
            guard goesOn else { return }
        }
    }

    private static func read(_ source: CInt, hasType: Bool) -> [UInt8]? {
        guard let head = read(source, count: hasType ? 5 : 4) else { return nil }
        let length = head.suffix(4).reduce(0) { $0 << 8 | Int($1) }
        guard (4...1 << 30).contains(length), let body = read(source, count: length - 4) else { return nil }
        return head + body
    }

    private static func read(_ source: CInt, count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        var done = 0
        while done < count {
            let got = bytes.withUnsafeMutableBytes { recv(source, $0.baseAddress.map { $0 + done }, count - done, 0) }
            guard got > 0 else { return nil }
            done += got
        }
        return bytes
    }

    private static func write(_ bytes: [UInt8], to sink: CInt) {
        var done = 0
        while done < bytes.count {
            let sent = bytes.withUnsafeBytes {
                send(sink, $0.baseAddress.map { $0 + done }, bytes.count - done, Int32(MSG_NOSIGNAL))
            }
            guard sent > 0 else { return }
            done += sent
        }
    }

    static func withAddress(of path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> CInt) -> CInt {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8).prefix(100)) }
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}
