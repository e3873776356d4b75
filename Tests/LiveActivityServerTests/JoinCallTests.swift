import APNSModel
import HTTPTypes
import JSONText
import LiveActivityCore
import LiveActivityServer
import LiveActivityStorage
import StorageSQL
import StorageSQLite
import Testing

/// `GET /v1/activities/{activity}/join`: who gets what of an activity to start a card.
@Suite struct JoinCallTests {
    private static let match =
        #"{"type":"Match","state":{"home":1,"away":0},"attributes":{"teams":"A-B"},"staleAfter":"10m"}"#
    private static let order =
        #"{"type":"Order","state":{"step":1},"attributes":{"shop":"Roma"},"audience":{"users":["ada"]}}"#

    /// Returns an app that also has a type which anybody may join, and one which everybody with a credential may.
    fileprivate static func stadium(_ app: AppSettings) -> AppSettings {
        var policy = TypePolicy()
        policy.startAlert = AlertTemplate(PushAlert(title: .text("Kick-off")))
        policy.delivery = .channel
        policy.join = .anonymous
        var open = TypePolicy()
        open.start = .appOnly
        open.join = .open
        var app = app
        app.types["Match"] = ActivityType(name: "Match", attributesType: "MatchAttributes", policy: policy)
        app.types["Open"] = ActivityType(name: "Open", attributesType: "OpenAttributes", policy: open)
        app.environments = [.sandbox, .production]
        return app
    }

    private func withStadium(
        limits: LiveActivityServer.Limits = .unhurried, apps: [AppSettings] = [JoinCallTests.stadium(pizza), bakery],
        _ body: @escaping @Sendable (Fixture) async throws -> Void
    ) async throws {
        let people = try Minter.people()
        try await withServer(
            limits: limits,
            configure: {
                $0.apps = apps
                $0.people = [pizza.bundleID: people]
            }, body)
    }

    // MARK: - Without a credential

    @Test func `anybody gets the state of a public match, and its channel as soon as there is one`() async throws {
        try await withStadium { fixture in
            _ = try await fixture.put("/v1/activities/match-1", Self.match)
            let first = try await fixture.call(.get, "/v1/activities/match-1/join", key: nil)
            #expect(first.status == 200, "\(first.text)")
            var expected: JSONValue = [
                "activity": "match-1", "type": "Match", "state": ["home": 1, "away": 0],
                "attributes": ["teams": "A-B", "islet": ["activity": "match-1"]], "revision": 1, "phase": "active",
                "staleAt": "2027-01-15T08:10:00Z", "retryAfter": 2,
            ]
            #expect(first.json == expected)
            // To ask again changes nothing.
            let before = try fixture.contents()
            #expect(try await fixture.call(.get, "/v1/activities/match-1/join", key: nil).json == expected)
            #expect(try fixture.contents() == before)
            let id = try await fixture.makeChannel(in: .production)
            var members = try #require(expected.object)
            members["retryAfter"] = nil
            members["channel"] = .string(id.text)
            expected = .object(members)
            for _ in 0..<2 {
                let reply = try await fixture.call(.get, "/v1/activities/match-1/join", key: nil)
                #expect(reply.json == expected)
            }
            #expect(try await fixture.call(.head, "/v1/activities/match-1/join", key: nil).status == 200)
        }
    }

    @Test func `an app built for the sandbox says so`() async throws {
        try await withStadium { fixture in
            _ = try await fixture.put("/v1/activities/match-1", Self.match)
            let path = "/v1/activities/match-1/join?environment=sandbox"
            #expect(try await fixture.call(.get, path, key: nil)["/retryAfter"] == 2)
            let id = try await fixture.makeChannel(in: .sandbox)
            #expect(try await fixture.call(.get, path, key: nil)["/channel"]?.string == id.text)
            let other = try await fixture.call(.get, "/v1/activities/match-1/join", key: nil)
            #expect(other["/channel"] == nil && other["/retryAfter"] == 2)
            for query in ["environment=test", "environment=", "channel=1", "app=a&app=b"] {
                let reply = try await fixture.call(.get, "/v1/activities/match-1/join?\(query)", key: nil)
                #expect(reply.status == 400 && reply.code == "invalid_query", "\(query)")
            }
        }
    }

    @Test func `what may not be joined without a credential looks like what does not exist`() async throws {
        try await withStadium { fixture in
            _ = try await fixture.put("/v1/activities/order-1", Self.order)
            _ = try await fixture.put("/v1/activities/open-12", #"{"type":"Open","state":{}}"#)
            // A phone alone has reported this one.
            _ = try await fixture.put("/v1/devices/phone-1", #"{"user":"ada"}"#)
            _ = try await fixture.put(
                "/v1/devices/phone-1/instances/card-1", #"{"type":"Match","activity":"match-2","state":"active"}"#)
            var documents: [JSONObject] = []
            for id in ["order-1", "open-12", "match-2", "nothing"] {
                let reply = try await fixture.call(.get, "/v1/activities/\(id)/join", key: nil)
                #expect(reply.status == 404 && reply.code == "unknown_activity", "\(id)")
                var document = try #require(reply.json?.object)
                document["instance"] = nil
                let detail = document["detail"]?.string?.replacing(id, with: "ID")
                document["detail"] = .string(try #require(detail))
                documents.append(document)
            }
            #expect(documents.allSatisfy { $0 == documents.first })
        }
    }

    @Test func `where no type lets anybody join, a call without a credential is told to bring one`() async throws {
        try await withServer { fixture in
            _ = try await fixture.put("/v1/activities/order-1", Self.order)
            for id in ["order-1", "nothing"] {
                let reply = try await fixture.call(.get, "/v1/activities/\(id)/join", key: nil)
                #expect(reply.status == 401 && reply.code == "key_missing")
            }
        }
    }

    @Test func `a match that is over is said to be`() async throws {
        try await withStadium { fixture in
            _ = try await fixture.put("/v1/activities/match-1", Self.match)
            _ = try await fixture.call(.post, "/v1/activities/match-1/end", "{}")
            let reply = try await fixture.call(.get, "/v1/activities/match-1/join", key: nil)
            #expect(reply.status == 409 && reply.code == "activity_ended")
            #expect(reply["/fix"] == "start no card of it")
        }
    }

    @Test func `of several apps the call says which it means`() async throws {
        let apps = [Self.stadium(pizza), Self.stadium(bakery)]
        try await withStadium(apps: apps) { fixture in
            _ = try await fixture.put("/v1/activities/match-1", Self.match)
            func join(_ query: String) async throws -> Reply {
                try await fixture.call(.get, "/v1/activities/match-1/join\(query)", key: nil)
            }
            #expect(try await join("").code == "invalid_query")
            #expect(try await join("?app=com.acme.pizza")["/type"] == "Match")
            #expect(try await join("?app=com.acme.bakery").code == "unknown_activity")
            #expect(try await join("?app=com.acme.nothing").code == "unknown_activity")
            // A credential says it by itself, and reaches no other app.
            let path = "/v1/activities/match-1/join"
            #expect(try await fixture.call(.get, path).status == 200)
            #expect(try await fixture.call(.get, path + "?app=com.acme.pizza").status == 200)
            #expect(try await fixture.call(.get, path + "?app=com.acme.bakery").code == "unknown_activity")
            #expect(try await fixture.call(.get, path, key: fixture.otherApp.text).code == "unknown_activity")
        }
    }

    // MARK: - With a credential

    @Test func `a member and their phone get their order, and others nothing of it`() async throws {
        try await withStadium { fixture in
            _ = try await fixture.put("/v1/activities/order-1", Self.order)
            _ = try await fixture.put("/v1/activities/open-1", #"{"type":"Open","state":{"n":1}}"#)
            let ada = try await fixture.credential(of: "phone-1", "ada")
            let bob = try await fixture.credential(of: "phone-2", "bob")
            func status(_ id: String, _ key: String?) async throws -> Int {
                try await fixture.call(.get, "/v1/activities/\(id)/join", key: key).status
            }
            let tokens = [
                try Minter().token("ada", at: fixture.clock.now), try Minter().token("bob", at: fixture.clock.now),
            ]
            for (key, isMember) in [(tokens[0], true), (tokens[1], false), (ada, true), (bob, false)] {
                #expect(try await status("order-1", key) == (isMember ? 200 : 404))
                #expect(try await status("open-1", key) == 200)
            }
            for (scope, expected) in [
                (APIKeyRecord.Scope.backend, 200), (.device, 403), (.read, 403), (.admin, 403),
            ] {
                #expect(try await status("order-1", fixture.keys[scope]?.text) == expected, "\(scope)")
            }
            // A wrong credential is not nobody's.
            #expect(try await status("order-1", fixture.revoked.text) == 401)
            // Who leaves gets nothing any more.
            _ = try await fixture.call(.post, "/v1/activities/order-1/audience", #"{"remove":["ada"]}"#)
            #expect(try await status("order-1", tokens[0]) == 404)
            #expect(try await status("order-1", ada) == 404)
        }
    }

    @Test func `a phone that shows the card gets its state, and nothing to start another`() async throws {
        try await withStadium { fixture in
            _ = try await fixture.put("/v1/activities/order-1", Self.order)
            let ada = try await fixture.credential(of: "phone-1", "ada")
            let before = try await fixture.call(.get, "/v1/activities/order-1/join", key: ada)
            #expect(before["/attributes/shop"] == "Roma" && before["/localID"] == nil)
            let card = #"{"type":"Order","activity":"order-1","state":"active","token":"\#(token("u"))"}"#
            #expect(try await fixture.call(.put, "/v1/devices/phone-1/instances/card-1", card, key: ada).status == 200)
            let shown = try await fixture.call(.get, "/v1/activities/order-1/join", key: ada)
            #expect(shown.status == 200 && shown["/attributes"] == nil)
            #expect(shown["/localID"] == "card-1" && shown["/state"] == ["step": 1])
        }
    }

    @Test func `a phone's channel is that of its device, and one that cannot have any gets none`() async throws {
        try await withStadium { fixture in
            _ = try await fixture.put("/v1/activities/match-1", Self.match)
            let credential = try await fixture.credential(of: "phone-1", "ada")
            let path = "/v1/activities/match-1/join?environment=production"
            let unable = try await fixture.call(.get, path, key: credential)
            #expect(unable["/attributes"] != nil && unable["/channel"] == nil && unable["/retryAfter"] == nil)
            let facts = #"{"osVersion":"18.1","channels":true,"environment":"sandbox"}"#
            #expect(try await fixture.call(.put, "/v1/devices/phone-1", facts, key: credential).status == 200)
            #expect(try await fixture.call(.get, path, key: credential)["/retryAfter"] == 2)
            let id = try await fixture.makeChannel(in: .sandbox)
            #expect(try await fixture.call(.get, path, key: credential)["/channel"]?.string == id.text)
        }
    }

    // MARK: - Limits

    @Test func `who joins too often without a credential is told to wait, whatever the activity`() async throws {
        var limits = LiveActivityServer.Limits.unhurried
        limits.joinsPerMinutePerAddress = 2
        try await withStadium(limits: limits) { fixture in
            _ = try await fixture.put("/v1/activities/match-1", Self.match)
            let path = "/v1/activities/match-1/join"
            for _ in 0..<2 {
                #expect(try await fixture.call(.get, path, key: nil).status == 200)
                #expect(try await fixture.call(.get, "/v1/activities/nothing/join", key: nil).status == 404)
            }
            let refused = try await fixture.call(.get, path, key: nil)
            #expect(refused.status == 429 && refused.code == "rate_limited")
            #expect(refused.headers[.retryAfter] == "30" && refused["/expected"] == "at most 2 calls a minute")
            #expect(HTTPField.Name("RateLimit-Limit").flatMap { refused.headers[$0] } == "2")
            // Callers with a credential have allowances of their own.
            #expect(try await fixture.asPerson("ada", .get, path).status == 200)
            #expect(try await fixture.call(.get, path).status == 200)
            fixture.clock.advance(.seconds(30))
            #expect(try await fixture.call(.get, path, key: nil).status == 200)
            #expect(try await fixture.call(.get, path, key: nil).status == 429)
        }
    }
}

extension Fixture {
    /// Makes the one channel that is asked for, as APNs would.
    fileprivate func makeChannel(in environment: APNSEnvironment) async throws -> ChannelID {
        let id = try #require(ChannelID("AAAA1001R001"))
        let app = JoinCallTests.stadium(pizza)
        let claim = ClaimChannels(
            DueChannels(at: clock.now, node: 1, limit: 10), apps: [app.bundleID: app],
            inUse: [PushRoute(app.bundleID, environment): 0])
        let errands = try await store.commit(claim).get().errands
        #expect(errands.count == 1)
        let errand = try #require(errands.first)
        _ = try await store.commit(SettleChannel(errand, .created(id), now: clock.now, dice: 0.5)).get()
        return id
    }
}
