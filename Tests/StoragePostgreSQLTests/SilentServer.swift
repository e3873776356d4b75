import Foundation
import PostgresCluster
import Synchronization

/// A socket that takes connections as a server of PostgreSQL does, and never answers.
final class SilentServer: Sendable {
    private let directory: URL
    private let listener: CInt
    private let accepted = Mutex<[CInt]>([])

    init() throws {
        directory = FileManager.default.temporaryDirectory.appending(
            path: "islet-silent-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        let path = directory.appending(path: MessageProxy.socketName).path
        guard listener >= 0, MessageProxy.withAddress(of: path, { bind(listener, $0, $1) }) == 0,
            listen(listener, 16) == 0
        else { throw PostgresCluster.Failure(description: "cannot listen at \(path)") }
        Thread.detachNewThread { [self] in
            while true {
                let client = accept(listener, nil, nil)
                guard client >= 0 else { return }
                accepted.withLock { $0.append(client) }
            }
        }
    }

    /// Folder of the socket.
    var folder: String { directory.path }
    var url: String { "postgres://islet@/silent?host=\(folder)" }
    /// Number of connections so far.
    var connections: Int { accepted.withLock(\.count) }

    func stop() {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
        for descriptor in accepted.withLock(\.self) { close(descriptor) }
        try? FileManager.default.removeItem(at: directory)
    }
}
