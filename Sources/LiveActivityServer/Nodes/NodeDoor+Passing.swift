import AsyncHTTPClient
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

extension NodeDoor {
    /// A reason why the owner did not answer a request.
    enum Failure: Error {
        /// The owner has done nothing, and the request can be sent again.
        case notSent(any Error)
        /// The owner has done nothing, but a part of the request has been read.
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

    /// Passes a request on, and returns the answer when its head is there.
    func pass(_ request: Request, to peer: NodePeer, from address: String) async throws(Failure) -> Response {
        let isSafe = request.method == .get || request.method == .head
        let outbound = outbound(request, to: peer, address)
        // A body that comes as a stream cannot be read twice.
        let canRepeat = outbound.body == nil || isSmall(request)
        do {
            let answer = try await peer.client.execute(outbound, deadline: .distantFuture)
            if answer.status == .misdirectedRequest, answer.headers.contains(name: "islet-node") {
                // The node does not own the database yet, or any more.
                throw canRepeat ? Failure.notSent(NotTheOwner()) : .notDone(NotTheOwner())
            }
            return Self.inbound(answer, isHead: request.method == .head)
        } catch let failure as Failure {
            throw failure
        } catch {
            guard isSafe || Self.isBeforeSending(error) else { throw .unknown(error) }
            throw canRepeat ? .notSent(error) : .notDone(error)
        }
    }

    private struct NotTheOwner: Error {}

    private static func isBeforeSending(_ error: any Error) -> Bool {
        switch error {
        case is NIOConnectionError, is NIOSSLError, ChannelError.connectTimeout: true
        case let error as IOError:
            [ECONNREFUSED, EHOSTUNREACH, ENETUNREACH, EADDRNOTAVAIL].contains(error.errnoCode)
        case let error as HTTPClientError:
            error == .connectTimeout || error == .tlsHandshakeTimeout || error == .getConnectionFromPoolTimeout
                || error == .alreadyShutdown
        default: false
        }
    }

    private func outbound(_ request: Request, to peer: NodePeer, _ address: String) -> HTTPClientRequest {
        var outbound = HTTPClientRequest(url: peer.address + request.uri.string)
        outbound.method = HTTPMethod(rawValue: request.method.rawValue)
        for field in request.headers where !Self.hopByHop.contains(field.name.canonicalName) {
            outbound.headers.add(name: field.name.rawName, value: field.value)
        }
        if let host = request.head.authority { outbound.headers.add(name: "host", value: host) }
        outbound.headers.add(name: "islet-node", value: peer.secret)
        outbound.headers.add(name: "islet-caller", value: address)
        if let length = request.headers[.contentLength].flatMap({ Int64($0) }) {
            if length > 0 { outbound.body = .stream(request.body, length: .known(length)) }
        } else if request.headers[.transferEncoding] != nil || [.post, .put, .patch].contains(request.method) {
            outbound.body = .stream(request.body, length: .unknown)
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
