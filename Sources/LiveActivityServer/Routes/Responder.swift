import APNSModel
import HTTPTypes
package import Hummingbird
import JSONText
import LiveActivityAPI
import LiveActivityCore
import LiveActivityStorage
import LiveActivityTracing
import Logging
import NIOCore
import Tracing

/// The responder to requests.
///
/// It finds the route, authenticates the caller, reads the body, and writes refusals as problem documents.
package struct Responder: HTTPResponder {
    package typealias Context = BasicRequestContext

    let services: Services
    var door = Door.api

    package func respond(to request: Request, context: Context) async throws -> Response {
        try await respond(to: request, from: "")
    }

    /// - Parameter address: The origin of the request, as returned by `AddressRoom.label`.
    func respond(to request: Request, from address: String) async throws -> Response {
        guard let traces = services.traces else { return try await respond(to: request, address, nil) }
        let headers = request.headers
        let parent = traces.context { name in HTTPField.Name(name).flatMap { headers[$0] } }
        let span = traces.start(String(request.method.rawValue.prefix(16)), .server, in: parent)
        defer { span.end() }
        return try await InstrumentationContext.$current.withValue(span.context) {
            try await respond(to: request, address, span)
        }
    }

    private func respond(to request: Request, _ address: String, _ span: (any Span)?) async throws -> Response {
        let started = services.time.monotonic()
        var trace = Trace(requestID: String(services.dice(), radix: 16))
        let response: Response
        do {
            if door == .api, let page = ConsolePage(path: request.uri.path) {
                trace.route = "/console"
                response = try await console(page, request, from: address)
            } else {
                response = try await answer(request, from: address, &trace)
            }
        } catch let problem as Problem {
            trace.code = problem.code
            response = Self.response(problem, requestID: trace.requestID)
        } catch {
            span?.recordError(error)
            services.httpMetrics.answered(
                request.method, route: trace.route, status: nil, after: services.time.monotonic() - started)
            throw error
        }
        let duration = services.time.monotonic() - started
        services.httpMetrics.answered(
            request.method, route: trace.route, status: response.status.code, after: duration)
        services.logger.debug("request", metadata: trace.metadata(request, response, duration))
        if let span { trace.tell(span, request, response) }
        return request.method == .head ? response.createHeadResponse() : response
    }

    // MARK: - Steps

    /// Throws `Problem`, or the connection's error while the body was read. In the latter case nobody is left to be
    /// answered.
    private func answer(_ request: Request, from address: String, _ trace: inout Trace) async throws -> Response {
        let (route, encoded) = try Self.route(request.method, request.uri.path)
        try check(route)
        // Monitoring calls are answered even if the server is full.
        let place = route.scopes.isEmpty ? nil : try services.admission.enter()
        defer { withExtendedLifetime(place) {} }
        trace.route = route.path.description
        switch route.access {
        case .open(let handler):
            return Self.response(try await answerOpen(route, request, handler))
        case .joining:
            let caller = try await joiner(request)
            trace.caller = caller?.label ?? "anybody"
            let parameters = try PercentEncoding.decode(encoded)
            trace.parameters = parameters
            return Self.response(try await join(route, request, as: caller, parameters["activity"], from: address))
        case .key, .phone, .lines, .events:
            let caller = try await authenticate(request)
            trace.caller = caller.label
            let own = try services.admission.enter(caller)
            defer { withExtendedLifetime(own) {} }
            let app = try authorize(caller, for: route)
            let parameters = try PercentEncoding.decode(encoded)
            trace.parameters = parameters
            try services.admission.count(caller, device: parameters["device"], at: services.time.monotonic())
            let query = try Query(request.uri.query, known: route.query)
            let conditions = try Conditions(request.headers, for: route)
            func call(_ json: JSONValue?) -> Call {
                Call(
                    services: services, caller: caller, app: app, now: services.time.wall(), route: route,
                    parameters: parameters, query: query, json: json, conditions: conditions,
                    shownCredential: Self.credentialHeader.flatMap { request.headers[$0] })
            }
            if case .events = route.access { return try await events(call(nil), request.headers) }
            if let reader = try lines(of: route, request, call) {
                return Self.response(lines: try stream(reader, of: caller, request, trace.requestID))
            }
            guard let handler = route.handler else { throw Problem(.notFound, "no call has this path") }
            let limit = limit(of: route)
            let body = try await read(request, upTo: limit)
            return Self.response(try await handler(call(try Call.parse(body, upTo: limit, services.limits))))
        }
    }

    private static let credentialHeader = HTTPField.Name(PhoneHeader.deviceCredential)

    /// Returns the reader that turns the lines of this body into writes. Returns `nil` if the body is one document.
    private func lines(
        of route: Route, _ request: Request, _ call: (JSONValue?) -> Call
    ) throws(Problem) -> (any LineReader)? {
        let type = request.headers[.contentType]
        switch route.access {
        case .lines:
            guard type.map({ Self.isLines($0) || Self.isJSON($0) }) ?? true else { throw Self.notLines }
            return BatchReader(responder: self, context: call(nil))
        case .key, .phone, .open, .events, .joining:
            guard route.takesPages, let type, Self.isLines(type) else { return nil }
            return try PageReader(call: call(nil))
        }
    }

    private func stream(
        _ reader: any LineReader, of caller: Caller, _ request: Request, _ requestID: String
    ) throws(Problem)
        -> ResponseBody
    {
        guard let place = services.streams.take(of: caller.app.text, upTo: services.limits.streamsOfApp) else {
            throw Problem(
                .overloaded,
                "\(services.streams.maximum) streams, or \(services.limits.streamsOfApp) of this app, are being read "
                    + "already; nothing was changed",
                fix: "repeat the call later", headers: [.retryAfter: "1"])
        }
        let lines = LineStream(
            reader: reader, standing: CallerStanding(caller, self), limits: services.limits, time: services.time,
            requestID: requestID)
        let body = request.body
        return ResponseBody { writer in
            defer { withExtendedLifetime(place) {} }
            try await lines.run(body, &writer)
        }
    }

    static func route(_ method: HTTPRequest.Method, _ path: String) throws(Problem) -> (Route, [String: Substring]) {
        switch Route.match(method, path) {
        case .found(let route, let parameters): return (route, parameters)
        case .otherMethods(let methods):
            let list = methods.map(\.rawValue).joined(separator: ", ")
            throw Problem(
                .methodNotAllowed, "this path does not take \(Problem.quotable(method.rawValue))",
                expected: list, headers: [.allow: list])
        case .nothing:
            throw Problem(.notFound, "no call has this path", fix: "docs/api.md lists the calls")
        }
    }

    private func limit(of route: Route) -> Int {
        switch route.body {
        case .none: 0
        case .standard: services.limits.bodyBytes
        case .large: services.limits.inventoryBytes
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

    /// Returns `true` for `application/json`, `text/json` and every `+json` type, with or without parameters.
    private static func isJSON(_ contentType: String) -> Bool {
        let type = mediaType(contentType)
        return type == "application/json" || type == "text/json" || (type.contains("/") && type.hasSuffix("+json"))
    }

    /// Returns `true` for the usual types of newline-delimited JSON, which has no registered media type.
    static func isLines(_ contentType: String) -> Bool {
        ["application/x-ndjson", "application/ndjson", "application/jsonl"].contains(mediaType(contentType))
    }

    private static func mediaType(_ contentType: String) -> String {
        contentType.prefix { $0 != ";" }.lowercased().filter { $0 != " " && $0 != "\t" }
    }

    private static let notLines = Problem(
        .unsupportedMediaType, "the body is declared as something else than lines of JSON",
        expected: "application/x-ndjson", fix: "send `Content-Type: application/x-ndjson`, or none")

    // MARK: - Writing

    private static func response(_ answer: Answer) -> Response {
        response(200, answer.contentType, answer.bytes, answer.headers)
    }

    private static func response(lines body: ResponseBody) -> Response {
        Response(status: .ok, headers: [.contentType: "application/x-ndjson", .cacheControl: "no-store"], body: body)
    }

    private static func response(_ problem: Problem, requestID: String) -> Response {
        response(
            problem.code.status, "application/problem+json", document(problem, requestID: requestID), problem.headers)
    }

    static func document(_ problem: Problem, requestID: String) -> [UInt8] {
        (try? JSONValue(encoding: problem.document(requestID: requestID)))?.bytes ?? Array("{}".utf8)
    }

    private static func response(_ status: Int, _ type: String, _ bytes: [UInt8], _ more: HTTPFields) -> Response {
        var headers = more
        headers[.contentType] = type
        if headers[.cacheControl] == nil { headers[.cacheControl] = "no-store" }
        return Response(
            status: HTTPResponse.Status(code: status), headers: headers,
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }
}

/// The facts of a request for its log line and span. Contains ids only.
private struct Trace {
    let requestID: String
    var route: String?
    var caller: String?
    var parameters: [String: String] = [:]
    var code: Problem.Code?

    /// Sets the span's name and attributes, with OpenTelemetry's names where they exist.
    func tell(_ span: any Span, _ request: Request, _ response: Response) {
        if let route { span.operationName = "\(request.method.rawValue) \(route)" }
        span.updateAttributes { attributes in
            attributes["http.request.method"] = String(request.method.rawValue.prefix(16))
            attributes["http.route"] = route
            attributes["http.response.status_code"] = Int64(response.status.code)
            attributes["islet.request"] = requestID
            attributes["islet.code"] = code?.rawValue
            attributes["islet.activity"] = parameters["activity"]
        }
        if response.status.code >= 500 { span.setStatus(SpanStatus(code: .error)) }
    }

    func metadata(_ request: Request, _ response: Response, _ duration: Duration) -> Logger.Metadata {
        var metadata: Logger.Metadata = [
            "method": "\(request.method.rawValue.prefix(16))", "status": "\(response.status.code)",
            "milliseconds": "\(duration.wholeMilliseconds)", "request": "\(requestID)",
        ]
        metadata["route"] = route.map { "\($0)" }
        metadata["caller"] = caller.map { "\($0)" }
        metadata["code"] = code.map { "\($0.rawValue)" }
        for (name, value) in parameters { metadata[name] = "\(Problem.quotable(value))" }
        return metadata
    }
}
