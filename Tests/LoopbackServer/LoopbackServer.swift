import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import Synchronization

/// A call that a backend of a test got.
struct Asked: Sendable {
    var headers: HTTPFields
    var body: [UInt8]
    var path: String
}

/// A real server on the loopback, which answers what the test says and keeps what it was asked.
func withBackend(
    _ respond: @escaping @Sendable (Request) -> Response,
    _ work: @escaping @Sendable (String, @Sendable () -> [Asked]) async throws -> Void
) async throws {
    let kept = Kept()
    let (addresses, continuation) = AsyncStream.makeStream(of: String.self)
    let responder = CallbackResponder<BasicRequestContext> { request, _ in
        let bytes = try await request.body.collect(upTo: 1 << 20)
        kept.add(Asked(headers: request.headers, body: Array(bytes.readableBytesView), path: request.uri.path))
        return respond(request)
    }
    let application = Application(
        responder: responder, configuration: .init(address: .hostname("127.0.0.1", port: 0)),
        onServerRunning: { continuation.yield("http://127.0.0.1:\($0.localAddress?.port ?? 0)") },
        logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await application.run() }
        group.addTask {
            for await address in addresses {
                try await work(address) { kept.all }
                return
            }
        }
        defer { group.cancelAll() }
        try await group.next()
    }
}

func answer(_ status: HTTPResponse.Status, _ body: String, _ headers: HTTPFields = [:]) -> Response {
    Response(status: status, headers: headers, body: .init(byteBuffer: ByteBuffer(string: body)))
}

private final class Kept: Sendable {
    private let list = Mutex<[Asked]>([])
    var all: [Asked] { list.withLock(\.self) }
    func add(_ asked: Asked) { list.withLock { $0.append(asked) } }
}
