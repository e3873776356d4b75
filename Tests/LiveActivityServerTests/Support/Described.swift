import HTTPTypes
import JSONText
import LiveActivityServer
import Testing

/// Compares each call of the tests with the API's description.
enum Described {
    static let document = JSONValue.object(OpenAPIDocument.object)

    static func operation(_ method: HTTPRequest.Method, _ uri: String) -> (Route, JSONValue)? {
        let path = uri.prefix { $0 != "?" }
        let wanted = method == .head ? .get : method
        guard let route = Route.all.first(where: { $0.method == wanted && matches($0, path) }) else { return nil }
        let pointer = JSONPointer(
            tokens: ["paths", route.path.description, wanted.rawValue.lowercased()])
        return document[pointer].map { (route, $0) }
    }

    private static func matches(_ route: Route, _ path: Substring) -> Bool {
        let left = route.path.description.split(separator: "/", omittingEmptySubsequences: false)
        let right = path.split(separator: "/", omittingEmptySubsequences: false)
        return left.count == right.count
            && zip(left, right).allSatisfy { $0.hasPrefix("{") ? !$1.isEmpty : $0 == $1 }
    }

    /// Checks that the description has the answer's status, type and form, and the form of an accepted body.
    static func check(_ method: HTTPRequest.Method, _ uri: String, _ body: String?, _ reply: Reply) {
        guard method != .head, let (route, operation) = operation(method, uri) else { return }
        let name = "\(method) \(uri.prefix(100)): \(reply.status)"
        let type = String((reply.headers[.contentType] ?? "").prefix { $0 != ";" })
        let media = operation[JSONPointer(tokens: ["responses", "\(reply.status)", "content", type])]
        guard let schema = media?.object?["schema"] else {
            Issue.record("\(name) \(type) is not described")
            return
        }
        let answers = SchemaCheck(document: document, isStrict: true)
        switch type {
        case "application/x-ndjson":
            let line: JSONValue = ["$ref": "#/components/schemas/LineAnswer"]
            for text in reply.text.split(separator: "\n") {
                guard let value = try? JSONValue(parsing: String(text)) else { continue }
                let problems = answers.problems(value, line)
                #expect(problems.isEmpty, "\(name)")
            }
        case "text/plain": break
        case "text/event-stream":
            for match in reply.text.matches(of: /\ndata: ([^\n]*)\n/) {
                let value = (try? JSONValue(parsing: String(match.output.1))) ?? .null
                let problems = answers.problems(value, ["$ref": "#/components/schemas/Event"])
                #expect(problems.isEmpty, "\(name)")
            }
        default:
            let problems = answers.problems(reply.json ?? .null, schema)
            #expect(problems.isEmpty, "\(name): \(reply.code ?? "")")
        }
        let request = JSONPointer(tokens: ["requestBody", "content", "application/json", "schema"])
        // A call without a body ignores it. A body of lines is described line by line.
        guard reply.status == 200, type == "application/json", route.body != .none, let body, !body.isEmpty,
            let schema = operation[request], let value = try? JSONValue(parsing: body)
        else { return }
        let problems = SchemaCheck(document: document, isStrict: false).problems(value, schema)
        #expect(problems.isEmpty, "\(name) took \(body.prefix(200))")
    }
}
