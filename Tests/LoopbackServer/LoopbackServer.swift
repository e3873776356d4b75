package import HTTPTypes
package import Hummingbird
import Logging
import NIOCore
import Synchronization

/// A call that a test's server received.
package struct Asked: Sendable {
    package var method: HTTPRequest.Method
    package var path: String
    package var headers: HTTPFields
    package var body: [UInt8]

    /// The headers by their lowercase names.
    package var fields: [String: String] {
        Dictionary(headers.map { ($0.name.canonicalName, $0.value) }, uniquingKeysWith: { $1 })
    }
    package var line: String { "\(method) \(path)" }
    package var authorization: String? { headers[.authorization] }
    package var text: String { String(decoding: body, as: UTF8.self) }
}

/// Runs a real HTTP server on a free port of loopback while the work runs. It gives the test's answers and keeps the
/// calls.
package func withLoopbackServer(
    _ respond: @escaping @Sendable (Asked) -> Response,
    _ work: @escaping @Sendable (_ address: String, _ asked: @Sendable () -> [Asked]) async throws -> Void
) async throws {
    let kept = Kept()
    let (addresses, found) = AsyncStream.makeStream(of: String.self)
    let responder = CallbackResponder<BasicRequestContext> { request, _ in
        let bytes = try await request.body.collect(upTo: 1 << 20)
        let asked = Asked(
            method: request.method, path: request.uri.string, headers: request.headers,
            body: Array(bytes.readableBytesView))
        kept.add(asked)
        return respond(asked)
    }
    let application = Application(
        responder: responder, configuration: .init(address: .hostname("127.0.0.1", port: 0)),
        onServerRunning: { found.yield("http://127.0.0.1:\($0.localAddress?.port ?? 0)") },
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

package func httpAnswer(_ status: HTTPResponse.Status, _ body: String = "", _ headers: HTTPFields = [:]) -> Response {
    Response(status: status, headers: headers, body: .init(byteBuffer: ByteBuffer(string: body)))
}

private final class Kept: Sendable {
    private let list = Mutex<[Asked]>([])
    var all: [Asked] { list.withLock(\.self) }
    func add(_ asked: Asked) { list.withLock { $0.append(asked) } }
}
