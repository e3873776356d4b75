import APNSModel
import HTTPTypes
import JSONText
import LiveActivityCore
import LiveActivityServer
import LiveActivityStorage
import Testing

struct DiagnosisCallTests {
    @Test func `B12: a diagnosis says finding by finding what stands in the way of one phone`() async throws {
        try await withServer { fixture in
            _ = try await fixture.put("/v1/devices/phone-1", #"{"user":"ada","osVersion":"17.0"}"#)
            _ = try await fixture.put(
                "/v1/activities/a%2F1", #"{"type":"Order","state":{"x":1},"audience":{"users":["ada"]}}"#)
            let key = fixture.keys[.read]?.text
            let reply = try await fixture.call(.get, "/v1/devices/phone-1/diagnosis?activity=a%2F1", key: key)
            #expect(reply.status == 200 && reply["/device"] == "phone-1" && reply["/user"] == "ada")
            #expect(reply["/verdict"] == "blocked")
            let findings = reply["/findings"]?.array?.compactMap(\.object) ?? []
            let ids = findings.compactMap { $0["id"]?.string }
            for id in ["below-ios-17.2", "system-below-17.2", "start-token-missing", "nothing-sent"] {
                #expect(ids.contains(id), "\(id): \(ids)")
            }
            let about = findings.filter { $0["activity"] == "a/1" }
            #expect(!about.isEmpty && about.count < findings.count)
            let whole = try await fixture.call(.get, "/v1/devices/phone-1/diagnosis", key: key)
            #expect(whole["/findings"] == reply["/findings"], "it is the device's only activity")
        }
    }

    @Test func `the last push and what APNs answered are in it`() async throws {
        try await withServer { fixture in
            try await fixture.registerPhone()
            _ = try await fixture.put(
                "/v1/activities/a", #"{"type":"Order","state":{"x":1},"audience":{"users":["ada"]}}"#)
            _ = try await fixture.deliver(PushAnswer(status: 200))
            let reply = try await fixture.call(.get, "/v1/devices/phone-1/diagnosis?activity=a")
            let last = reply["/findings"]?.array?.compactMap(\.object).first { $0["id"] == "last-push" }
            #expect(last?["evidence"]?.object?["status"] == 200)
            #expect(last?["evidence"]?.object?["kind"] == "start")
            #expect(last?["evidence"]?.object?["apnsID"]?.string?.count == 36)
            #expect(!reply.text.contains(token("phone-1Order")))
        }
    }

    @Test func `an unknown device and an unknown activity are findings, another app's are unknown`() async throws {
        try await withServer { fixture in
            try await fixture.registerPhone()
            let nobody = try await fixture.call(.get, "/v1/devices/nobody/diagnosis")
            #expect(nobody.status == 200 && nobody["/findings/0/id"] == "device-unknown" && nobody["/user"] == nil)
            let nothing = try await fixture.call(.get, "/v1/devices/phone-1/diagnosis?activity=nothing")
            #expect(nothing["/findings/0/id"] == "activity-unknown")
            let others = try await fixture.call(
                .get, "/v1/devices/phone-1/diagnosis", key: fixture.otherApp.text)
            #expect(others["/findings/0/id"] == "device-unknown")
            #expect(try await fixture.call(.get, "/v1/devices/d/diagnosis?activty=a").code == "invalid_query")
            #expect(try await fixture.call(.get, "/v1/devices/d/diagnosis?activity=").code == "invalid_query")
        }
    }

    private static let halted: [PushRoute: CircuitBoard.Status] = {
        var circuits = CircuitBoard()
        let now = TestClock().now
        var tally = RouteTally()
        for phone in 0..<20 {
            let answer = PushAnswer(status: 403, reason: APNSReason("InvalidProviderToken"))
            tally.add(.success(answer), of: DeviceKey(phone), to: .sandbox)
        }
        let route = PushRoute(pizza.bundleID, .sandbox)
        for _ in 0..<3 { _ = circuits.record(route, tally, under: circuits.gate(at: now), at: now, dice: 0.5) }
        return circuits.status(at: now)
    }()

    @Test func `a halted key is named by readiness and diagnosis, and leaves the server ready`() async throws {
        let routes = Self.halted
        #expect(routes.count == 1)
        try await withServer(delivery: DeliverySources(routes: { routes })) { fixture in
            let ready = try await fixture.call(.get, "/readyz", key: nil)
            #expect(ready.status == 200 && ready["/status"] == "ready")
            #expect(ready["/routes/0/app"] == "com.acme.pizza" && ready["/routes/0/environment"] == "sandbox")
            #expect(ready["/routes/0/state"] == "halted" && ready["/routes/0/code"] == "halted")
            #expect(ready["/damagedRows"] == nil)
            try await fixture.registerPhone()
            let reply = try await fixture.call(.get, "/v1/devices/phone-1/diagnosis")
            #expect(reply["/findings/0/id"] == "route-halted")
        }
    }

    @Test func `a batch refuses an idempotency key of its own, since each line has one`() async throws {
        try await withServer { fixture in
            let name = try #require(HTTPField.Name("Idempotency-Key"))
            let reply = try await fixture.call(
                .post, "/v1/batch", #"{"method":"PUT","path":"/v1/devices/d","body":{"user":"ada"}}"#,
                key: fixture.keys[.backend]?.text, headers: [name: "once"])
            #expect(reply.status == 400 && reply.code == "invalid_header")
            let rows = try fixture.contents()
            #expect(!rows.contains("ada"))
        }
    }

    @Test(arguments: [
        #"{"type":"Order","state":{},"staleAt":1800000010}"#, #"{"type":"Order","state":{},"staleAfter":"10s"}"#,
        #"{"type":"Order","state":{},"alert":{"title":"a","sound":"ding.caf"}}"#,
        #"{"type":"Order","state":{},"alert":{"title":{"locKey":"T"}}}"#,
    ]) func `what iOS takes is taken, to the second`(_ body: String) async throws {
        try await withServer { fixture in
            let reply = try await fixture.put("/v1/activities/a", body)
            #expect(reply.status == 200)
        }
    }

    @Test(arguments: [
        #"{"dismissAt":1800014400}"#, #"{"dismissAt":1800000001}"#, #"{"dismissAfter":"4h"}"#, #"{"dismissNow":true}"#,
    ]) func `a dismissal within four hours is taken`(_ body: String) async throws {
        try await withServer { fixture in
            _ = try await fixture.put("/v1/activities/a", #"{"type":"Order","state":{}}"#)
            #expect(try await fixture.call(.post, "/v1/activities/a/end", body).status == 200)
        }
    }
}
