import APNSModel
import HTTPTypes
import JSONText
import LiveActivityStorage
import StorageSQL
import StorageSQLite
import Testing

@testable import LiveActivityCore
@testable import LiveActivityServer

@Suite struct AlertCallTests {
    @Test func `a database that does not answer has an alert fire, and is counted`() async throws {
        let sources = MetricsSources(registry: MetricsRegistry(), version: "1", startedAt: TestClock().now)
        try await withServer(configure: { $0.metrics = sources }) { fixture in
            let watch = fixture.server.alertWatch
            func firing() -> [String] { watch.services.alerts.book.firing(in: AlertRule.all).map(\.rule) }
            await watch.step()
            fixture.store.close()
            var looks = 0
            while firing().isEmpty, looks < 20 {
                fixture.clock.advance(AlertRule.interval)
                await watch.step()
                looks += 1
            }
            #expect(firing() == ["IsletStoreFails"] && looks <= 6, "after \(looks)")
            let page = await MetricsPage(sources: sources, services: watch.services).text()
            #expect(page.contains(#"islet_store_failures_total{work="write"} 0"#))
            #expect(!page.contains(#"islet_store_failures_total{work="read"} 0"#))
        }
    }

    private static let put =
        #"{"type":"Order","state":{"step":1},"attributes":{},"audience":{"users":["ada"],"devices":"all"}}"#

    /// Returns sources in which both apps are halted and the first has an endpoint.
    private static func trouble(_ clock: UnixTime) -> DeliverySources {
        DeliverySources(routes: {
            let status = CircuitBoard.Status(
                openSince: clock, nextProbeAt: clock + .seconds(30), isProbing: false, reason: Reason(.serviceTrouble),
                isHalt: false)
            return [PushRoute(pizza.bundleID, .sandbox): status, PushRoute(bakery.bundleID, .sandbox): status]
        })
    }

    @Test func `what fires is told with its value and meaning, of the caller's app and of the whole server`()
        async throws
    {
        let registry = MetricsRegistry()
        let begin = TestClock().now
        try await withServer(
            delivery: Self.trouble(begin),
            configure: {
                $0.metrics = MetricsSources(registry: registry, version: "1", startedAt: begin) {
                    var reading = ConnectionReading(.sandbox)
                    reading.clockSkew = .seconds(-30)
                    return [reading]
                }
            }
        ) { fixture in
            let path = "/v1/alerts"
            #expect(try await fixture.call(.get, path).json == ["alerts": []])
            await fixture.server.alertWatch.step()
            #expect(try await fixture.call(.get, path)["/alerts"] == [])
            fixture.clock.advance(.seconds(31))
            await fixture.server.alertWatch.step()
            let reply = try await fixture.call(.get, path)
            #expect(reply["/alerts"]?.array?.count == 1 && reply["/evaluatedAt"] != nil)
            #expect(reply["/alerts/0/name"] == "IsletRouteDown" && reply["/alerts/0/severity"] == "page")
            #expect(reply["/alerts/0/value"] == 31)
            #expect(reply["/alerts/0/labels"] == ["app": "com.acme.pizza", "environment": "sandbox"])
            #expect(
                reply["/alerts/0/summary"] == "Nothing leaves for com.acme.pizza (sandbox) since 31 s")
            #expect(reply["/alerts/0/meaning"]?.string?.contains("probe") == true)
            // Alerts of the whole server are shown to every caller.
            fixture.clock.advance(.seconds(300))
            await fixture.server.alertWatch.step()
            for key in [fixture.keys[.read]?.text, fixture.otherApp.text] {
                let reply = try await fixture.call(.get, path, key: key)
                #expect(
                    reply["/alerts"]?.array?.compactMap { $0.object?["name"] } == ["IsletRouteDown", "IsletClockWrong"])
                #expect(reply["/alerts/1/labels"] == ["environment": "sandbox"])
            }
            let text = try await fixture.call(.get, "/metrics", key: nil).text
            #expect(text.contains(#"islet_alerts_firing{alert="IsletRouteDown",severity="page"} 2"#))
            #expect(text.contains(#"islet_alerts_firing{alert="IsletLate",severity="page"} 0"#))
            #expect(text.contains(#"islet_apns_trouble_seconds{app="com.acme.bakery",environment="sandbox"} 331"#))
        }
    }

    @Test func `alerts are looked for where metrics are not served`() async throws {
        try await withServer(
            delivery: Self.trouble(TestClock().now),
            configure: { $0.metrics?.isServed = false }
        ) { fixture in
            fixture.clock.advance(.seconds(40))
            await fixture.server.alertWatch.step()
            let (alerts, page) = (
                try await fixture.call(.get, "/v1/alerts"), try await fixture.call(.get, "/metrics", key: nil)
            )
            #expect(alerts["/alerts/0/name"] == "IsletRouteDown" && page.status == 404)
        }
    }

    /// One phone reports the state that it was sent, another reports a different one, and no inventory has the third's.
    @Test func `what phones say is counted with the commit that says it`() async throws {
        try await withServer { fixture in
            func metrics() async throws -> String { try await fixture.call(.get, "/metrics", key: nil).text }
            func report(_ phone: String, _ state: String) async throws {
                let body =
                    #"{"type":"Order","activity":"a","state":"active","contentState":\#(state),"#
                    + #""token":"\#(token("card-\(phone)"))"}"#
                #expect(try await fixture.put("/v1/devices/\(phone)/instances/card-\(phone)", body).status == 200)
            }
            #expect(try await metrics().contains(#"islet_confirmations_total{app="com.acme.pizza",outcome="held"} 0"#))
            for phone in ["one", "two", "three"] { try await fixture.registerPhone(phone, user: "ada") }
            #expect(try await fixture.put("/v1/activities/a", Self.put).status == 200)
            #expect(try await fixture.deliver().count == 3)
            // Within a second the previous page is served.
            fixture.clock.advance(.seconds(1))
            #expect(try await metrics().contains("\nislet_starts_open 3\n"))
            fixture.clock.advance(.seconds(3))
            try await report("one", #"{"step":1}"#)
            // The first report with a new token contradicts nothing, because the push may still be under way.
            try await report("two", #"{"step":0}"#)
            #expect(try await fixture.deliver() == [.update])
            try await report("two", #"{"step":0}"#)
            fixture.clock.advance(.seconds(900))
            #expect(
                try await fixture.put("/v1/devices/three/instances", #"{"sequence":1,"instances":[]}"#).status == 200)
            let text = try await metrics()
            for line in [
                #"islet_confirmations_total{app="com.acme.pizza",outcome="held"} 1"#,
                #"islet_confirmations_total{app="com.acme.pizza",outcome="contradicted"} 1"#,
                #"islet_starts_absent_total{app="com.acme.pizza",type="Order"} 1"#,
                #"islet_start_confirmation_seconds_count{app="com.acme.pizza",type="Order"} 2"#,
                #"islet_start_confirmation_seconds_sum{app="com.acme.pizza",type="Order"} 8"#,
                #"islet_budget_left_ratio_count{app="com.acme.pizza",budget="start"} 3"#, "islet_starts_open 0",
                #"islet_devices{app="com.acme.pizza"} 3"#, #"islet_devices{app="com.acme.bakery"} 0"#,
            ] {
                #expect(text.contains("\n\(line)\n"), "\(line) is not in\n\(text)")
            }
        }
    }

    @Test func `tokens that die and pushes that are tried again are counted by why`() async throws {
        try await withServer { fixture in
            try await fixture.registerPhone()
            #expect(try await fixture.put("/v1/activities/a", Self.put).status == 200)
            #expect(
                try await fixture.deliver(PushAnswer(status: 429, reason: .known(.tooManyRequests))) == [.start])
            #expect(try await fixture.put("/v1/activities/b", Self.put).status == 200)
            #expect(
                try await fixture.deliver(PushAnswer(status: 410, reason: .known(.unregistered))) == [.start])
            // The next claim finds no token for a start.
            #expect(try await fixture.deliver() == [])
            let text = try await fixture.call(.get, "/metrics", key: nil).text
            for line in [
                #"islet_retries_total{app="com.acme.pizza",reason="slow-down"} 1"#,
                #"islet_tokens_dead_total{app="com.acme.pizza",token="push-to-start",reason="token-inactive"} 1"#,
                #"islet_queue_depth{work="lanes"} 0"#,
            ] {
                #expect(text.contains("\n\(line)\n"), "\(line) is not in\n\(text)")
            }
        }
    }
}
