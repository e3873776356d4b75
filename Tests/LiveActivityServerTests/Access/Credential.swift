import APNSModel
import Crypto
import HTTPTypes
import IsletBasics
import JSONText
import LiveActivityCore
import LiveActivityServer
import LiveActivityStorage
import StorageSQL
import StorageSQLite
import Testing

/// The credential that a caller presents.
enum Credential: Sendable, Hashable {
    // Keys
    case nothing, otherScheme, noKey, brokenKey, unknown, wrongSecret, expired, revoked, otherApp
    case scope(APIKeyRecord.Scope)
    // People
    case person, otherPerson, expiredToken, futureToken, endlessToken, wrongIssuer, wrongAudience, wrongAlgorithm
    case noAlgorithm, publicKeyAsSecret, otherKey
    // Phones
    case phone, otherPhone, brokenCredential, unknownCredential, wrongCredentialSecret, revokedCredential
    case idleCredential, signedOutCredential

    static let all: [Credential] =
        [
            .nothing, .otherScheme, .noKey, .brokenKey, .unknown, .wrongSecret, .expired, .revoked, .otherApp, .person,
            .otherPerson, .expiredToken, .futureToken, .endlessToken, .wrongIssuer, .wrongAudience, .wrongAlgorithm,
            .noAlgorithm, .publicKeyAsSecret, .otherKey, .phone, .otherPhone, .brokenCredential, .unknownCredential,
            .wrongCredentialSecret, .revokedCredential, .idleCredential, .signedOutCredential,
        ] + APIKeyRecord.Scope.allCases.map(Credential.scope)
}

/// A server with an activity of Ada's, shown on her phone, and with every kind of caller.
struct AccessScene: Sendable {
    let fixture: Fixture
    let expired: APIKey
    /// Credentials of phones, by their kind.
    let credentials: [Credential: String]

    static func make(_ fixture: Fixture) async throws -> AccessScene {
        var dice = SplitMix64(seed: 77)
        let (expired, made) = APIKey.make(
            app: pizza.bundleID, scope: .backend, at: fixture.clock.now, using: &dice)
        var record = made
        record.expiresAt = fixture.clock.now + .seconds(10)
        try await fixture.store.insertKey(record)
        func handOut(_ device: String) async throws -> String {
            let reply = try await fixture.put("/v1/devices/\(device)", #"{"user":"ada","wantsCredential":true}"#)
            return try #require(reply["/credential"]?.string)
        }
        var credentials: [Credential: String] = [:]
        // Not used for its whole idle time, because it was handed out when the clock stood there.
        credentials[.idleCredential] = try await handOut("phone-idle")
        fixture.clock.advance(.seconds(90 * 86_400))
        credentials[.phone] = try await handOut("phone-1")
        credentials[.otherPhone] = try await handOut("phone-2")
        credentials[.signedOutCredential] = try await handOut("phone-3")
        #expect(try await fixture.call(.delete, "/v1/devices/phone-3").status == 200)
        credentials[.revokedCredential] = try await handOut("phone-4")
        #expect(try await fixture.call(.delete, "/v1/devices/phone-4/credential")["/revoked"] == 1)
        let state = #"{"type":"Order","state":{"step":"shown"},"audience":{"users":["ada"]}}"#
        #expect(try await fixture.put("/v1/activities/order-1", state).status == 200)
        let card = #"{"type":"Order","activity":"order-1","state":"active","token":"\#(token("card-1"))"}"#
        #expect(try await fixture.put("/v1/devices/phone-1/instances/card-1", card).status == 200)
        _ = try await fixture.store.commit(OpenChannel()).get()
        // A disabled endpoint, with an event that was given up.
        var webhook = try await fixture.store.webhook(WebhookKey(pizza.bundleID, "backend")).place
        webhook.disabledAt = fixture.clock.now
        let dead = WebhookDelivery(number: 1, activity: nil, tries: 30, deadAt: fixture.clock.now)
        #expect(try await fixture.store.save(WebhookProgress(place: webhook, rows: [dead])))
        return AccessScene(fixture: fixture, expired: expired, credentials: credentials)
    }

    /// Makes a call that would have an effect on Ada's data.
    func call(_ route: Route, as caller: Credential) async throws -> Reply {
        let names = [
            "activity": "order-1", "device": "phone-1", "localID": "card-1", "type": "Order", "user": "ada",
            "webhook": "backend",
        ]
        let path = route.path.filled { names[$0] ?? $0 }
        var headers = try headers(caller)
        if route.path.description == "/v1/batch" { headers[.contentType] = "application/x-ndjson" }
        return try await fixture.call(route.method, path, Self.body(of: route), key: nil, headers: headers)
    }

    /// Returns the data that this app's backend can read.
    func picture() async throws -> [JSONValue] {
        var all: [JSONValue] = []
        for path in [
            "/v1/activities", "/v1/activities/order-1", "/v1/activities/order-1/timeline",
            "/v1/devices/phone-1/diagnosis", "/v1/users/ada/refresh",
            "/v1/webhooks", "/v1/webhooks/backend/dead", "/v1/channels",
        ] {
            let reply = try await fixture.call(.get, path)
            #expect(reply.status == 200, "\(path)")
            // Compared as values, because members may be in any order.
            all.append(try #require(reply.json))
        }
        return all
    }

    private static func body(of route: Route) -> String? {
        switch route.path.description {
        case "/v1/activities/{activity}":
            route.method == .put
                ? #"{"type":"Order","state":{"step":2}}"# : route.method == .patch ? #"{"state":{"step":2}}"# : nil
        case "/v1/activities/{activity}/audience": #"{"add":["bob"]}"#
        // A sign-out of the phone, and nothing that a stranger could do.
        case "/v1/batch": #"{"method":"DELETE","path":"/v1/devices/phone-1"}"#
        case "/v1/activities/{activity}/end": "{}"
        case "/v1/users/{user}/notifications": #"{"id":"n","alert":{"title":"Hello"}}"#
        case "/v1/users/{user}/refresh" where route.method == .post: #"{"type":"Focus"}"#
        case "/v1/refreshes": #"{"users":["ada"],"type":"Focus"}"#
        case "/v1/devices/{device}": route.method == .put ? #"{"user":"ada","build":"7"}"# : nil
        case "/v1/devices/{device}/push-to-start-tokens/{type}": #"{"token":"\#(token("start"))"}"#
        case "/v1/devices/{device}/instances/{localID}": #"{"type":"Order","activity":"order-1","state":"ended"}"#
        case "/v1/devices/{device}/instances": #"{"sequence":1,"instances":[]}"#
        case "/v1/webhooks/{webhook}/discard": #"{"all":true}"#
        case "/v1/types/{type}/what-if": #"{"policy":{}}"#
        default: nil
        }
    }

    private func headers(_ caller: Credential) throws -> HTTPFields {
        func bearer(_ text: String?) -> HTTPFields { [.authorization: "bearer \(text ?? "")"] }
        func token(_ user: String = "ada", _ change: (inout Minter) -> Void = { _ in }) throws -> HTTPFields {
            bearer(try Minter().token(user, at: fixture.clock.now, change))
        }
        let key = fixture.keys[.backend]?.text ?? ""
        var dice = SplitMix64(seed: 99)
        let otherSecret = APIKey(using: &dice).text.suffix(43)
        let seconds = Int(fixture.clock.now.seconds)
        switch caller {
        case .nothing: return [:]
        case .otherScheme: return [.authorization: "Basic \(key)"]
        case .noKey: return bearer("islet_hello")
        case .brokenKey: return bearer(String(key.dropLast()))
        case .unknown: return bearer(APIKey(using: &dice).text)
        // The public half of a real key with the secret of another.
        case .wrongSecret: return bearer("\(key.dropLast(43))\(otherSecret)")
        case .expired: return bearer(expired.text)
        case .revoked: return bearer(fixture.revoked.text)
        case .otherApp: return bearer(fixture.otherApp.text)
        case .scope(let scope): return bearer(fixture.keys[scope]?.text)
        case .person: return try token()
        case .otherPerson: return try token("bob")
        case .expiredToken: return try token { $0.claims["exp"] = .number(JSONNumber(seconds - 61)) }
        case .futureToken: return try token { $0.claims["nbf"] = .number(JSONNumber(seconds + 61)) }
        case .endlessToken: return try token { $0.claims["exp"] = nil }
        case .wrongIssuer: return try token { $0.claims["iss"] = "https://evil.example.com" }
        case .wrongAudience: return try token { $0.claims["aud"] = "cake" }
        case .wrongAlgorithm: return try token { $0.header["alg"] = "EdDSA" }
        case .noAlgorithm: return bearer(try Minter(key: .none).token("ada", at: fixture.clock.now) + "AAAA")
        case .publicKeyAsSecret:
            return try token { $0.key = .secret(Array(Minter.p256.publicKey.pemRepresentation.utf8)) }
        case .otherKey: return try token { $0.key = .p256(.init()) }
        case .phone, .otherPhone, .revokedCredential, .idleCredential, .signedOutCredential:
            return bearer(credentials[caller])
        case .brokenCredential: return bearer(credentials[.phone].map { String($0.dropLast()) })
        case .unknownCredential: return bearer(PhoneCredential(of: 12, using: &dice).text)
        case .wrongCredentialSecret: return bearer(credentials[.phone].map { "\($0.dropLast(43))\(otherSecret)" })
        }
    }
}

/// Gives the activity a broadcast channel, of which its card knows nothing.
private struct OpenChannel: Command {
    private static let activity = ActivityID(stored: "order-1")

    var keys: [SnapshotKey] { [.activity(pizza.bundleID, Self.activity)] }
    var rank: CommandRank { .write }

    func decide(_ draft: inout Draft) throws(Refusal) {
        guard let activity = draft.activity(pizza.bundleID, Self.activity), let id = ChannelID("AAAABBBB") else {
            return
        }
        var channel = ChannelRecord(
            ChannelKey(activity.number, .sandbox, run: activity.run), app: activity.app, storage: .mostRecent)
        channel.open(id)
        draft.put(channel)
    }
}

func withScene(_ body: @escaping @Sendable (AccessScene) async throws -> Void) async throws {
    let people = try Minter.people()
    try await withServer(
        configure: { $0.people = [pizza.bundleID: people] },
        { fixture in try await body(try await AccessScene.make(fixture)) })
}
