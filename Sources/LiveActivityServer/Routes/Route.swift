package import HTTPTypes
package import LiveActivityStorage

/// One call of the API: method, path, who may make it, and what it does.
package struct Route: Sendable {
    /// Who may make the call. There is no route without it.
    enum Access: Sendable {
        /// Anybody; such a call sees the server's own health only.
        case open(@Sendable (Services) async throws(Problem) -> Answer)
        /// The holder of a key whose scope covers one of these.
        case key([APIKeyRecord.Scope], @Sendable (Call) async throws(Problem) -> Answer)
        /// The same with `device`; a person, for phones of their own; and a phone, for itself.
        case phone(@Sendable (Call) async throws(Problem) -> Answer)
        /// The holder of a key that covers `device`: a person or a phone has few calls to make, and each is counted.
        /// The body is read line by line, each a write that is let in, or not, and answered by itself.
        case lines
    }

    /// What body the call takes.
    package enum Body: Sendable { case none, standard, large }

    package let method: HTTPRequest.Method
    package let path: PathPattern
    let access: Access
    package let body: Body
    /// The call heeds `If-Match`.
    let takesIfMatch: Bool
    /// The call takes its body as lines too: pages of one and the same call.
    let takesPages: Bool
    /// The query parameters the call knows; others are refused.
    package let query: [String]

    /// The scopes of which a key needs one; none where no key is needed.
    package var scopes: [APIKeyRecord.Scope] {
        switch access {
        case .open: []
        case .key(let scopes, _): scopes
        case .phone, .lines: [.device]
        }
    }

    /// People and phones may make the call without a key.
    package var isForPhones: Bool {
        switch access {
        case .open, .key, .lines: false
        case .phone: true
        }
    }

    /// What a call does; `nil` for one that is not answered by one handler.
    var handler: (@Sendable (Call) async throws(Problem) -> Answer)? {
        switch access {
        case .key(_, let handler), .phone(let handler): handler
        case .open, .lines: nil
        }
    }

    init(
        _ method: HTTPRequest.Method, _ path: String, body: Body = .none, query: [String] = [],
        takesIfMatch: Bool = false, takesPages: Bool = false, _ access: Access
    ) {
        self.method = method
        self.path = PathPattern(path)
        self.access = access
        self.body = body
        self.query = query
        self.takesIfMatch = takesIfMatch
        self.takesPages = takesPages
    }
}

/// A path with parameters in braces: `/v1/activities/{activity}`.
package struct PathPattern: Sendable, CustomStringConvertible {
    private enum Segment: Sendable {
        case literal(String)
        case parameter(String)
    }

    package let description: String
    private let segments: [Segment]

    init(_ text: String) {
        description = text
        segments = text.split(separator: "/").map { part in
            part.hasPrefix("{") && part.hasSuffix("}")
                ? .parameter(String(part.dropFirst().dropLast())) : .literal(String(part))
        }
    }

    /// The parameters, still percent-encoded, or `nil` when the path is another one.
    func match(_ parts: [Substring]) -> [String: Substring]? {
        guard parts.count == segments.count else { return nil }
        var parameters: [String: Substring] = [:]
        for (segment, part) in zip(segments, parts) {
            switch segment {
            case .literal(let text): guard part == text else { return nil }
            case .parameter(let name):
                guard !part.isEmpty else { return nil }
                parameters[name] = part
            }
        }
        return parameters
    }

    /// The names of the parameters, in order.
    var parameters: [String] {
        segments.compactMap { segment in
            switch segment {
            case .literal: nil
            case .parameter(let name): name
            }
        }
    }

    /// The path with every parameter replaced.
    package func filled(_ value: (String) -> String) -> String {
        segments.map { segment in
            switch segment {
            case .literal(let text): "/" + text
            case .parameter(let name): "/" + value(name)
            }
        }.joined()
    }
}

extension Route {
    /// What was found for a method and a path.
    enum Match {
        case found(Route, [String: Substring])
        case otherMethods([HTTPRequest.Method])
        case nothing
    }

    static func match(_ method: HTTPRequest.Method, _ path: String) -> Match {
        guard path.hasPrefix("/") else { return .nothing }
        let parts = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        // What answers GET answers HEAD, without the body (RFC 9110 section 9.3.2).
        let wanted: HTTPRequest.Method = method == .head ? .get : method
        var methods: [HTTPRequest.Method] = []
        for route in all {
            guard let parameters = route.path.match(parts) else { continue }
            if route.method == wanted { return .found(route, parameters) }
            methods.append(route.method)
            if route.method == .get { methods.append(.head) }
        }
        return methods.isEmpty ? .nothing : .otherMethods(methods)
    }
}
