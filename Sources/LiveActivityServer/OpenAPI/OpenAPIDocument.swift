import HTTPTypes
package import JSONText
import LiveActivityStorage

/// The description of the HTTP API (OpenAPI 3.1).
///
/// It is generated from the table of routes, so both always have the same calls.
package enum OpenAPIDocument {
    /// The document as JSON text. It does not change while the process runs.
    package static let bytes: [UInt8] = JSONValue.object(object).bytes

    package static let object: JSONObject = [
        "openapi": "3.1.1",
        "info": [
            "title": "Islet", "version": "1",
            "description":
                "Backends set what Live Activities should show, and phones report what they show. See docs/api.md.",
        ],
        "servers": [["url": "/"]],
        "tags": .array(Operation.Tag.allCases.map { ["name": .string($0.rawValue)] }),
        "paths": .object(paths),
        "components": [
            "securitySchemes": .object(securitySchemes), "schemas": .object(schemas),
            "headers": .object(headers),
        ],
    ]

    private static var schemas: JSONObject {
        var all = JSONObject()
        for name in Schema.Name.allCases { all[name.rawValue] = .object(name.schema.json) }
        return all
    }

    private static let securitySchemes: JSONObject = [
        "apiKey": [
            "type": "http", "scheme": "bearer", "bearerFormat": "islet_<id>_<secret>",
            "description":
                "A key of one app and one scope: `backend` (covers `device` and `read`), `device`, `read`, `admin`.",
        ],
        "person": [
            "type": "http", "scheme": "bearer", "bearerFormat": "JWT",
            "description": "A person's token of the app's identity provider, where the app has one configured.",
        ],
        "phone": [
            "type": "http", "scheme": "bearer",
            "description": "A phone's own credential, issued by `PUT /v1/devices/{device}` with `wantsCredential`.",
        ],
    ]

    /// Returns the accepted ways of authentication: any one of them, and a key of any one of the scopes. An empty one
    /// stands for a call without a credential.
    private static func security(_ route: Route) -> [JSONValue] {
        var ways: [JSONValue] = route.scopes.map { ["apiKey": [.string($0.rawValue)]] }
        if route.isForPhones { ways += [["person": []], ["phone": []]] }
        if case .joining = route.access { ways.append(.object([:])) }
        return ways
    }

    private static let headers: JSONObject = [
        "ETag": ["description": "The revision, for `If-Match`.", "schema": ["type": "string"]],
        "Idempotency-Replayed": [
            "description": "`true` if this is the stored answer to an earlier call with the same key.",
            "schema": ["type": "string", "enum": ["true"]],
        ],
        "Retry-After": [
            "description": "Seconds to wait before the next attempt.",
            "schema": ["type": "string", "pattern": "^[0-9]+$"],
        ],
        "WWW-Authenticate": ["description": "RFC 6750.", "schema": ["type": "string"]],
    ]

    private static var paths: JSONObject {
        var paths = JSONObject()
        for route in Route.all {
            let path = route.path.description
            var item = paths[path]?.object ?? [:]
            item[route.method.rawValue.lowercased()] = .object(operation(route))
            paths[path] = .object(item)
        }
        return paths
    }

    private static func operation(_ route: Route) -> JSONObject {
        guard let operation = route.operation else { return [:] }
        var object: JSONObject = [
            "operationId": .string(operation.id), "summary": .string(operation.summary),
            "tags": [.string(operation.tag.rawValue)],
        ]
        object["security"] = .array(security(route))
        let parameters = parameters(route, operation)
        if !parameters.isEmpty { object["parameters"] = .array(parameters) }
        object["requestBody"] = operation.request.map { .object(requestBody($0, route)) }
        object["responses"] = .object(responses(route, operation))
        return object
    }

    // MARK: - Bodies

    private static func requestBody(_ body: Operation.Body, _ route: Route) -> JSONObject {
        var content = JSONObject()
        if route.readsLines {
            content["application/x-ndjson"] = .object(lines(body))
        } else {
            content["application/json"] = .object(media(body))
            if route.takesPages { content["application/x-ndjson"] = .object(lines(body)) }
        }
        return ["required": .bool(body.isRequired), "content": .object(content)]
    }

    private static func media(_ body: Operation.Body) -> JSONObject {
        var media: JSONObject = ["schema": .object(Schema.named(body.schema).json)]
        media["example"] = try? JSONValue(parsing: body.example)
        return media
    }

    /// Describes lines. OpenAPI 3.1 has no form for them; each line is a JSON text of the named schema.
    private static func lines(_ body: Operation.Body) -> JSONObject {
        let line = (try? JSONValue(parsing: body.example))?.text ?? ""
        return [
            "schema": [
                "type": "string", "description": .string("Lines of JSON, each a `\(body.schema.rawValue)`."),
            ],
            "example": .string(line + "\n"),
        ]
    }

    // MARK: - Answers

    private static func responses(_ route: Route, _ operation: Operation) -> JSONObject {
        var responses: JSONObject = ["200": .object(success(route, operation))]
        let byStatus = Dictionary(grouping: route.problems, by: \.status)
        for (status, codes) in byStatus.sorted(by: { $0.key < $1.key }) {
            responses[String(status)] = .object(refusal(status, codes.map(\.rawValue).sorted()))
        }
        return responses
    }

    private static func success(_ route: Route, _ operation: Operation) -> JSONObject {
        var content = JSONObject()
        if let answer = operation.answer, route.isStream {
            content["text/event-stream"] = .object(stream(answer))
        } else if let answer = operation.answer {
            if route.readsLines || route.takesPages {
                let line = route.readsLines ? answer : Operation.Body(.lineAnswer, #"{"line": 1, "status": 200}"#)
                content["application/x-ndjson"] = .object(lines(line))
            }
            if !route.readsLines { content["application/json"] = .object(media(answer)) }
        } else {
            content["text/plain"] = ["schema": ["type": "string"]]
        }
        var response: JSONObject = ["description": "Success. Changes are stored durably.", "content": .object(content)]
        if route.scopes.isEmpty { response["description"] = "The answer." }
        var headers = JSONObject()
        if route.takesIfMatch { headers["ETag"] = ["$ref": "#/components/headers/ETag"] }
        if route.takesKey, !route.readsLines {
            headers["Idempotency-Replayed"] = ["$ref": "#/components/headers/Idempotency-Replayed"]
        }
        if !headers.isEmpty { response["headers"] = .object(headers) }
        return response
    }

    /// Describes server-sent events. OpenAPI 3.1 has no form for them; the `data` of each event has the named schema.
    private static func stream(_ body: Operation.Body) -> JSONObject {
        let data = try? JSONValue(parsing: body.example)
        let (id, type) = (data?.object?["id"]?.string ?? "", data?.object?["type"]?.string ?? "")
        return [
            "schema": [
                "type": "string",
                "description": .string("Server-sent events; the `data` of each is a `\(body.schema.rawValue)`."),
                "contentSchema": .object(Schema.named(body.schema).json),
            ],
            "example": .string("id: \(id)\nevent: \(type)\ndata: \(data?.text ?? "")\n\n"),
        ]
    }

    private static func refusal(_ status: Int, _ codes: [String]) -> JSONObject {
        let schema: JSONValue = [
            "allOf": [
                .object(Schema.named(.problem).json),
                ["properties": ["code": ["enum": .array(codes.map(JSONValue.string))]]],
            ]
        ]
        let list = codes.map { "`\($0)`" }.joined(separator: ", ")
        var response: JSONObject = [
            "description": .string(list), "content": ["application/problem+json": ["schema": schema]],
        ]
        switch status {
        case 401, 403: response["headers"] = ["WWW-Authenticate": ["$ref": "#/components/headers/WWW-Authenticate"]]
        case 429, 503: response["headers"] = ["Retry-After": ["$ref": "#/components/headers/Retry-After"]]
        default: break
        }
        return response
    }
}

extension Route {
    /// `true` if the answer is an endless stream.
    var isStream: Bool {
        if case .events = access { return true }
        return false
    }

    /// `true` if the call accepts only lines.
    var readsLines: Bool {
        if case .lines = access { return true }
        return false
    }
}
