package import HTTPTypes
package import LiveActivityStorage

/// One call of the API: method, path, permitted callers, and handler.
package struct Route: Sendable {
    /// The permitted callers of a call, with its handler. Every route has one.
    enum Access: Sendable {
        /// Anybody. Such a call shows only the server's own health.
        case open(@Sendable (Services) async throws(Problem) -> Answer)
        /// The holder of a key whose scope covers one of these.
        case key([APIKeyRecord.Scope], @Sendable (Call) async throws(Problem) -> Answer)
        /// The holder of a key with the scope `device`, a person for their own phones, or a phone for itself.
        case phone(@Sendable (Call) async throws(Problem) -> Answer)
        /// The holder of a key that covers `device`. People and phones are excluded, because they have few calls and
        /// each is counted.
        ///
        /// The body consists of lines. Each line is a write that is admitted and answered separately.
        case lines
        /// The holder of a key whose scope covers one of these. The answer is an endless stream.
        case events([APIKeyRecord.Scope])
        /// The holder of a key that covers `backend`; and people and phones, as far as they may join the activity in
        /// the path. Where its type says so, anybody may without a credential.
        case joining
    }

    /// The kind of body that a call takes.
    package enum Body: Sendable { case none, standard, large }

    package let method: HTTPRequest.Method
    package let path: PathPattern
    let access: Access
    package let body: Body
    /// `true` if the call supports `If-Match`.
    let takesIfMatch: Bool
    /// `true` if the call also takes its body as lines, each of which is a page of the same call.
    let takesPages: Bool
    /// `true` if the call supports `Idempotency-Key`.
    package let takesKey: Bool
    /// The query parameters of the call. Others are refused.
    package let query: [String]

    /// The scopes of which a key needs one. Empty if the call needs no key.
    package var scopes: [APIKeyRecord.Scope] {
        switch access {
        case .open: []
        case .key(let scopes, _), .events(let scopes): scopes
        case .phone, .lines: [.device]
        case .joining: [.backend]
        }
    }

    /// `true` if people and phones may make the call without a key.
    package var isForPhones: Bool {
        switch access {
        case .open, .key, .lines, .events: false
        case .phone, .joining: true
        }
    }

    /// The handler of the call. `nil` if the call has no single handler.
    var handler: (@Sendable (Call) async throws(Problem) -> Answer)? {
        switch access {
        case .key(_, let handler), .phone(let handler): handler
        case .open, .lines, .events, .joining: nil
        }
    }

    init(
        _ method: HTTPRequest.Method, _ path: String, body: Body = .none, query: [String] = [],
        takesIfMatch: Bool = false, takesPages: Bool = false, takesKey: Bool = true, _ access: Access
    ) {
        self.method = method
        self.path = PathPattern(path)
        self.access = access
        self.body = body
        self.query = query
        self.takesIfMatch = takesIfMatch
        self.takesPages = takesPages
        self.takesKey = takesKey && method != .get
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

    /// Returns the parameters, still percent-encoded. Returns `nil` if the path does not match.
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

    /// Returns the path with every parameter replaced.
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
    /// The result of looking up a method and a path.
    enum Match {
        case found(Route, [String: Substring])
        case otherMethods([HTTPRequest.Method])
        case nothing
    }

    static func match(_ method: HTTPRequest.Method, _ path: String) -> Match {
        guard path.hasPrefix("/") else { return .nothing }
        let parts = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        // A path that answers GET also answers HEAD, without the body (RFC 9110 section 9.3.2).
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
