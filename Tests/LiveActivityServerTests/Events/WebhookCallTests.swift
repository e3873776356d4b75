import APNSModel
import HTTPTypes
import JSONText
import LiveActivityCore
import LiveActivityStorage
import StorageSQL
import StorageSQLite
import Testing

@testable import LiveActivityServer

/// The endpoints of webhooks, as their app sees them and acts on them.
@Suite struct WebhookCallTests {
    private static let key = WebhookKey(pizza.bundleID, "backend")

    /// Records this many events, all in one commit.
    private struct Tell: Command {
        let count: Int
        let now: UnixTime
        var keys: [SnapshotKey] { [] }
        var rank: CommandRank { .write }

        func decide(_ draft: inout Draft) throws(Refusal) {
            for _ in 0..<count { draft.tell(EventRecord(.ended, app: pizza.bundleID, at: now)) }
        }
    }

    /// Runs the work with six events and a configured endpoint that gave up two of them, waits for one, and is turned
    /// off.
    private static func with(_ work: @escaping @Sendable (Fixture) async throws -> Void) async throws {
        let told = ToldWebhook(key: key, origin: "https://backend.acme.com:8443", kinds: [.ended, .dismissed])
        let other = ToldWebhook(key: WebhookKey(bakery.bundleID, "theirs"), origin: "https://x.example", kinds: nil)
        try await withServer(configure: { $0.webhooks = [told, other] }) { fixture in
            var place = try await fixture.store.webhook(key).place
            _ = try await fixture.store.webhook(WebhookKey(pizza.bundleID, "former"))
            _ = try await fixture.store.webhook(other.key)
            _ = try await fixture.store.commit(Tell(count: 6, now: fixture.clock.now)).get()
            place.position = 4
            place.failures = 7
            place.failingSince = fixture.clock.now
            place.disabledAt = fixture.clock.now + .seconds(60)
            place.failure = "HTTP 500"
            let rows = [1, 2, 3].map { number in
                WebhookDelivery(
                    number: number, activity: nil, tries: 30, firstTriedAt: fixture.clock.now,
                    deadAt: number < 3 ? fixture.clock.now + .seconds(9) : nil, failure: "HTTP 500")
            }
            #expect(try await fixture.store.save(WebhookProgress(place: place, rows: rows)))
            try await work(fixture)
        }
    }

    @Test func `an endpoint that is off says so, why, and what to do`() async throws {
        try await Self.with { fixture in
            let reply = try await fixture.call(.get, "/v1/webhooks", key: fixture.keys[.read]?.text)
            #expect(reply.status == 200 && reply["/webhooks"]?.array?.count == 2)
            let row = try #require(reply["/webhooks/0"]?.object)
            #expect(row["name"] == "backend" && row["state"] == "off" && row["reason"] == "HTTP 500")
            #expect(row["origin"] == "https://backend.acme.com:8443" && row["kinds"] == ["dismissed", "ended"])
            #expect(row["behind"] == 2 && row["waiting"] == 1 && row["dead"] == 2 && row["failures"] == 7)
            #expect(row["fix"]?.string?.contains("`islet webhooks enable backend`") == true && row["since"] != nil)
            #expect(reply["/webhooks/1/name"] == "former" && reply["/webhooks/1/state"] == "removed")
            #expect(reply["/webhooks/1/origin"] == nil && !reply.text.contains("theirs"))

            let enabled = try await fixture.call(.post, "/v1/webhooks/backend/enable")
            #expect(enabled.status == 200 && enabled["/changed"] == true)
            #expect(try await fixture.call(.post, "/v1/webhooks/backend/enable")["/changed"] == false)
            let on = try await fixture.call(.get, "/v1/webhooks")
            #expect(on["/webhooks/0/state"] == "on")
            #expect(on["/webhooks/0/fix"]?.string?.hasPrefix("2 events were given up") == true)
        }
    }

    @Test func `the dead are listed by pages, and told again one by one or together`() async throws {
        try await Self.with { fixture in
            let path = "/v1/webhooks/backend"
            let first = try await fixture.call(.get, path + "/dead?limit=1", key: fixture.keys[.read]?.text)
            #expect(first["/dead"]?.array?.count == 1 && first["/dead/0/id"] == "1" && first["/next"] == "1")
            #expect(first["/dead/0/event/type"] == "ended" && first["/dead/0/tries"] == 30)
            #expect(first["/dead/0/failure"] == "HTTP 500" && first["/dead/0/givenUpAt"] != nil)
            let second = try await fixture.call(.get, path + "/dead?limit=1&after=1")
            #expect(second["/dead/0/id"] == "2" && second["/next"] == nil)

            #expect(try await fixture.call(.post, path + "/replay", #"{"events":["2","77"]}"#)["/replayed"] == 1)
            #expect(try await fixture.store.webhook(Self.key).waiting.map(\.number) == [2, 3])
            #expect(try await fixture.call(.post, path + "/replay")["/replayed"] == 1)
            #expect(try await fixture.store.webhook(Self.key).waiting.map(\.number) == [1, 2, 3])
            #expect(try await fixture.call(.get, path + "/dead")["/dead"] == [])
            let since = try await fixture.call(.post, path + "/replay", #"{"since":"0"}"#)
            #expect(since.status == 200 && since["/replayed"] == nil)
            #expect(try await fixture.store.webhook(Self.key).place.position == 0)
        }
    }

    @Test func `the dead are discarded one by one or together, and nothing else is`() async throws {
        try await Self.with { fixture in
            let path = "/v1/webhooks/backend"
            let waiting = try await fixture.store.webhook(Self.key).waiting
            #expect(try await fixture.call(.post, path + "/discard", #"{"events":["2","3","77"]}"#)["/discarded"] == 1)
            let left = try await fixture.call(.get, path + "/dead")
            #expect(left["/dead"]?.array?.count == 1 && left["/dead/0/id"] == "1")
            #expect(try await fixture.call(.post, path + "/discard", #"{"all":true}"#)["/discarded"] == 1)
            #expect(try await fixture.call(.post, path + "/discard", #"{"all":true}"#)["/discarded"] == 0)
            #expect(try await fixture.call(.get, path + "/dead")["/dead"] == [])
            #expect(try await fixture.store.webhook(Self.key).waiting == waiting && !waiting.isEmpty)
            let stranger = try await fixture.call(
                .post, path + "/discard", #"{"all":true}"#, key: fixture.otherApp.text)
            #expect(stranger.status == 404)
        }
    }

    @Test func `what cannot be meant is refused, and changes nothing`() async throws {
        try await Self.with { fixture in
            let before = try fixture.contents()
            for body in [
                #"{"events":[]}"#, #"{"events":["x"]}"#, #"{"events":["-1"]}"#, #"{"events":[42]}"#,
                #"{"events":["1"],"since":"0"}"#, #"{"since":""}"#, #"{"since":"01"}"#, #"{"all":true}"#, "[]",
            ] {
                let reply = try await fixture.call(.post, "/v1/webhooks/backend/replay", body)
                #expect(reply.status == 422 && reply.code == "invalid_body", "\(body)")
            }
            for (method, path) in [
                (HTTPRequest.Method.get, "/dead"), (.post, "/replay"), (.post, "/enable"),
            ] {
                for name in ["nobody", "theirs", "%20"] {
                    let reply = try await fixture.call(method, "/v1/webhooks/\(name)\(path)")
                    #expect(reply.status == 404 && reply.code == "unknown_webhook", "\(name)\(path)")
                }
                let reply = try await fixture.call(
                    method, "/v1/webhooks/backend\(path)", nil, key: fixture.otherApp.text)
                #expect(reply.status == 404 && reply.code == "unknown_webhook", "another app's \(path)")
            }
            for query in ["after=x", "after=-1", "limit=0", "limit=1001", "x=1"] {
                let reply = try await fixture.call(.get, "/v1/webhooks/backend/dead?\(query)")
                #expect(reply.status == 400 && reply.code == "invalid_query", "\(query)")
            }
            let name = try #require(HTTPField.Name("Idempotency-Key"))
            let key = try #require(fixture.keys[.backend]?.text)
            for call in ["replay", "enable"] {
                let reply = try await fixture.call(
                    .post, "/v1/webhooks/backend/\(call)", key: key, headers: [name: "k"])
                #expect(reply.status == 400 && reply.code == "invalid_header")
            }
            // Only the permitted calls wrote. The last use of keys is stored in rows of its own.
            #expect(try fixture.contents() == before)
        }
    }

    @Test func `metrics say how far each endpoint is, and which is off`() async throws {
        try await Self.with { fixture in
            let text = try await fixture.call(.get, "/metrics", key: nil).text
            let labels = #"{app="com.acme.pizza",webhook="backend"}"#
            for (name, value) in [("waiting", 1), ("behind", 2), ("dead", 2), ("off", 1)] {
                #expect(text.contains("islet_webhook_\(name)\(labels) \(value)\n"), "\(name)")
            }
            #expect(text.contains("islet_event_streams 0\n"))
            #expect(!text.contains("former"), "only those that are configured")
            _ = try await fixture.store.enable(Self.key)
            fixture.clock.advance(.seconds(1))
            let on = try await fixture.call(.get, "/metrics", key: nil).text
            #expect(on.contains("islet_webhook_off\(labels) 0\n"))
        }
    }
}
