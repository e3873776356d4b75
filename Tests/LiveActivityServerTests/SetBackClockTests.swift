import APNSModel
import LiveActivityCore
import LiveActivityStorage
import StorageSQL
import StorageSQLite
import Testing

/// A clock that was hours ahead while APNs had trouble, and is right again.
struct SetBackClockTests {
    /// Trouble of the whole lane, and of one phone.
    @Test(arguments: [
        PushAnswer(status: 503, reason: .known(.serviceUnavailable)),
        PushAnswer(status: 429, reason: .known(.tooManyRequests)),
    ])
    func `what it put off does not wait for hours`(answer: PushAnswer) async throws {
        try await withServer { fixture in
            try await fixture.registerPhone()
            let order = #"{"type":"Order","state":{"n":1},"audience":{"users":["ada"]},"alert":{"title":"Ready"}}"#
            #expect(try await fixture.put("/v1/activities/a", order).status == 200)
            #expect(try await fixture.deliver() == [.start])
            let card = #"{"type":"Order","activity":"a","state":"active","token":"\#(token("card"))"}"#
            #expect(try await fixture.put("/v1/devices/phone-1/instances/c1", card).status == 200)
            fixture.clock.advance(.seconds(13 * 3600))
            #expect(try await fixture.put("/v1/activities/a", #"{"type":"Order","state":{"n":2}}"#).status == 200)
            #expect(try await fixture.deliver(answer) == [.update])
            fixture.clock.advance(.seconds(-13 * 3600))
            #expect(try await fixture.deliver() == [])
            while try await fixture.store.prune(PruneLimits(), at: fixture.clock.now) {}
            var sent: [PushKind] = []
            for _ in 0..<5 {
                fixture.clock.advance(.seconds(1))
                sent += try await fixture.deliver()
            }
            #expect(sent == [.update])
            // Happens once: the next round finds nothing new.
            fixture.clock.advance(.seconds(5))
            while try await fixture.store.prune(PruneLimits(), at: fixture.clock.now) {}
            #expect(try await fixture.deliver() == [])
        }
    }
}
