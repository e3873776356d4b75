import APNSModel
import HTTPTypes
import JSONText
import LiveActivityCore
import Testing

@Suite struct ViewTests {
    private static func live(_ fixture: Fixture) async throws {
        try await fixture.registerPhone()
        _ = try await fixture.put(
            "/v1/activities/order-1",
            #"{"type":"Order","state":{"step":1},"attributes":{"shop":"Roma"},"audience":{"users":["ada"]}}"#)
        _ = try await fixture.deliver()
        _ = try await fixture.put(
            "/v1/devices/phone-1/instances/card-1",
            #"{"type":"Order","activity":"order-1","state":"active","token":"\#(token("u"))","#
                + #""contentState":{"step":1}}"#
        )
    }

    @Test func `the view says what should be shown and what each phone holds`() async throws {
        try await withServer { fixture in
            try await Self.live(fixture)
            let view = try await fixture.call(.get, "/v1/activities/order-1")
            #expect(view["/activity"] == "order-1")
            #expect(view["/type"] == "Order")
            #expect(view["/phase"] == "active")
            #expect(view["/run"] == 1)
            #expect(view["/revision"] == 1)
            #expect(view["/state"] == ["step": 1])
            #expect(view["/attributes/shop"] == "Roma")
            #expect(view["/counts"] == ["live": 1])
            #expect(view["/devices/0/device"] == "phone-1")
            #expect(view["/devices/0/user"] == "ada")
            #expect(view["/devices/0/localID"] == "card-1")
            #expect(view["/devices/0/state"] == "live")
            #expect(view["/devices/0/shownRevision"] == 1)
            #expect(view["/devices/0/confirmation"] == "held")
            #expect(view["/devices/0/lastDelivery/kind"] == "start")
            #expect(view["/devices/0/lastDelivery/status"] == 200)
            #expect(view["/devices/0/lastDelivery/verdict"] == "accepted")
            #expect(view["/devices/0/reason/code"] == "up-to-date")
            #expect(view["/next"] == nil)
        }
    }

    @Test func `accepted is not held`() async throws {
        try await withServer { fixture in
            try await Self.live(fixture)
            _ = try await fixture.put("/v1/activities/order-1", #"{"type":"Order","state":{"step":2}}"#)
            fixture.clock.advance(.seconds(2))
            #expect(try await fixture.deliver() == [.update])
            let view = try await fixture.call(.get, "/v1/activities/order-1")
            #expect(view["/devices/0/revision"] == 2)
            #expect(view["/devices/0/confirmation"] == "accepted")
        }
    }

    @Test func `a fault that is not a phone's is told at the top and on every phone that is behind`() async throws {
        try await withServer { fixture in
            try await Self.live(fixture)
            _ = try await fixture.put("/v1/activities/order-1", #"{"type":"Order","state":{"step":2}}"#)
            fixture.clock.advance(.seconds(2))
            _ = try await fixture.deliver(PushAnswer(status: 403, reason: APNSReason("InvalidProviderToken")))
            let view = try await fixture.call(.get, "/v1/activities/order-1")
            #expect(view["/reason/code"] == "halted")
            #expect(view["/devices/0/reason/code"] == "halted")
            let put = try await fixture.put("/v1/activities/order-1", #"{"type":"Order","state":{"step":3}}"#)
            #expect(put["/phones/pending"] == 1)
            #expect(put["/reasons"] == [["reason": "halted", "count": 1]])
            // Once no phone is behind, nothing waits for the fault.
            let report = #"{"type":"Order","activity":"order-1","state":"dismissed"}"#
            _ = try await fixture.put("/v1/devices/phone-1/instances/card-1", report)
            fixture.clock.advance(.seconds(120))
            #expect(try await fixture.deliver() == [])
            let later = try await fixture.call(.get, "/v1/activities/order-1")
            #expect(later["/reason"] == nil)
            #expect(later["/devices/0/reason/code"] == "dismissed-by-person")
        }
    }

    @Test func `phones are paged, each listed once`() async throws {
        try await withServer { fixture in
            let names = (1...7).map { "phone-\($0)" }
            for name in names { _ = try await fixture.put("/v1/devices/\(name)", #"{"user":"u-\#(name)"}"#) }
            let users = names.map { #""u-\#($0)""# }.joined(separator: ",")
            _ = try await fixture.put(
                "/v1/activities/x", #"{"type":"Order","state":{},"audience":{"users":[\#(users)]}}"#)
            var seen: [String] = []
            var after = ""
            for _ in 0..<10 {
                let page = try await fixture.call(.get, "/v1/activities/x?limit=3\(after)")
                #expect(page["/counts"] == ["absent": 7])
                seen += (page["/devices"]?.array ?? []).compactMap { $0.object?["device"]?.string }
                guard let next = page["/next"]?.string else { break }
                after = "&after=\(next)"
            }
            #expect(seen.count == 7)
            #expect(Set(seen) == Set(names))
        }
    }

    @Test(arguments: [1, 2, 3, 5, 100])
    func `the timeline is paged, oldest first, whatever the size of a page`(limit: Int) async throws {
        try await withServer { fixture in
            // Three phones, so that one settlement is one row with three entries.
            for name in ["a", "b", "c"] { try await fixture.registerPhone(name, user: "u-\(name)") }
            _ = try await fixture.put(
                "/v1/activities/x", #"{"type":"Order","state":{"n":1},"audience":{"users":["u-a","u-b","u-c"]}}"#)
            fixture.clock.advance(.seconds(2))
            #expect(try await fixture.deliver().count == 3)
            _ = try await fixture.put("/v1/activities/x", #"{"type":"Order","state":{"n":2}}"#)
            _ = try await fixture.call(.post, "/v1/activities/x/end")
            var entries: [JSONValue] = []
            var after = ""
            var pages = 0
            while pages < 20 {
                let page = try await fixture.call(.get, "/v1/activities/x/timeline?limit=\(limit)\(after)")
                #expect(page.status == 200)
                let list = page["/entries"]?.array ?? []
                #expect(list.count <= limit)
                entries += list
                pages += 1
                guard let next = page["/next"]?.string else { break }
                after = "&after=\(next)"
            }
            let kinds = entries.compactMap { $0.object?["kind"]?.string }
            #expect(kinds == ["state-set", "start", "start", "start", "state-set", "ended"])
            #expect(Set(entries.compactMap { $0.object?["device"]?.string }) == ["a", "b", "c"])
            #expect(pages == (6 + limit - 1) / limit)
            let start = try #require(entries[1].object)
            #expect(start["code"] == "accepted")
            #expect(start["status"] == 200)
            #expect(start["priority"] == 10)
            #expect(start["apnsID"]?.string?.count == 36)
            #expect(start["timestamp"]?.int != nil)
            #expect(start["text"]?.string?.contains("APNs accepted the push") == true)
            let newest = try await fixture.call(.get, "/v1/activities/x/timeline?limit=\(limit)&newest=true")
            #expect(newest["/entries"]?.array == entries.suffix(limit) && newest["/next"] == nil)
            let both = try await fixture.call(.get, "/v1/activities/x/timeline?newest=true&after=1")
            #expect(both.status == 400 && both["/code"] == "invalid_query")
        }
    }

    @Test(arguments: [
        "limit=0", "limit=1001", "limit=x", "limit=", "after=!", "after=-1", "page=2", "limit=1&limit=2", "%zz",
    ])
    func `a query that the call does not know is refused`(query: String) async throws {
        try await withServer { fixture in
            _ = try await fixture.put("/v1/activities/x", #"{"type":"Order","state":{}}"#)
            for path in ["/v1/activities/x", "/v1/activities/x/timeline"] {
                let reply = try await fixture.call(.get, "\(path)?\(query)")
                #expect(reply.status == 400)
                #expect(reply.code == "invalid_query")
            }
        }
    }
}
