import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import Synchronization

@testable import islet

/// An HTTP server that answers always the same, and keeps what it was asked.
final class Answering: Sendable {
    struct Asked: Sendable, Equatable {
        var line: String
        var authorization: String?
        var body: String
    }

    private let asked = Mutex<[Asked]>([])
    var calls: [Asked] { asked.withLock(\.self) }

    /// Runs one on a free port of the loopback, and gives its address.
    static func with(
        _ status: Int, _ body: String,
        _ work: @escaping @Sendable (Answering, String) async throws -> Void
    ) async throws {
        let answering = Answering()
        let (addresses, continuation) = AsyncStream.makeStream(of: String.self)
        let responder = CallbackResponder<BasicRequestContext> { request, _ in
            let text = String(buffer: try await request.body.collect(upTo: 1 << 20))
            answering.asked.withLock {
                $0.append(
                    Asked(
                        line: "\(request.method) \(request.uri.string)",
                        authorization: request.headers[.authorization], body: text))
            }
            return Response(status: .init(code: status), body: .init(byteBuffer: ByteBuffer(string: body)))
        }
        let application = Application(
            responder: responder, configuration: .init(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { channel in
                continuation.yield("http://127.0.0.1:\(channel.localAddress?.port ?? 0)")
            }, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await application.run() }
            group.addTask {
                for await address in addresses {
                    try await work(answering, address)
                    return
                }
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }
}
