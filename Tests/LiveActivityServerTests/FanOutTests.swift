import APNSModel
import HTTPTypes
import JSONText
import LiveActivityCore
import Testing

@testable import LiveActivityServer

/// One activity with many people and phones: the answers, and who sees what while people join and leave.
struct FanOutTests {
    private func users(_ range: Range<Int>) -> String { range.map { "\"u\($0)\"" }.joined(separator: ",") }

    private func whole(_ value: JSONValue) -> Int? { Int(value.text) }

    private func put(_ step: Int, _ more: String = "") -> String {
        #"{"type":"Order","state":{"step":\#(step)}\#(more)}"#
    }

    /// Registers twelve phones: four have no token, two have an iOS before 17.2, and one is disabled.
    private func register(_ fixture: Fixture) async throws {
        for number in 0..<12 {
            let system = number < 2 ? "17.1" : "18.1"
            let enabled = number == 2 ? #","activitiesEnabled":false"# : ""
            _ = try await fixture.put(
                "/v1/devices/d\(number)", #"{"user":"u\#(number)","osVersion":"\#(system)"\#(enabled)}"#)
            guard number < 8 else { continue }
            _ = try await fixture.put(
                "/v1/devices/d\(number)/push-to-start-tokens/Order", #"{"token":"\#(token("p\(number)"))"}"#)
        }
    }

    @Test func `W10: an answer says how many are started, and why the others are not, in numbers and words`()
        async throws
    {
        try await withServer { fixture in
            try await register(fixture)
            let reply = try await fixture.put(
                "/v1/activities/raid", put(1, #","audience":{"users":[\#(users(0..<12))]}"#))
            #expect(reply["/phones"] == ["start": 5, "update": 0, "pending": 6, "none": 1])
            #expect(
                reply["/reasons"] == [
                    ["reason": "no-push-to-start-token", "count": 4], ["reason": "below-ios-17.2", "count": 2],
                    ["reason": "activities-disabled", "count": 1],
                ])
            #expect(reply["/summary"] == "will start 5 of 12; 4 without token, 2 below iOS 17.2, 1 disabled")
            #expect(reply["/estimated"] == nil)
        }
    }

    @Test func `W10: of more phones than are looked at the kinds are exact, and the reasons an estimate that adds up`()
        async throws
    {
        var limits = LiveActivityServer.Limits()
        limits.countedPhones = 10
        limits.sampledPhones = 6
        try await withServer(limits: limits) { fixture in
            try await register(fixture)
            let reply = try await fixture.put(
                "/v1/activities/raid", put(1, #","audience":{"users":[\#(users(0..<12))]}"#))
            let phones = ["start", "update", "pending", "none"].compactMap { reply["/phones/\($0)"].flatMap(whole) }
            #expect(phones.count == 4 && phones.reduce(0, +) == 12)
            #expect(phones[0] > 0 && phones[1] == 0)
            let reasons = reply["/reasons"]?.array?.compactMap { $0.object?["count"].flatMap(whole) } ?? []
            #expect(reasons.reduce(0, +) == phones[2] + phones[3])
            #expect(reply["/estimated"] == true)
            #expect(reply["/summary"]?.string?.hasPrefix("will start about ") == true)
            // A dry run looks at each of them.
            let dry = try await fixture.put("/v1/activities/raid?dryRun=true&limit=5", put(2))
            #expect(dry["/phones"] == ["start": 5, "update": 0, "pending": 6, "none": 1])
            #expect(dry["/estimated"] == nil)
            #expect(dry["/devices"]?.array?.count == 5 && dry["/next"] != nil)
            #expect(try await fixture.call(.get, "/v1/activities/raid")["/more"] == 2)
        }
    }

    @Test func `W10: people join and leave while it runs, and each change reaches those who belong to it`() async throws
    {
        try await withServer { fixture in
            for number in 0..<4 {
                try await fixture.registerPhone("d\(number)", user: "u\(number)")
            }
            _ = try await fixture.put(
                "/v1/activities/raid", put(1, #","audience":{"users":["u0","u1"]}"#))
            #expect(try await fixture.deliver() == [.start, .start])
            func report(_ number: Int) async throws {
                let body = #"{"type":"Order","activity":"raid","state":"active","token":"\#(token("card\(number)"))"}"#
                #expect(try await fixture.put("/v1/devices/d\(number)/instances/card\(number)", body).status == 200)
            }
            for number in 0..<2 { try await report(number) }
            fixture.clock.advance(.seconds(5))
            #expect(try await fixture.deliver() == [.update, .update])
            fixture.clock.advance(.seconds(1))
            // One joins: a start for them, and nothing for the others.
            let joined = try await fixture.call(.post, "/v1/activities/raid/audience", #"{"add":["u2"]}"#)
            #expect(joined["/summary"] == "will start 1 of 3; 2 up to date")
            #expect(try await fixture.deliver() == [.start])
            try await report(2)
            fixture.clock.advance(.seconds(5))
            _ = try await fixture.deliver()
            fixture.clock.advance(.seconds(1))
            // One leaves: their card is ended, and the others' continue.
            let left = try await fixture.call(.post, "/v1/activities/raid/audience", #"{"remove":["u0"]}"#)
            #expect(left["/phones/update"] == 1)
            fixture.clock.advance(.seconds(5))
            #expect(try await fixture.deliver() == [.end])
            _ = try await fixture.put("/v1/activities/raid", put(2))
            fixture.clock.advance(.seconds(5))
            #expect(try await fixture.deliver() == [.update, .update])
            // Back again, with the newest state.
            fixture.clock.advance(.seconds(70))
            _ = try await fixture.put("/v1/devices/d0/instances/card0", #"{"type":"Order","state":"ended"}"#)
            _ = try await fixture.call(.post, "/v1/activities/raid/audience", #"{"add":["u0","u3"]}"#)
            #expect(try await fixture.deliver() == [.start, .start])
        }
    }

    @Test func `how far a change has come is told while it goes around, and not when it is done`() async throws {
        try await withServer { fixture in
            for number in 0..<3 { try await fixture.registerPhone("d\(number)", user: "u\(number)") }
            _ = try await fixture.put("/v1/activities/raid", put(1, #","audience":{"users":["u0","u1","u2"]}"#))
            let begun = try await fixture.call(.get, "/v1/activities/raid")
            #expect(begun["/fanOut"] == ["done": 0, "phones": 3])
            #expect(try await fixture.deliver().count == 3)
            #expect(try await fixture.call(.get, "/v1/activities/raid")["/fanOut"] == nil)
        }
    }
}
