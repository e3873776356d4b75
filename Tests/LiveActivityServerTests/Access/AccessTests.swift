import APNSModel
import HTTPTypes
import IsletBasics
import JSONText
import LiveActivityCore
import LiveActivityServer
import LiveActivityStorage
import StorageSQL
import StorageSQLite
import Testing

/// The callers of a call, written down again by hand, so that a change of the API's table is a change in two places.
private struct Access {
    /// The scopes of the keys that may make it.
    var scopes: Set<APIKeyRecord.Scope> = []
    /// `true` if people may make it for phones of their own, and phones for themselves.
    var isForPhones = false
    /// The answer to a key of another app, for which none of this exists.
    var elsewhere: Stranger = .status(200)

    /// An answer to a caller for whom the object does not exist.
    enum Stranger { case status(Int), code(String) }

    static let open: Access? = nil
    static func backend(_ elsewhere: Stranger) -> Access { Access(scopes: [.backend], elsewhere: elsewhere) }
    static func read(_ elsewhere: Stranger) -> Access { Access(scopes: [.backend, .read], elsewhere: elsewhere) }
    static func phone(_ elsewhere: Stranger) -> Access {
        Access(scopes: [.backend, .device], isForPhones: true, elsewhere: elsewhere)
    }
}

@Suite struct AccessTests {
    private static let unknownActivity = Access.Stranger.code("unknown_activity")
    private static let unknownDevice = Access.Stranger.code("unknown_device")
    private static let unknownWebhook = Access.Stranger.code("unknown_webhook")

    private static let table: [String: Access?] = [
        "PUT /v1/activities/{activity}": .backend(.status(200)),
        "PATCH /v1/activities/{activity}": .backend(unknownActivity),
        "POST /v1/activities/{activity}/end": .backend(unknownActivity),
        "DELETE /v1/activities/{activity}": .backend(unknownActivity),
        "POST /v1/activities/{activity}/audience": .backend(unknownActivity),
        "GET /v1/activities": .read(.status(200)),
        "GET /v1/activities/{activity}": .read(unknownActivity),
        "GET /v1/activities/{activity}/timeline": .read(unknownActivity),
        "GET /v1/devices/{device}/diagnosis": .read(.status(200)),
        "PUT /v1/devices/{device}": .phone(.status(200)),
        "PUT /v1/devices/{device}/push-to-start-tokens/{type}": .phone(unknownDevice),
        "PUT /v1/devices/{device}/instances/{localID}": .phone(unknownDevice),
        "PUT /v1/devices/{device}/instances": .phone(unknownDevice),
        "DELETE /v1/devices/{device}": .phone(unknownDevice),
        "GET /v1/activities/{activity}/join": Access(
            scopes: [.backend], isForPhones: true, elsewhere: unknownActivity),
        "DELETE /v1/devices/{device}/credential": Access(scopes: [.backend, .admin], elsewhere: unknownDevice),
        "POST /v1/users/{user}/notifications": .backend(.status(200)),
        "POST /v1/users/{user}/refresh": .backend(.status(200)),
        "GET /v1/users/{user}/refresh": .read(.status(200)),
        "POST /v1/refreshes": .backend(.status(200)),
        "POST /v1/batch": Access(scopes: [.backend, .device], elsewhere: .status(200)),
        "GET /v1/events": .read(.status(200)),
        "GET /v1/webhooks": .read(.status(200)),
        "GET /v1/webhooks/{webhook}/dead": .read(unknownWebhook),
        "POST /v1/webhooks/{webhook}/replay": .backend(unknownWebhook),
        "POST /v1/webhooks/{webhook}/discard": .backend(unknownWebhook),
        "POST /v1/webhooks/{webhook}/enable": .backend(unknownWebhook),
        "GET /v1/types": .read(.status(200)),
        "POST /v1/types/{type}/what-if": .read(.status(200)),
        "GET /v1/keys": Access(scopes: [.backend, .admin], elsewhere: .status(200)),
        "GET /v1/overview": .read(.status(200)),
        "GET /v1/alerts": .read(.status(200)), "GET /v1/nodes": .read(.status(200)),
        "GET /v1/channels": .read(.status(200)),
        "GET /openapi.json": .open, "GET /healthz": .open,
        "GET /readyz": .open,
        "GET /metrics": .open,
    ]

    private static func name(_ route: Route) -> String { "\(route.method.rawValue) \(route.path)" }

    @Test func `every route has a row, and every row a route`() {
        #expect(Route.all.count == Self.table.count)
        for route in Route.all {
            let name = Self.name(route)
            guard let row = Self.table[name] else {
                Issue.record("\(name) has no row: say who may make this call")
                continue
            }
            // The API's own table, from which the documents are made.
            #expect(route.isForPhones == row?.isForPhones ?? false, "\(name)")
            let covering = APIKeyRecord.Scope.allCases.filter { scope in route.scopes.contains(where: scope.covers) }
            #expect(Set(covering) == row?.scopes ?? [], "\(name)")
        }
    }

    // MARK: - Every caller on every route

    /// Returns the expected answer for a caller. Nobody is let in by default, and each refusal has its own code.
    private static func expected(_ caller: Credential, _ row: Access, _ route: Route) -> (status: Int, code: String?)? {
        switch caller {
        case .nothing: return (401, "key_missing")
        case .otherScheme, .noKey, .brokenKey, .unknown, .wrongSecret, .revoked: return (401, "key_invalid")
        case .expired: return (401, "key_expired")
        case .scope(let scope): return row.scopes.contains(scope) ? nil : (403, "scope_missing")
        case .otherApp:
            switch row.elsewhere {
            case .status(let status): return (status, nil)
            case .code(let code): return (404, code)
            }
        case .expiredToken: return (401, "token_expired")
        case .wrongIssuer, .wrongAudience, .wrongAlgorithm, .noAlgorithm, .publicKeyAsSecret, .otherKey, .futureToken,
            .endlessToken:
            return (401, "token_invalid")
        case .brokenCredential, .unknownCredential, .wrongCredentialSecret, .revokedCredential, .idleCredential,
            .signedOutCredential:
            return (401, "credential_invalid")
        case .person, .phone: return row.isForPhones ? nil : (403, "scope_missing")
        case .otherPerson, .otherPhone:
            guard row.isForPhones else { return (403, "scope_missing") }
            // The other phone is Ada's too, and she may join her own activity from there.
            if route.path.description.hasSuffix("/join") {
                return caller == .otherPhone ? nil : (404, "unknown_activity")
            }
            // The body names the phone's person.
            if caller == .otherPerson, route.method == .put, route.path.description == "/v1/devices/{device}" {
                return (403, "user_differs")
            }
            return (404, "unknown_device")
        }
    }

    @Test(arguments: Route.all.indices)
    func `every route lets in exactly whom it should, and a refusal changes nothing`(index: Int) async throws {
        let route = Route.all[index]
        guard let row = Self.table[Self.name(route)] ?? nil else {
            return try await anybody(route)
        }
        try await withScene { scene in
            for caller in Credential.all {
                guard let (status, code) = Self.expected(caller, row, route) else { continue }
                if caller == .otherApp, status == 200 { continue }
                let before = try scene.fixture.contents()
                let reply = try await scene.call(route, as: caller)
                #expect(reply.status == status, "\(caller)")
                if route.path.description != "/v1/batch" || status != 200 {
                    #expect(reply.code == code, "\(caller)")
                } else {
                    #expect(reply["/status"] == 404 && reply["/body/code"] == "unknown_device", "\(caller)")
                }
                if status == 401 {
                    #expect(reply.headers[.wwwAuthenticate]?.hasPrefix("Bearer realm=") == true, "\(caller)")
                }
                if code == "scope_missing" {
                    let needed = try #require(route.scopes.first?.rawValue)
                    #expect(reply["/expected"]?.string == needed)
                    #expect(reply.headers[.wwwAuthenticate]?.contains(#"scope="\#(needed)""#) == true)
                }
                #expect(try scene.fixture.contents() == before, "\(caller): a refusal changed something")
            }
        }
        for caller in Credential.all {
            let isElsewhere = caller == .otherApp && Self.expected(caller, row, route)?.status == 200
            guard isElsewhere || Self.expected(caller, row, route) == nil else { continue }
            try await withScene { scene in
                let before = try await scene.picture()
                let reply = try await scene.call(route, as: caller)
                #expect(reply.status == 200, "\(caller): \(reply.text)")
                if isElsewhere {
                    #expect(try await scene.picture() == before, "a key of another app changed this one's")
                    for word in ["order-1", "card-1"] where route.method == .get {
                        #expect(!reply.text.contains(word), "a key of another app sees \(word)")
                    }
                }
            }
        }
    }

    private func anybody(_ route: Route) async throws {
        #expect(["/healthz", "/readyz", "/metrics", "/openapi.json"].contains(route.path.description))
        try await withServer { fixture in
            for headers in [[:], [.authorization: "Bearer hello"]] as [HTTPFields] {
                let reply = try await fixture.call(
                    route.method, route.path.description, key: nil, headers: headers)
                #expect(reply.status == 200)
            }
        }
    }

    @Test func `an unknown key, a wrong secret and a revoked key get the same words`() async throws {
        try await withScene { scene in
            for group in [
                [Credential.unknown, .wrongSecret, .revoked, .brokenKey],
                [
                    .unknownCredential, .wrongCredentialSecret, .revokedCredential, .idleCredential,
                    .signedOutCredential, .brokenCredential,
                ],
                [.wrongIssuer, .wrongAudience, .wrongAlgorithm, .noAlgorithm, .publicKeyAsSecret, .otherKey],
            ] {
                var answers: Set<String> = []
                for credential in group {
                    let route = try #require(Route.all.first { $0.isForPhones })
                    let reply = try await scene.call(route, as: credential)
                    var document = try #require(reply.json?.object)
                    document["instance"] = nil
                    answers.insert("\(document)")
                }
                #expect(answers.count == 1)
            }
        }
    }

    @Test func `a key of an app that is no longer configured is told so`() async throws {
        try await withServer { fixture in
            var dice = SplitMix64(seed: 3)
            let gone = try #require(BundleIDs.gone)
            let (key, record) = APIKey.make(app: gone, scope: .backend, at: fixture.clock.now, using: &dice)
            try await fixture.store.insertKey(record)
            let reply = try await fixture.call(.get, "/v1/activities/order-1", key: key.text)
            #expect(reply.status == 403)
            #expect(reply.code == "app_not_configured")
        }
    }
}
