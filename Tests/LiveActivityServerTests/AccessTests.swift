import HTTPTypes
import JSONText
import LiveActivityServer
import LiveActivityStorage
import StorageSQLite
import Testing

/// What a caller shows.
enum Credential: Sendable, Hashable {
    case nothing, otherScheme, noKey, unknown, wrongSecret, revoked
    case scope(APIKeyRecord.Scope)
    case otherApp

    static let all: [Credential] =
        [.nothing, .otherScheme, .noKey, .unknown, .wrongSecret, .revoked, .otherApp]
        + APIKeyRecord.Scope.allCases.map(Credential.scope)
}

@Suite struct AccessTests {
    /// The table once more, by hand: a change of a scope is to be a change of two places.
    static let scopes: [String: APIKeyRecord.Scope] = [
        "PUT /v1/activities/{activity}": .backend,
        "PATCH /v1/activities/{activity}": .backend,
        "POST /v1/activities/{activity}/end": .backend,
        "DELETE /v1/activities/{activity}": .backend,
        "POST /v1/activities/{activity}/audience": .backend,
        "GET /v1/activities": .read,
        "POST /v1/users/{user}/notifications": .backend,
        "POST /v1/users/{user}/refresh": .backend,
        "GET /v1/users/{user}/refresh": .read,
        "POST /v1/refreshes": .backend,
        "POST /v1/batch": .device,
        "GET /v1/activities/{activity}": .read,
        "GET /v1/activities/{activity}/timeline": .read,
        "GET /v1/devices/{device}/diagnosis": .read,
        "PUT /v1/devices/{device}": .device,
        "PUT /v1/devices/{device}/push-to-start-tokens/{type}": .device,
        "PUT /v1/devices/{device}/instances/{localID}": .device,
        "PUT /v1/devices/{device}/instances": .device,
        "DELETE /v1/devices/{device}": .device,
    ]
    /// What anybody may ask.
    static let open: Set<String> = ["GET /healthz", "GET /readyz", "GET /metrics"]

    /// Who may do what, by hand.
    static let allowed: [APIKeyRecord.Scope: Set<APIKeyRecord.Scope>] = [
        .backend: [.backend, .device, .read], .device: [.device], .read: [.read], .admin: [.admin],
    ]

    @Test func `every route has the scope that the table of the API gives it`() {
        #expect(Route.all.count == Self.scopes.count + Self.open.count)
        for route in Route.all {
            let name = "\(route.method.rawValue) \(route.path)"
            #expect(Self.scopes[name] == route.scope, "\(name)")
            #expect(Self.open.contains(name) == (route.scope == nil), "\(name)")
        }
    }

    @Test(arguments: Route.all.indices, Credential.all)
    func `every route lets in exactly whom it should`(index: Int, credential: Credential) async throws {
        let route = Route.all[index]
        let path = route.path.filled { $0 == "type" ? "Order" : "some-\($0)" }
        try await withServer { fixture in
            let before = try fixture.contents()
            let (headers, isKey) = fixture.headers(credential)
            let body = route.body == .none ? nil : "[]"
            let reply = try await fixture.call(route.method, path, body, key: nil, headers: headers)
            // None of these requests does anything, whoever makes it.
            #expect(try fixture.contents() == before)
            guard let needed = route.scope else {
                #expect(reply.status == 200)
                return
            }
            guard isKey else {
                #expect(reply.status == 401)
                #expect(reply.code == (credential == .nothing ? "key_missing" : "key_invalid"))
                #expect(reply.headers[.wwwAuthenticate]?.hasPrefix("Bearer realm=") == true)
                return
            }
            if case .scope(let scope) = credential, Self.allowed[scope]?.contains(needed) != true {
                #expect(reply.status == 403)
                #expect(reply.code == "scope_missing")
                #expect(reply["/expected"]?.string == needed.rawValue)
                #expect(reply.headers[.wwwAuthenticate]?.contains(#"scope="\#(needed.rawValue)""#) == true)
            } else {
                #expect(reply.status != 401 && reply.status != 403 && reply.status < 500)
            }
        }
    }

    @Test func `an unknown key, a wrong secret and a revoked key get the same words`() async throws {
        try await withServer { fixture in
            var answers: Set<String> = []
            for credential in [Credential.unknown, .wrongSecret, .revoked] {
                let reply = try await fixture.call(
                    .get, "/v1/activities/order-1", key: nil, headers: fixture.headers(credential).fields)
                var document = try #require(reply.json?.object)
                document["instance"] = nil
                answers.insert("\(document)")
            }
            #expect(answers.count == 1)
        }
    }

    @Test func `another app's key sees nothing of this app and changes nothing of it`() async throws {
        try await withServer { fixture in
            let state = #"{"type":"Order","state":{"step":1},"audience":{"users":["ada"]}}"#
            #expect(try await fixture.put("/v1/activities/order-1", state).status == 200)
            try await fixture.registerPhone()
            let key = fixture.otherApp.text
            #expect(try await fixture.call(.get, "/v1/activities/order-1", key: key).code == "unknown_activity")
            #expect(
                try await fixture.call(.get, "/v1/activities/order-1/timeline", key: key).code == "unknown_activity")
            let before = try fixture.contents()
            #expect(
                try await fixture.call(.post, "/v1/activities/order-1/end", "{}", key: key).code == "unknown_activity")
            #expect(try await fixture.call(.delete, "/v1/devices/phone-1", key: key).code == "unknown_device")
            #expect(try fixture.contents() == before)
            // The same id in the other app is another activity.
            let reply = try await fixture.call(
                .put, "/v1/activities/order-1", #"{"type":"Order","state":{"step":9}}"#, key: key)
            #expect(reply["/revision"] == 1)
            #expect(try await fixture.call(.get, "/v1/activities/order-1")["/state/step"] == 1)
        }
    }

    @Test func `a key of an app that is no longer configured is told so`() async throws {
        try await withServer { fixture in
            var dice = SeededDice(seed: 3)
            let gone = try #require(BundleIDs.gone)
            let (key, record) = APIKey.make(app: gone, scope: .backend, at: fixture.clock.now, using: &dice)
            try await fixture.store.insertKey(record)
            let reply = try await fixture.call(.get, "/v1/activities/order-1", key: key.text)
            #expect(reply.status == 403)
            #expect(reply.code == "app_not_configured")
        }
    }
}

extension Fixture {
    /// The header of a credential, and whether it is a valid key.
    func headers(_ credential: Credential) -> (fields: HTTPFields, isKey: Bool) {
        func bearer(_ key: APIKey?) -> HTTPFields { [.authorization: "bearer \(key?.text ?? "")"] }
        var dice = SeededDice(seed: 99)
        switch credential {
        case .nothing: return ([:], false)
        case .otherScheme: return ([.authorization: "Basic \(keys[.backend]?.text ?? "")"], false)
        case .noKey: return ([.authorization: "Bearer hello"], false)
        case .unknown: return (bearer(APIKey(using: &dice)), false)
        case .wrongSecret:
            // The public half of a real key with the secret of another.
            let other = APIKey(using: &dice).text.suffix(43)
            return ([.authorization: "Bearer \((keys[.backend]?.text ?? "").dropLast(43))\(other)"], false)
        case .revoked: return (bearer(revoked), false)
        case .otherApp: return (bearer(otherApp), true)
        case .scope(let scope): return (bearer(keys[scope]), true)
        }
    }
}
