import APNSModel
import HTTPTypes
package import Hummingbird
import JSONText
import LiveActivityAPI
import LiveActivityCore
import LiveActivityStorage
import Logging
import NIOCore

/// Answers requests: finds the route, checks the key, reads the body, and writes every refusal as a problem document.
package struct Responder: HTTPResponder {
    package typealias Context = BasicRequestContext

    let services: Services

    package func respond(to request: Request, context: Context) async throws -> Response {
        let started = services.time.monotonic()
        var trace = Trace(requestID: String(services.dice(), radix: 16))
        let response: Response
        do {
            let answer = try await answer(request, &trace)
            response = Self.response(200, "application/json", answer.body.bytes, [:])
        } catch let problem as Problem {
            trace.code = problem.code
            response = Self.response(problem, requestID: trace.requestID)
        }
        services.logger.debug(
            "request", metadata: trace.metadata(request, response, services.time.monotonic() - started))
        return request.method == .head ? response.createHeadResponse() : response
    }

    // MARK: - Steps

    /// Throws `Problem`, or what the connection threw while the body was being read: nobody is there to be answered.
    private func answer(_ request: Request, _ trace: inout Trace) async throws -> Answer {
        let (route, encoded) = try Self.route(request)
        trace.route = route.path.description
        switch route.access {
        case .open(let handler):
            _ = try Query(request.uri.query, known: route.query)
            return try await handler(services)
        case .key(let scope, let handler):
            let key = try await authenticate(request)
            trace.key = key.id
            let app = try authorize(key, for: scope)
            var parameters: [String: String] = [:]
            for (name, text) in encoded {
                guard let decoded = PercentEncoding.decode(text) else {
                    throw Problem(.invalidPath, "the `\(name)` in the path is not percent-encoded UTF-8")
                }
                parameters[name] = decoded
            }
            trace.parameters = parameters
            let query = try Query(request.uri.query, known: route.query)
            let limit = limit(of: route)
            let body = try await read(request, upTo: limit)
            let call = Call(
                services: services, app: app, now: services.time.wall(), parameters: parameters, query: query,
                body: body, bodyLimit: limit)
            return try await handler(call)
        }
    }

    private static func route(_ request: Request) throws(Problem) -> (Route, [String: Substring]) {
        switch Route.match(request.method, request.uri.path) {
        case .found(let route, let parameters): return (route, parameters)
        case .otherMethods(let methods):
            let list = methods.map(\.rawValue).joined(separator: ", ")
            throw Problem(
                .methodNotAllowed, "this path does not take \(Problem.quotable(request.method.rawValue))",
                expected: list, headers: [.allow: list])
        case .nothing:
            throw Problem(.notFound, "no call has this path", fix: "docs/api.md lists the calls")
        }
    }

    private func limit(of route: Route) -> Int {
        switch route.body {
        case .none: 0
        case .standard: services.limits.bodyBytes
        case .inventory: services.limits.inventoryBytes
        }
    }

    private func read(_ request: Request, upTo limit: Int) async throws -> [UInt8] {
        // A body that the call does not take is left unread.
        guard limit > 0 else { return [] }
        let tooLarge = Problem(
            .bodyTooLarge, "the body of this call has at most \(limit) bytes", expected: "at most \(limit) bytes")
        if let text = request.headers[.contentLength], let length = Int(text), length > limit { throw tooLarge }
        if let type = request.headers[.contentType], !Self.isJSON(type) {
            throw Problem(
                .unsupportedMediaType, "the body is declared as something else than JSON",
                expected: "application/json", fix: "send `Content-Type: application/json`, or none")
        }
        do {
            let buffer = try await request.body.collect(upTo: limit)
            return Array(buffer.readableBytesView)
        } catch is NIOTooManyBytesError {
            throw tooLarge
        }
    }

    /// `application/json`, any `+json`, and `text/json`, with or without parameters.
    private static func isJSON(_ contentType: String) -> Bool {
        let type = contentType.prefix { $0 != ";" }.lowercased().filter { $0 != " " && $0 != "\t" }
        return type == "application/json" || type == "text/json" || (type.contains("/") && type.hasSuffix("+json"))
    }

    // MARK: - Writing

    private static func response(_ problem: Problem, requestID: String) -> Response {
        let document = problem.document(requestID: requestID)
        let bytes = (try? JSONValue(encoding: document))?.bytes ?? Array("{}".utf8)
        return response(document.status, "application/problem+json", bytes, problem.headers)
    }

    private static func response(_ status: Int, _ type: String, _ bytes: [UInt8], _ more: HTTPFields) -> Response {
        var headers = more
        headers[.contentType] = type
        headers[.cacheControl] = "no-store"
        return Response(
            status: HTTPResponse.Status(code: status), headers: headers,
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }
}

/// What a log line says of a request: ids only.
private struct Trace {
    let requestID: String
    var route: String?
    var key: String?
    var parameters: [String: String] = [:]
    var code: Problem.Code?

    func metadata(_ request: Request, _ response: Response, _ duration: Duration) -> Logger.Metadata {
        var metadata: Logger.Metadata = [
            "method": "\(request.method.rawValue.prefix(16))", "status": "\(response.status.code)",
            "milliseconds": "\(duration.wholeMilliseconds)", "request": "\(requestID)",
        ]
        metadata["route"] = route.map { "\($0)" }
        metadata["key"] = key.map { "\($0)" }
        metadata["code"] = code.map { "\($0.rawValue)" }
        for (name, value) in parameters { metadata[name] = "\(Problem.quotable(value))" }
        return metadata
    }
}
