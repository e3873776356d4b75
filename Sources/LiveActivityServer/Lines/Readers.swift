import APNSModel
import HTTPTypes
import JSONText
import LiveActivityAPI
import LiveActivityCore
import LiveActivityStorage

/// A reader of the lines of `POST /v1/batch`. Each line names a write.
struct BatchReader: LineReader {
    let responder: Responder
    /// The call of the batch itself.
    let context: Call

    var lineBytes: Int { context.services.limits.lineBytes }

    func read(_ line: [UInt8]) throws(Problem) -> (subject: String?, call: LineCall) {
        let services = context.services
        guard let json = try Call.parse(line, upTo: lineBytes, services.limits) else {
            throw Problem(.invalidJSON, "the line is empty")
        }
        let write: BatchLine
        do throws(JSONDecodingError) { write = try json.decode(BatchLine.self) } catch { throw Problem(error) }
        guard let method = HTTPRequest.Method(write.method) else {
            throw .invalid("/method", "not an HTTP method", expected: "PUT, PATCH, POST or DELETE")
        }
        let (path, query) = Self.parts(of: write.path)
        let (route, encoded) = try Responder.route(method, String(path))
        guard route.method != .get, let handler = route.handler else {
            throw .invalid(
                "/path", "no write of one activity or device", expected: "a write: PUT, PATCH, POST or DELETE")
        }
        _ = try responder.authorize(context.caller, for: route)
        let parameters = try PercentEncoding.decode(encoded)
        let values = try Query(query, known: route.query)
        guard try !values.flag("dryRun") else {
            throw Problem(.invalidQuery, "a batch takes no dry runs", fix: "make a call of its own")
        }
        let call = Call(
            services: services, caller: context.caller, app: context.app, now: services.time.wall(), route: route,
            parameters: parameters, query: values, json: route.body == .none ? nil : write.body,
            conditions: try Self.conditions(write, route), isLine: true)
        return (Self.subject(parameters), LineCall(call: call, handler: handler))
    }

    private static func parts(of path: String) -> (path: Substring, query: String?) {
        guard let mark = path.firstIndex(of: "?") else { return (path[...], nil) }
        return (path[..<mark], String(path[path.index(after: mark)...]))
    }

    private static func conditions(_ write: BatchLine, _ route: Route) throws(Problem) -> Conditions {
        var conditions = Conditions()
        if let text = write.ifMatch {
            guard route.takesIfMatch, let match = Conditions.match(text) else {
                throw .invalid("/ifMatch", "not a list of entity tags, or not for this call", expected: #""7", or *"#)
            }
            conditions.match = match
        }
        if let text = write.idempotencyKey {
            guard route.takesKey else {
                throw .invalid(
                    "/idempotencyKey", "this call takes none: to repeat it does no harm", expected: "nothing")
            }
            guard let key = IdempotencyKey(text) else {
                throw .invalid("/idempotencyKey", "not allowed", expected: IdempotencyKey.expectation)
            }
            conditions.key = key
        }
        return conditions
    }

    /// Returns the subject of a write. A phone's report belongs to the phone.
    private static func subject(_ parameters: [String: String]) -> String? {
        parameters["device"].map { "d" + $0 } ?? parameters["activity"].map { "a" + $0 }
            ?? parameters["user"].map { "u" + $0 }
    }
}

/// A reader of the lines of a streamed audience. Each line is a page of the same call.
struct PageReader: LineReader {
    /// The call of the stream itself.
    let call: Call

    /// - Throws: `invalid_header` for conditions, keys and query parameters, which only a call with one page may have.
    init(call: Call) throws(Problem) {
        self.call = call
        guard call.conditions.key == nil, call.conditions.match == nil, call.query.sorted.isEmpty else {
            throw Problem(
                .invalidHeader, "a stream of pages takes no conditions, keys or dry runs",
                fix: "repeating a page is harmless; for conditions send pages one by one, as JSON")
        }
        _ = try call.id("activity", ActivityID.self)
    }

    var lineBytes: Int { call.services.limits.inventoryBytes }

    func read(_ line: [UInt8]) throws(Problem) -> (subject: String?, call: LineCall) {
        let page = Call(
            services: call.services, caller: call.caller, app: call.app, now: call.services.time.wall(),
            route: call.route, parameters: call.parameters, query: call.query,
            json: try Call.parse(line, upTo: lineBytes, call.services.limits), conditions: Conditions(), isLine: true)
        return ("a", LineCall(call: page, handler: AudienceCalls.change))
    }
}
