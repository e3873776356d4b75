import APNSModel
import CoreMetrics
import HTTPTypes
import JSONText
import LiveActivityCore
import LiveActivityStorage
import Testing

@testable import LiveActivityServer

/// Configuration, status of the server, and a timeline's record of a change.
@Suite struct SettingsCallTests {
    @Test func `types are told with contract, policy and view`() async throws {
        var view = CardView()
        view.title = try Phrase("{/shop|A shop}")
        view.progress = JSONPointer(tokens: ["progress"])
        let told = view
        try await withServer(configure: { $0.apps[0].types["Order"]?.view = told }) { fixture in
            let reply = try await fixture.call(.get, "/v1/types")
            let types = try #require(reply["/types"]?.array)
            #expect(types.compactMap { $0.object?["type"]?.string } == pizza.types.keys.sorted())
            func type(_ name: String) throws -> JSONObject {
                try #require(types.compactMap(\.object).first { $0["type"]?.string == name })
            }
            let order = try type("Order")
            #expect(order["attributesType"] == "OrderAttributes" && order["contract"] == nil)
            #expect(order["view"] == ["title": "{/shop|A shop}", "progress": "/progress"])
            let policy = try #require(order["policy"]?.object)
            #expect(policy["startGrace"] == "0s" && policy["startWindow"] == "5m" && policy["endAfter"] == "12h")
            #expect(policy["delivery"] == "token" && policy["channelAlerts"] == "broadcast")
            #expect(policy["channelStorage"] == "mostRecent")
            #expect(policy["startAlert"] == ["title": "Your order"] && policy["start"] == "ifPossible")
            #expect(policy["budgets"]?.object?["highPerHour"] == 20 && policy["budgets"]?.object?["reserve"] == 10)
            let checked = try type("Checked")
            #expect(checked["contract"]?.object?["attributesType"] == "CheckedAttributes")
            #expect(try type("Named")["activityIDAttribute"] == "/orderID")
            #expect(try type("Focus")["isProvided"] == true)
        }
    }

    @Test func `keys are told by their public halves`() async throws {
        try await withServer { fixture in
            let reply = try await fixture.call(.get, "/v1/keys")
            let keys = try #require(reply["/keys"]?.array).compactMap(\.object)
            #expect(keys.count == APIKeyRecord.Scope.allCases.count + 1)
            let revoked = try #require(keys.first { $0["id"]?.string == fixture.revoked.id })
            #expect(revoked["standing"] == "revoked")
            for key in fixture.keys.values {
                #expect(keys.contains { $0["id"]?.string == key.id })
                #expect(!reply.text.contains(key.text.suffix(43)))
            }
            #expect(!reply.text.contains(fixture.otherApp.id))
        }
    }

    @Test func `an overview holds the samples that were taken, of the caller's app`() async throws {
        try await withServer { fixture in
            #expect(try await fixture.call(.get, "/v1/overview")["/samples"] == [])
            await fixture.server.sampler.step()
            fixture.clock.advance(Figures.interval)
            await fixture.server.sampler.step()
            let reply = try await fixture.call(.get, "/v1/overview")
            let samples = try #require(reply["/samples"]?.array)
            #expect(samples.count == 2 && reply["/interval"] == 2 && reply["/routes"] == [])
            #expect(samples[1].object?["pushes"] == [:] && samples[1].object?["waiting"] == 0)
            #expect(samples[0].object?["at"] != samples[1].object?["at"])
        }
    }

    @Test func `samples count the pushes of each app by verdict and reason`() async throws {
        let registry = MetricsRegistry()
        func count(_ app: String, _ verdict: String, _ reason: String, _ times: Int64) {
            let labels = [app, "sandbox", "update", verdict, reason]
            registry.makeCounter(
                label: Metric.deliveries.name, dimensions: Array(zip(Metric.deliveries.labels, labels))
            ).increment(by: times)
        }
        count("com.acme.pizza", "accepted", "none", 5)
        count("com.acme.pizza", "token_dead", "Unregistered", 2)
        count("com.acme.pizza", "connection", "none", 1)
        count("com.acme.bakery", "accepted", "none", 100)
        for (metric, environment, seconds) in [
            (Metric.deliveryLag, "sandbox", 1), (.deliveryFailedLag, "sandbox", 20),
            (.deliveryFailedLag, "production", 40),
        ] {
            registry.makeTimer(label: metric.name, dimensions: [("environment", environment)])
                .recordNanoseconds(Int64(seconds) * 1_000_000_000)
        }
        try await withServer(configure: {
            $0.metrics = MetricsSources(registry: registry, version: "1", startedAt: UnixTime(seconds: 1))
        }) { fixture in
            await fixture.server.sampler.step()
            let reply = try await fixture.call(.get, "/v1/overview")
            #expect(reply["/samples/0/pushes"] == ["accepted": 5, "token_dead": 2, "connection": 1])
            #expect(reply["/samples/0/reasons"] == ["Unregistered": 2, "connection": 1])
            // In an outage nothing is accepted, so the failing attempts show how late the states are.
            #expect(reply["/samples/0/lag/counts"] == [0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0])
            #expect(reply["/samples/0/failedLag/counts"] == [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0])
        }
    }

    @Test func `who waits for samples gets the next, until the server stops`() async {
        let figures = Figures()
        var samples = figures.samples().makeAsyncIterator()
        figures.add(FigureSample(at: UnixTime(seconds: 1)))
        figures.add(FigureSample(at: UnixTime(seconds: 2)))
        #expect(await samples.next()?.at == UnixTime(seconds: 2))
        figures.end()
        #expect(await samples.next() == nil)
        var late = figures.samples().makeAsyncIterator()
        #expect(await late.next() == nil)
        for second in 0..<(Figures.kept + 10) { figures.add(FigureSample(at: UnixTime(seconds: Int64(second)))) }
        #expect(figures.all.count == Figures.kept && figures.all.first?.at == UnixTime(seconds: 10))
    }

    @Test func `a timeline keeps what each change set, and makes payloads anew of it`() async throws {
        try await withServer { fixture in
            try await fixture.registerPhone()
            let first =
                #"{"type":"Order","state":{"step":1},"attributes":{"shop":"Roma"},"audience":{"users":["ada"]}}"#
            #expect(try await fixture.put("/v1/activities/a", first).status == 200)
            #expect(try await fixture.deliver() == [.start])
            let card = #"{"type":"Order","activity":"a","state":"active","token":"\#(token("card"))"}"#
            #expect(try await fixture.put("/v1/devices/phone-1/instances/card", card).status == 200)
            fixture.clock.advance(.seconds(5))
            let second = #"{"type":"Order","state":{"step":2},"alert":{"title":"Two","body":"of three"}}"#
            #expect(try await fixture.put("/v1/activities/a", second).status == 200)
            #expect(try await fixture.deliver() == [.update])
            fixture.clock.advance(.seconds(5))
            #expect(try await fixture.call(.post, "/v1/activities/a/end", #"{"state":{"step":3}}"#).status == 200)
            #expect(try await fixture.deliver() == [.end])

            let plain = try await fixture.call(.get, "/v1/activities/a/timeline")
            #expect(!plain.text.contains("payload"))
            let reply = try await fixture.call(.get, "/v1/activities/a/timeline?payloads=true")
            let entries = try #require(reply["/entries"]?.array).compactMap(\.object)
            #expect(entries.compactMap { $0["state"] } == [["step": 1], ["step": 2], ["step": 3]])
            let pushes = entries.filter { $0["payload"] != nil }
            #expect(pushes.compactMap { $0["kind"] } == ["start", "update", "end"])
            let bodies = pushes.compactMap { $0["payload"]?.object?["aps"]?.object }
            #expect(bodies.compactMap { $0["content-state"] } == [["step": 1], ["step": 2], ["step": 3]])
            #expect(bodies[0]["attributes"]?.object?["shop"] == "Roma")
            #expect(bodies[1]["alert"] == ["title": "Two", "body": "of three"])
            for (push, body) in zip(pushes, bodies) {
                #expect(body["timestamp"] == push["timestamp"])
                #expect(push["bytes"]?.int == push["payload"]?.bytes.count)
            }
            #expect(!reply.text.contains(token("card")))
            // A page without the change itself still has its data.
            let next = try #require(try await fixture.call(.get, "/v1/activities/a/timeline?limit=1")["/next"]?.string)
            let page = try await fixture.call(.get, "/v1/activities/a/timeline?payloads=true&limit=1&after=\(next)")
            #expect(page["/entries/0/payload/aps/event"] == "start")
        }
    }
}
