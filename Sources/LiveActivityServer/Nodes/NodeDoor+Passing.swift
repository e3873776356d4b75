import AsyncHTTPClient
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Synchronization

extension NodeDoor {
    /// A reason why the owner did not answer a request.
    enum Failure: Error {
        /// The owner has done nothing, and the request can be sent again.
        case notSent(any Error)
        /// The owner has done nothing, but a part of a stream has been read.
        case notDone(any Error)
        /// The owner may have done what the request asks for.
        case unknown(any Error)
    }

    /// Headers of the calls between nodes.
    enum Header {
        /// The owner's secret.
        static let secret = HTTPField.Name("islet-node")
        /// The address of the caller, as `AddressRoom` names it.
        static let caller = HTTPField.Name("islet-caller")
    }

    /// Headers that concern one connection (RFC 9110 section 7.6.1), or that only nodes may set.
    private static let hopByHop: Set<String> = [
        "connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "host",
        "content-length", "expect", "islet-node", "islet-caller",
    ]

    /// Returns the URL of a request at the owner; `nil` if its target is no path, or would change on the way.
    ///
    /// A target such as `@example.com/` would otherwise name another host.
    static func url(of target: String, at address: String) -> String? {
        guard target.hasPrefix("/"), !target.contains("#") else { return nil }
        let text = address + target
        guard let url = URL(string: text), url.absoluteString == text, let base = URL(string: address),
            url.host == base.host, url.port == base.port, url.user == nil
        else { return nil }
        return text
    }

    /// Passes a request on, and returns the answer when its head is there.
    ///
    /// - Parameter stream: The body, if it may be large; `nil` for one that has been collected.
    func pass(
        _ request: Request, _ url: String, stream: PassedBody?, to peer: NodePeer, from address: String
    ) async throws(Failure) -> Response {
        let outbound = outbound(request, url, stream: stream, to: peer, address)
        do {
            let answer = try await peer.client.execute(outbound, deadline: .distantFuture)
            if answer.status == .misdirectedRequest, answer.headers.contains(name: "islet-node") {
                // The node does not own the database yet, or any more.
                throw stream == nil ? Failure.notSent(NotTheOwner()) : .notDone(NotTheOwner())
            }
            return Self.inbound(answer, isHead: request.method == .head)
        } catch let failure as Failure {
            throw failure
        } catch {
            guard Self.isBeforeSending(error) else { throw .unknown(error) }
            throw stream?.isTouched ?? false ? .notDone(error) : .notSent(error)
        }
    }

    private struct NotTheOwner: Error {}

    /// Returns `true` for an error of making the connection.
    private static func isBeforeSending(_ error: any Error) -> Bool {
        switch error {
        case is NIOConnectionError, NIOSSLError.handshakeFailed, ChannelError.connectTimeout: true
        case let error as IOError: error.errnoCode == ECONNREFUSED
        case let error as HTTPClientError:
            error == .connectTimeout || error == .tlsHandshakeTimeout || error == .getConnectionFromPoolTimeout
                || error == .alreadyShutdown
        default: false
        }
    }

    private func outbound(
        _ request: Request, _ url: String, stream: PassedBody?, to peer: NodePeer, _ address: String
    ) -> HTTPClientRequest {
        var outbound = HTTPClientRequest(url: url)
        outbound.method = HTTPMethod(rawValue: request.method.rawValue)
        let ofConnection = request.headers[.connection]?.lowercased().split(separator: ",").map {
            $0.trimmingCharacters(in: .whitespaces)
        }
        let left = Self.hopByHop.union(ofConnection ?? [])
        for field in request.headers where !left.contains(field.name.canonicalName) {
            outbound.headers.add(name: field.name.rawName, value: field.value)
        }
        if let host = request.head.authority { outbound.headers.add(name: "host", value: host) }
        outbound.headers.add(name: "islet-node", value: peer.secret)
        outbound.headers.add(name: "islet-caller", value: address)
        let length = request.headers[.contentLength].flatMap { Int64($0) }
        if let stream {
            outbound.body = .stream(stream, length: length.map { .known($0) } ?? .unknown)
        } else if let length, length > 0 {
            outbound.body = .stream(request.body, length: .known(length))
        }
        return outbound
    }

    private static func inbound(_ answer: HTTPClientResponse, isHead: Bool) -> Response {
        var headers = HTTPFields()
        for (name, value) in answer.headers {
            guard let name = HTTPField.Name(name), !hopByHop.contains(name.canonicalName) else { continue }
            headers.append(HTTPField(name: name, value: value))
        }
        let length = answer.headers.first(name: "content-length").flatMap { Int($0) }
        let body = answer.body
        return Response(
            status: HTTPResponse.Status(code: Int(answer.status.code)), headers: headers,
            body: ResponseBody(contentLength: length) { writer in
                if !isHead {
                    for try await part in body { try await writer.write(part) }
                }
                try await writer.finish(nil)
            })
    }
}

/// The body of a request that is passed on as it comes.
///
/// The client reads it in a task of its own, which may still wait for the next part when the owner has answered. Nobody
/// else may read then, so the connection of such a request is closed (`Answered`).
struct PassedBody: AsyncSequence, Sendable {
    private let body: RequestBody
    private let progress = Progress()

    fileprivate final class Progress: Sendable {
        let isTouched = Atomic(false)
        let isRead = Atomic(false)
    }

    init(_ body: RequestBody) {
        self.body = body
    }

    /// `true` if a part has been asked for.
    var isTouched: Bool { progress.isTouched.load(ordering: .acquiring) }
    /// `true` if its end has been read.
    var isRead: Bool { progress.isRead.load(ordering: .acquiring) }

    func makeAsyncIterator() -> Iterator { Iterator(base: body.makeAsyncIterator(), progress: progress) }

    struct Iterator: AsyncIteratorProtocol {
        fileprivate var base: RequestBody.AsyncIterator
        fileprivate let progress: Progress

        mutating func next() async throws -> ByteBuffer? { try await next(isolation: nil) }

        mutating func next(isolation actor: isolated (any Actor)?) async throws -> ByteBuffer? {
            progress.isTouched.store(true, ordering: .releasing)
            let part = try await base.next(isolation: actor)
            if part == nil { progress.isRead.store(true, ordering: .releasing) }
            return part
        }
    }
}
