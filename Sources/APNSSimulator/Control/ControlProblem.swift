internal import HTTPTypes
internal import Hummingbird
internal import JSONText
internal import NIOCore

/// Turns errors into problem documents (RFC 9457), and refuses web pages of other machines.
///
/// A browser lets any web page on the internet call a port of this machine.
struct ProblemMiddleware: RouterMiddleware {
    typealias Context = ControlRouter.Context

    let access: ControlAccess

    func handle(
        _ request: Request, context: Context, next: @concurrent (Request, Context) async throws -> Response
    ) async throws -> Response {
        if let origin = request.headers[.origin], !Self.isLocal(origin) {
            return Self.problem(.forbidden, "foreign-origin", "pages of other machines may not use this API")
        }
        guard access.isOwn(request.head.authority) else {
            return Self.problem(
                .init(code: 421), "foreign-host", "this API is called by an address that it listens on")
        }
        guard access.isGranted(request.headers[.authorization]) else {
            return Self.problem(.unauthorized, "token-missing", "send `Authorization: Bearer` and the control token")
        }
        do {
            return try await next(request, context)
        } catch let error as SimulatorError {
            return Self.problem(Self.status(of: error.code), error.code.text, error.detail)
        } catch let error as JSONSyntaxError {
            return Self.problem(.badRequest, "bad-json", error.description)
        } catch let error as JSONDecodingError {
            return Self.problem(.badRequest, "bad-body", error.description)
        } catch let error as HTTPError {
            let code = error.status == .notFound ? "not-found" : "refused"
            return Self.problem(error.status, code, error.body ?? error.status.reasonPhrase)
        }
    }

    private static func isLocal(_ origin: String) -> Bool {
        let host = origin.split(separator: "://", maxSplits: 1).last ?? ""
        return ["localhost", "127.0.0.1", "[::1]"].contains { host == $0 || host.hasPrefix($0 + ":") }
    }

    private static func status(of code: SimulatorError.Code) -> HTTPResponse.Status {
        switch code {
        case .unknownPhone, .unknownChannel, .unknownCrowd: .notFound
        case .phoneExists, .crowdExists, .actionRefused, .tooManyPhones: .conflict
        case .badKey, .badValue: .unprocessableContent
        case .timedOut, .notRunning: .serviceUnavailable
        default: .internalServerError
        }
    }

    private static func problem(_ status: HTTPResponse.Status, _ code: String, _ detail: String) -> Response {
        let document: JSONValue = [
            "type": "about:blank", "title": .string(status.reasonPhrase), "status": .init(status.code),
            "code": .string(code), "detail": .string(detail),
        ]
        return Response(
            status: status, headers: [.contentType: "application/problem+json"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: document.bytes)))
    }
}
