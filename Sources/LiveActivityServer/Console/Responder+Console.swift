import APNSModel
import HTTPTypes
import Hummingbird
import JSONText
import LiveActivityAPI
import LiveActivityCore
import LiveActivityStorage
import NIOCore

/// The control of a simulator, whose phones the console shows in development.
package struct SimulatorControl: Sendable {
    /// Calls the simulator's control API.
    package var call:
        @Sendable (_ method: String, _ path: String, _ body: [UInt8]) async throws -> (
            status: Int, contentType: String, body: [UInt8]
        )

    package init(
        call:
            @escaping @Sendable (_ method: String, _ path: String, _ body: [UInt8]) async throws -> (
                status: Int, contentType: String, body: [UInt8]
            )
    ) {
        self.call = call
    }

    /// Returns `true` for the paths that the console needs: phones and time. Complete tokens and keys are not
    /// reachable.
    static func mayAsk(_ path: String) -> Bool {
        let parts = path.prefix { $0 != "?" }.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count >= 2, parts[0] == "v1", !parts.contains("..") else { return false }
        switch parts[1] {
        case "phones": return parts.count < 4 || parts[3] == "actions"
        case "clock": return parts.count == 3 && parts[2] == "advance"
        case "simulator": return parts.count == 2
        default: return false
        }
    }
}

extension Responder {
    /// The signed-in caller, as answered by `GET /console/session`.
    private struct Visitor: Encodable {
        let app: String
        let scope: String
        let key: String
        /// The token that every write sends as `Islet-Console-Token`.
        let token: String
        let simulator: Bool
        let version: String?
    }

    private struct SignIn: Decodable {
        let key: String
        /// `true` if the key was in the page's address. Only a server in development accepts such a key.
        ///
        /// Otherwise somebody could send a link that makes others work with the sender's key.
        var isFromLink: Bool?
    }

    private static let tokenHeader = HTTPField.Name("Islet-Console-Token")
    private static let sessionOver = Problem(
        .keyMissing, "you are not signed in, or the session is over", fix: "sign in with an API key")

    // MARK: - Sessions

    /// Returns the caller of a request without a key, by its session cookie.
    ///
    /// The session stands for its key. The key's record decides about permissions, as if the key itself had been sent.
    func visitor(_ request: Request) async throws(Problem) -> Caller? {
        let origin = ConsoleOrigin(request.head)
        guard services.console != nil, let (_, session) = openSession(request, origin) else { return nil }
        let isWrite = request.method != .get && request.method != .head
        guard origin.isOwn(write: isWrite) else { throw Self.foreign }
        if isWrite {
            let shown = Self.tokenHeader.flatMap { request.headers[$0] }.flatMap { CallerSecret($0[...]) }
            guard let expected = CallerSecret(session.token[...]), shown?.proven(by: [expected.hash]) != nil else {
                throw Self.foreign
            }
        }
        return .key(try await record(session.keyID))
    }

    private static let foreign = Problem(
        .originRefused, "a browser's session makes calls for the console's own pages only",
        fix: "send `Authorization: Bearer KEY` instead")

    private func openSession(
        _ request: Request, _ origin: ConsoleOrigin
    ) -> (CallerSecret, ConsoleSessions.Session)? {
        // A request without `Origin` does not say whether it came over TLS, so both cookies are tried.
        for name in [ConsoleOrigin.secureCookie, origin.cookieName] {
            guard let text = request.headers.cookie(name), let secret = CallerSecret(text[...]),
                let session = services.console?.desk.find(secret, at: services.time.monotonic())
            else { continue }
            return (secret, session)
        }
        return nil
    }

    /// Returns the current record of a session's key.
    private func record(_ id: String) async throws(Problem) -> APIKeyRecord {
        let record = try await services.ask { () async throws(StorageError) in try await services.store.key(id) }
        let now = services.time.wall()
        guard let record, record.standing(at: now) == .valid else { throw Self.sessionOver }
        services.keyUses.note(record, at: now)
        return record
    }

    // MARK: - Pages

    /// Answers requests for the console.
    ///
    /// - Parameter address: The origin of the request.
    func console(
        _ page: ConsolePage, _ request: Request, from address: String
    ) async throws(Problem) -> Response {
        guard let console = services.console else {
            throw Problem(.notFound, "the console is turned off", fix: "set `console: true` in the configuration")
        }
        // Somebody who signs in is not authenticated yet. A slow body may only hold up others who sign in.
        let isSigningIn = page == .session && request.method == .post
        if isSigningIn { try services.admission.countSignIn(from: address, at: services.time.monotonic()) }
        let place = try isSigningIn ? Self.signIn(console) : services.admission.enter()
        defer { withExtendedLifetime(place) {} }
        switch page {
        case .asset(let asset):
            try Self.only([.get, .head], request)
            return Self.response(asset, unless: request.headers[.ifNoneMatch])
        case .session: return try await session(request, console)
        case .live:
            try Self.only([.get], request)
            let key = try await reader(request)
            guard let (secret, _) = openSession(request, ConsoleOrigin(request.head)) else { throw Self.sessionOver }
            return try live(console, key, secret)
        case .simulator(let path): return try await simulator(path, request, console)
        case .nothing: throw Problem(.notFound, "the console has no such page")
        }
    }

    private static func signIn(_ console: Console) throws(Problem) -> Places.Place {
        guard let place = console.signIns.take() else {
            throw Problem(
                .overloaded, "\(console.signIns.maximum) are signing in already", fix: "repeat the call later",
                headers: [.retryAfter: "1"])
        }
        return place
    }

    private static func only(_ methods: [HTTPRequest.Method], _ request: Request) throws(Problem) {
        guard !methods.contains(request.method) else { return }
        let list = methods.map(\.rawValue).joined(separator: ", ")
        throw Problem(
            .methodNotAllowed, "this path does not take \(Problem.quotable(request.method.rawValue))",
            expected: list, headers: [.allow: list])
    }

    private static func response(_ asset: ConsoleAsset, unless known: String?) -> Response {
        var headers: HTTPFields = [
            .contentType: asset.contentType, .eTag: asset.tag, .cacheControl: "no-cache",
        ]
        ConsoleHeaders.add(to: &headers)
        guard known != asset.tag else { return Response(status: .notModified, headers: headers) }
        return Response(
            status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: asset.bytes)))
    }

    /// Returns the signed-in key, if it may read.
    private func reader(_ request: Request) async throws(Problem) -> APIKeyRecord {
        guard case .key(let key)? = try await visitor(request) else { throw Self.sessionOver }
        guard key.scope.covers(.read) else { throw Self.missingScope(.read, key.scope) }
        return key
    }

    private static func missingScope(_ needed: APIKeyRecord.Scope, _ given: APIKeyRecord.Scope) -> Problem {
        Problem(
            .scopeMissing, "this needs a key of the scope `\(needed.rawValue)`; this one has `\(given.rawValue)`",
            expected: needed.rawValue, given: given.rawValue)
    }

    // MARK: - Signing in and out

    private func session(_ request: Request, _ console: Console) async throws(Problem) -> Response {
        switch request.method {
        case .get:
            let origin = ConsoleOrigin(request.head)
            guard let caller = try await visitor(request), case .key(let key) = caller,
                let (_, session) = openSession(request, origin)
            else { throw Self.sessionOver }
            return try answer(visitor(key, session, console))
        case .post: return try await signIn(request, console)
        case .delete:
            guard try await visitor(request) != nil else { throw Self.sessionOver }
            let origin = ConsoleOrigin(request.head)
            if let (secret, _) = openSession(request, origin) { console.desk.end(secret) }
            let over = "=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0" + (origin.isSecure ? "; Secure" : "")
            return Response(
                status: .noContent,
                headers: [.setCookie: origin.cookieName + over, .cacheControl: "no-store"])
        default:
            try Self.only([.get, .post, .delete], request)
            throw Self.sessionOver
        }
    }

    private func signIn(_ request: Request, _ console: Console) async throws(Problem) -> Response {
        let origin = ConsoleOrigin(request.head)
        guard origin.isOwn(write: true) else { throw Self.foreign }
        guard origin.mayCarryKey else {
            throw Problem(
                .originRefused, "the key and the session would go over the network in the clear",
                fix: "open the console over https, or through a tunnel to the loopback")
        }
        let bytes = try await small(request)
        guard let json = try Call.parse(bytes, upTo: Self.smallBody, services.limits) else {
            throw Problem(.invalidJSON, "this call needs a body", pointer: "")
        }
        let given: SignIn
        do throws(JSONDecodingError) { given = try json.decode(SignIn.self) } catch { throw Problem(error) }
        guard given.isFromLink != true || console.simulator != nil else {
            throw Problem(
                .originRefused, "a key in the console's address is taken by `islet serve --dev` alone",
                fix: "open the console, and enter the key there")
        }
        let caller = try await holder(given.key)
        guard case .key(let key) = caller else { throw Self.sessionOver }
        guard services.apps[key.app] != nil else {
            throw Problem(.appNotConfigured, "this key is for the app \(key.app), which this server does not serve")
        }
        var dice = SystemRandomNumberGenerator()
        let secret = CallerSecret(using: &dice)
        let session = console.desk.begin(
            secret, token: CallerSecret(using: &dice), keyID: key.id, at: services.time.monotonic())
        var response = try answer(visitor(key, session, console))
        response.headers[.setCookie] =
            "\(origin.cookieName)=\(secret.text); Path=/; HttpOnly; SameSite=Strict"
            + "; Max-Age=\(ConsoleSessions.lifetime.components.seconds)" + (origin.isSecure ? "; Secure" : "")
        return response
    }

    private func visitor(_ key: APIKeyRecord, _ session: ConsoleSessions.Session, _ console: Console) -> Visitor {
        Visitor(
            app: key.app.text, scope: key.scope.rawValue, key: key.id, token: session.token,
            simulator: console.simulator != nil, version: console.version)
    }

    private func answer(_ value: some Encodable) throws(Problem) -> Response {
        let answer = try Answer(value)
        var headers: HTTPFields = [.contentType: answer.contentType, .cacheControl: "no-store"]
        ConsoleHeaders.add(to: &headers)
        return Response(
            status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: answer.bytes)))
    }

    private static let smallBody = 64 * 1024

    private func small(_ request: Request) async throws(Problem) -> [UInt8] {
        do {
            return Array(try await request.body.collect(upTo: Self.smallBody).readableBytesView)
        } catch {
            throw Problem(.bodyTooLarge, "the body of this call has at most \(Self.smallBody) bytes")
        }
    }

    // MARK: - Live stream

    /// Streams server-sent events: one `overview` for each sample, until the session or its key ends.
    private func live(_ console: Console, _ key: APIKeyRecord, _ secret: CallerSecret) throws(Problem) -> Response {
        guard let place = console.places.take() else {
            throw Problem(
                .overloaded, "\(console.places.maximum) pages are live already", fix: "close one",
                headers: [.retryAfter: "5"])
        }
        let samples = services.figures.samples()
        return Response(
            status: .ok, headers: Self.streamHeaders,
            body: ResponseBody { writer in
                defer { withExtendedLifetime(place) {} }
                try await writer.write(ByteBuffer(string: "retry: 3000\n\n"))
                for await sample in samples {
                    guard console.desk.isOpen(secret, at: services.time.monotonic()),
                        (try? await check(key.id)) != nil
                    else { break }
                    let overview = OverviewCalls.overview(of: key.app, [sample], services)
                    guard let json = try? JSONValue(encoding: overview) else { continue }
                    try await writer.write(ByteBuffer(string: "event: overview\ndata: \(json.text)\n\n"))
                }
                try await writer.finish(nil)
            })
    }

    // MARK: - The simulator

    private func simulator(_ path: String, _ request: Request, _ console: Console) async throws(Problem) -> Response {
        guard let simulator = console.simulator, SimulatorControl.mayAsk(path) else {
            throw Problem(.notFound, "there is no simulator here", fix: "start the server with `islet serve --dev`")
        }
        guard case .key(let key)? = try await visitor(request) else { throw Self.sessionOver }
        let needed: APIKeyRecord.Scope = request.method == .get ? .read : .backend
        guard key.scope.covers(needed) else { throw Self.missingScope(needed, key.scope) }
        let body = try await small(request)
        let query = request.uri.query.map { "?\($0)" } ?? ""
        do {
            let answer = try await simulator.call(request.method.rawValue, "/\(path)\(query)", body)
            var headers: HTTPFields = [.contentType: answer.contentType, .cacheControl: "no-store"]
            ConsoleHeaders.add(to: &headers)
            return Response(
                status: .init(code: answer.status), headers: headers,
                body: ResponseBody(byteBuffer: ByteBuffer(bytes: answer.body)))
        } catch {
            throw Problem(.internalError, "the simulator does not answer")
        }
    }
}

/// The console's own resources.
struct Console: Sendable {
    let desk: ConsoleDesk
    /// The places of live pages.
    let places = Places(maximum: 64)
    /// The places of callers who are signing in.
    let signIns = Places(maximum: 32)
    let simulator: SimulatorControl?
    let version: String?
}
