import HTTPTypes
import IsletBasics
import JSONText
import LiveActivityCore
import LiveActivityServer
import LiveActivityStorage
import StorageSQL
import StorageSQLite
import Testing

/// Random bodies that are often nearly right: fields of the API with values of any kind.
struct BodyDice {
    var dice: SplitMix64

    static let fields = [
        "type", "state", "attributes", "audience", "users", "devices", "alert", "id", "title", "body", "sound",
        "expiresAfter", "keep", "onUnknown", "priority", "relevance", "staleAt", "staleAfter", "start", "restart",
        "reopen", "dismissAt", "dismissAfter", "dismissNow", "user", "platform", "timeZone", "locale", "osVersion",
        "environment", "activitiesEnabled", "deviceToken", "token", "localID", "instances", "sequence", "activity",
        "startedAt", "lastTimestamp", "contentState", "basedOn", "islet", "orderID", "extra",
        "add", "remove", "replace", "session", "last", "method", "path", "idempotencyKey", "ifMatch",
    ]
    static let texts = [
        "Order", "Named", "Silent", "ada", "order-1", "phone-1", "active", "ended", "dismissed", "gone", "requesting",
        "pending", "stale", "lastActive", "all", "ifPossible", "never", "always", "auto", "high", "10m",
        "2027-02-01T00:00:00Z",
        "18.1", "", "\u{0}", "é", "🍕", "sandbox", "ios", "Europe/Berlin", token("fuzz"), token("other"),
        "PUT", "DELETE", "/v1/activities/order-2", "/v1/batch", "*", "\"1\"",
    ]
    static let numbers: [JSONValue] = [
        0, 1, -1, 5, 10, 1.5, 1_800_000_500, 9_007_199_254_740_993, .number(JSONNumber("1e999") ?? JSONNumber(0)),
        .number(JSONNumber("-0") ?? JSONNumber(0)),
        .number(JSONNumber("123456789012345678901234567890") ?? JSONNumber(0)),
    ]

    mutating func pick<Value>(_ values: [Value]) -> Value { values[Int(dice.next() % UInt64(values.count))] }
    mutating func chance(_ percent: UInt64) -> Bool { dice.next() % 100 < percent }

    mutating func value(_ depth: Int) -> JSONValue {
        switch dice.next() % (depth > 4 ? 4 : 6) {
        case 0: return .null
        case 1: return .bool(chance(50))
        case 2: return pick(Self.numbers)
        case 3: return .string(pick(Self.texts))
        case 4: return .array((0..<Int(dice.next() % 4)).map { _ in value(depth + 1) })
        default: return .object(object(depth))
        }
    }

    mutating func object(_ depth: Int) -> JSONObject {
        var object = JSONObject()
        for _ in 0..<Int(dice.next() % 6) { object[pick(Self.fields)] = value(depth + 1) }
        return object
    }

    /// Returns the path, often with a query that the route knows.
    mutating func query(of route: Route, _ path: String) -> String {
        guard chance(20), !route.query.isEmpty else { return path }
        return path + "?" + pick(route.query) + "="
            + pick(["true", "false", "1", "0", "-1", "zz", "active", "Order", ""])
    }

    /// Returns conditions and keys, valid and invalid.
    mutating func headers() -> HTTPFields {
        var headers = HTTPFields()
        if chance(20) { headers[.ifMatch] = pick(["*", "\"1\"", "\"2\", \"3\"", "W/\"1\"", "1", "\"", ","]) }
        if chance(20), let name = HTTPField.Name("Idempotency-Key") { headers[name] = pick(["k1", "k2", "a b", "é"]) }
        return headers
    }

    /// Returns a good body of a route with some members replaced, removed or added. Sometimes bytes are broken.
    mutating func body(of good: JSONObject) -> String {
        var object = chance(20) ? self.object(0) : good
        for key in object.keys where chance(20) { object[key] = chance(30) ? nil : value(1) }
        if chance(20) { object[pick(Self.fields)] = value(1) }
        var bytes = JSONValue.object(object).bytes
        if chance(10), !bytes.isEmpty {
            bytes[Int(dice.next() % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: dice.next())
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

@Suite struct FuzzTests {
    private static let good: [String: JSONObject] = [
        "/v1/activities/{activity}": [
            "type": "Order", "state": ["step": 1], "audience": ["users": ["ada"], "devices": "all"],
            "alert": ["title": "Ready", "body": ["locKey": "k", "locArgs": ["a"]]], "staleAfter": "10m", "reopen": true,
        ],
        "PATCH /v1/activities/{activity}": ["state": ["step": 2, "status": nil], "relevance": 1, "sequence": 4],
        "/v1/activities/{activity}/audience": ["add": ["bob"], "remove": ["cat"]],
        "/v1/batch": [
            "method": "PUT", "path": "/v1/activities/order-2", "body": ["type": "Order", "state": ["step": 3]],
            "idempotencyKey": "key-1",
        ],
        "/v1/activities/{activity}/end": ["state": ["step": 9], "dismissAfter": "5m"],
        "/v1/users/{user}/notifications": [
            "id": "n1", "alert": ["title": "Hello", "subtitle": ["locKey": "k"], "sound": "default"],
            "data": ["page": 3], "devices": "all", "expiresAfter": "1h", "collapse": "c",
        ],
        "/v1/devices/{device}": ["user": "ada", "osVersion": "18.1", "deviceToken": .string(token("device"))],
        "/v1/devices/{device}/push-to-start-tokens/{type}": ["token": .string(token("start"))],
        "/v1/devices/{device}/instances/{localID}": [
            "type": "Order", "activity": "order-1", "state": "active", "token": .string(token("update")),
            "contentState": ["step": 1],
        ],
        "/v1/devices/{device}/instances": [
            "sequence": 5,
            "instances": [["localID": "card-1", "type": "Order", "activity": "order-1", "state": "active"]],
        ],
        "/v1/webhooks/{webhook}/replay": ["events": ["1", "2"]],
        "/v1/webhooks/{webhook}/discard": ["events": ["1", "2"]],
    ]
    private static let ids: [String: [String]] = [
        "activity": ["order-1", "order-2", "%C3%A9", "a%00"], "device": ["phone-1", "phone-2"],
        "type": ["Order", "Named", "Nope"], "localID": ["card-1", "card-2"],
        "user": ["ada", "bob"], "webhook": ["backend", "nobody"],
    ]

    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func `no body makes the server fail, and none that is refused changes the database`(seed: UInt64) async throws {
        try await withServer { fixture in
            var dice = BodyDice(dice: SplitMix64(seed: seed))
            try await fixture.registerPhone()
            _ = try await fixture.store.webhook(WebhookKey(pizza.bundleID, "backend"))
            var (taken, refused) = (0, 0)
            var before = try fixture.contents()
            for round in 0..<300 {
                let route = dice.pick(Route.all)
                let path = route.path.filled { name in dice.pick(Self.ids[name] ?? ["x"]) }
                let good = Self.good["\(route.method) \(route.path)"] ?? Self.good[route.path.description]
                let body = good.map { dice.body(of: $0) } ?? (route.scopes.isEmpty ? nil : "{}")
                let reply = try await fixture.call(
                    route.method, dice.query(of: route, path), body, key: fixture.keys[.backend]?.text,
                    headers: dice.headers())
                let name = Comment(rawValue: "seed \(seed), round \(round): \(route.method) \(path) \(body ?? "")")
                #expect(reply.status < 500, name)
                let after = try fixture.contents()
                if reply.status >= 400 {
                    refused += 1
                    #expect(reply.code != nil && reply["/status"]?.int == reply.status, name)
                    #expect(after == before, name)
                } else {
                    taken += 1
                    let isStream = route.path.description == "/v1/events"
                    #expect(isStream == (reply.headers[.contentType] == "text/event-stream"), name)
                    #expect(reply.json != nil || isStream || path.hasPrefix("/metrics"), name)
                }
                before = after
                if dice.chance(10) { fixture.clock.advance(.seconds(30)) }
            }
            // A fuzz test whose inputs are always refused, or never, tests nothing.
            #expect(taken > 30 && refused > 30, "seed \(seed): \(taken) taken, \(refused) refused")
        }
    }
}
