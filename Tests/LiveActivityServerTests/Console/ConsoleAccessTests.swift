import APNSModel
import HTTPTypes
import JSONText
import LiveActivityStorage
import StorageSQL
import StorageSQLite
import Testing

@testable import LiveActivityServer

/// A session has its key's permissions, and requests that another page starts are refused.
@Suite struct ConsoleAccessTests {
    private static let order = "/v1/activities/order-1"
    private static let state = #"{"type":"Order","state":{"step":1},"audience":{"users":["ada"]}}"#

    @Test func `a key is exchanged for a cookie that no script reads and no other site sends`() async throws {
        try await withServer { fixture in
            let key = try #require(fixture.keys[.backend]).text
            var browser = Browser(fixture: fixture)
            let reply = try await browser.signIn(key)
            #expect(reply.status == 200 && reply["/app"] == "com.acme.pizza" && reply["/scope"] == "backend")
            let cookie = try #require(reply.headers[.setCookie])
            #expect(cookie.contains("; HttpOnly") && cookie.contains("; SameSite=Strict"))
            #expect(cookie.contains("; Path=/") && !cookie.contains("Secure") && !cookie.contains(key))
            #expect(!reply.text.contains(key))
            #expect(reply.headers[.cacheControl] == "no-store")
            #expect(!(try fixture.contents().contains(browser.token ?? "")))

            var behindProxy = Browser(fixture: fixture)
            behindProxy.origin = "https://localhost"
            let secure = try #require(try await behindProxy.signIn(key).headers[.setCookie])
            #expect(secure.hasPrefix("__Host-islet-console=") && secure.contains("; Secure"))
            #expect(try await behindProxy.call(.get, "/v1/activities").status == 200)
            #expect(try await behindProxy.call(.put, Self.order, Self.state).status == 200)
        }
    }

    @Test func `without a key that is taken nobody gets in`() async throws {
        try await withServer { fixture in
            for text in ["", "islet_x", fixture.revoked.text, String(fixture.revoked.text.dropLast())] {
                var browser = Browser(fixture: fixture)
                #expect(try await browser.signIn(text).code == "key_invalid")
                #expect(browser.cookie == nil)
            }
            var stranger = Browser(fixture: fixture)
            for path in ["/v1/activities", "/v1/overview", "/console/live", "/console/session"] {
                let reply = try await stranger.call(.get, path)
                #expect(reply.status == 401 && reply.code == "key_missing", "\(path)")
            }
            stranger.cookie = "islet-console-=" + String(repeating: "A", count: 43)
            #expect(try await stranger.call(.get, "/v1/activities").status == 401)
        }
    }

    /// A link with another person's key would make its reader work as that person.
    @Test func `a key in the address begins a session in development alone, and ends none that is there`() async throws
    {
        for isDevelopment in [false, true] {
            let control = SimulatorControl { _, _, _ in (200, "application/json", []) }
            try await withServer(configure: { $0.simulator = isDevelopment ? control : nil }) { fixture in
                let key = try #require(fixture.keys[.read]).text
                var browser = try await Browser.signedIn(fixture, as: .backend)
                let before = browser.cookie
                let reply = try await browser.signIn(key, isFromLink: true)
                if isDevelopment {
                    #expect(reply.status == 200 && browser.cookie != before)
                } else {
                    #expect(reply.code == "origin_refused" && reply.headers[.setCookie] == nil)
                    #expect(try await browser.call(.get, "/console/session")["/scope"] == "backend")
                }
            }
        }
    }

    @Test func `a write needs the page's token and its own origin`() async throws {
        try await withServer { fixture in
            let own = try await Browser.signedIn(fixture, as: .backend)
            func attempt(_ change: (inout Browser) -> Void) async throws -> Reply {
                var browser = own
                change(&browser)
                return try await browser.call(.put, Self.order, Self.state)
            }
            let before = try fixture.contents()
            let refused: [(String, (inout Browser) -> Void)] = [
                ("without the token", { $0.token = nil }),
                ("with another", { $0.token = String(repeating: "A", count: 43) }),
                ("from another site", { $0.site = "cross-site" }),
                ("from another host of the site", { $0.site = "same-site" }),
                ("typed into the address bar", { $0.site = "none" }),
                (
                    "from an old browser's other page",
                    {
                        $0.site = nil
                        $0.origin = "http://evil.example"
                    }
                ),
            ]
            for (words, change) in refused {
                let reply = try await attempt(change)
                #expect(reply.status == 403 && reply.code == "origin_refused", "\(words)")
            }
            #expect(try fixture.contents() == before)
            #expect(try await attempt { $0.site = nil }.status == 200, "an old browser's own page")
            #expect(try await own.call(.put, Self.order, Self.state).status == 200)
            var other = own
            other.site = "cross-site"
            #expect(try await other.call(.get, "/v1/activities").code == "origin_refused")
            #expect(try await other.call(.delete, "/console/session").code == "origin_refused")
            var signingIn = Browser(fixture: fixture)
            signingIn.site = "cross-site"
            let key = try #require(fixture.keys[.read]).text
            #expect(try await signingIn.signIn(key).code == "origin_refused")
        }
    }

    @Test(arguments: APIKeyRecord.Scope.allCases)
    func `a session may what its key may`(scope: APIKeyRecord.Scope) async throws {
        try await withServer { fixture in
            try await fixture.registerPhone()
            #expect(try await fixture.put(Self.order, Self.state).status == 200)
            let browser = try await Browser.signedIn(fixture, as: scope)
            let key = fixture.keys[scope]?.text
            let calls: [(HTTPRequest.Method, String, String?)] = [
                (.get, "/v1/activities", nil), (.get, Self.order, nil), (.get, Self.order + "/timeline", nil),
                (.get, "/v1/types", nil), (.get, "/v1/keys", nil), (.get, "/v1/overview", nil),
                (.get, "/v1/devices/phone-1/diagnosis", nil), (.get, "/v1/activities/none", nil),
                (.put, Self.order + "?dryRun=true", Self.state), (.put, Self.order, Self.state),
                (.put, "/v1/devices/phone-2", #"{"user":"bob"}"#), (.delete, "/v1/devices/phone-1/credential", nil),
            ]
            for (method, path, body) in calls {
                let direct = try await fixture.call(method, path, body, key: key)
                let session = try await browser.call(method, path, body)
                #expect(session.status == direct.status && session.code == direct.code, "\(method) \(path)")
            }
            let live = try await browser.call(.post, "/console/live")
            #expect(live.status == 405)
        }
    }

    @Test func `a session ends with its key, with its time, and when it is told to`() async throws {
        try await withServer { fixture in
            let browser = try await Browser.signedIn(fixture, as: .read)
            #expect(try await browser.call(.get, "/console/session")["/scope"] == "read")
            _ = try await fixture.store.revokeKey(try #require(fixture.keys[.read]).id, at: fixture.clock.now)
            #expect(try await browser.call(.get, "/v1/activities").code == "key_missing")

            let second = try await Browser.signedIn(fixture, as: .backend)
            let out = try await second.call(.delete, "/console/session")
            #expect(out.status == 204 && out.headers[.setCookie]?.contains("Max-Age=0") == true)
            #expect(try await second.call(.get, "/v1/activities").status == 401)

            let third = try await Browser.signedIn(fixture, as: .backend)
            fixture.clock.advance(ConsoleSessions.idleLimit)
            #expect(try await third.call(.get, "/v1/activities").status == 401)
        }
    }

    @Test func `a session of one app sees nothing of another`() async throws {
        try await withServer { fixture in
            #expect(try await fixture.put(Self.order, Self.state).status == 200)
            var other = Browser(fixture: fixture)
            #expect(try await other.signIn(fixture.otherApp.text)["/app"] == "com.acme.bakery")
            #expect(try await other.call(.get, Self.order).code == "unknown_activity")
            let keys = try await other.call(.get, "/v1/keys")
            #expect(keys["/keys"]?.array?.count == 1 && !keys.text.contains(fixture.revoked.id))
        }
    }

    @Test func `an Authorization header counts, whatever cookie comes with it`() async throws {
        try await withServer { fixture in
            let browser = try await Browser.signedIn(fixture, as: .backend)
            let reply = try await fixture.call(
                .get, "/v1/activities", key: fixture.revoked.text, headers: [.cookie: browser.cookie ?? ""])
            #expect(reply.code == "key_invalid")
        }
    }
}
