import ActivityKitStandIn
import Dispatch
import Foundation
import JSONText
import LiveActivityAPI
import LiveActivityRegistration
import Testing

@testable import LiveActivityClient

/// One task owns the machine: nobody waits for it on the main actor, and early calls wait for it.
@Suite(.timeLimit(.minutes(1)))
struct KeepingTests {
    private static func app(_ phone: HandPhone, _ clock: HandClock? = nil) -> App {
        App().with { app in
            app.device = phone
            app.clock = clock
        }
    }

    @Test func `an app that iOS gives no more time asks for it again with the next thing that happens`() async throws {
        let phone = HandPhone()
        let app = Self.app(phone)
        app.server.setAway(true)
        try await app.launch { client in
            try await app.heard.wait { $0.contains { $0.code == .serverUnreachable } }
            #expect(phone.wakefulness.all == ["stays awake"])
            phone.expire()
            #expect(phone.wakefulness.all == ["stays awake"], "not while iOS is suspending it")
            phone.change { $0.timeZone = "Pacific/Apia" }
            try await phone.wakefulness.wait { $0 == ["stays awake", "stays awake"] }
            app.server.setAway(false)
            phone.say(.networkBack)
            try await phone.wakefulness.wait { $0.last == "may be suspended" }
        }
        #expect(phone.wakefulness.all.count == 3, "the time that had run out is not given back")
    }

    @Test func `a call on a card waits for the memory, and is heard in its turn`() async throws {
        let clock = HandClock()
        let app = Self.app(HandPhone(), clock)
        try await app.launch { client in
            let card = app.phone.pushStart(RideAttributes(rideID: "r1"), .init(step: 1))
            try await app.server.wait(toHearOf: card.id)
        }
        app.memory.setLocked(true)
        try await app.launch { client in
            let ride = try #require(Activity<RideAttributes>.activities.first)
            let unlocking = Task {
                try await clock.deadlines.wait { $0.contains(clock.steady + 2_000) }
                app.memory.setLocked(false)
                clock.advance(2_000)
            }
            #expect(try await client.update(ride, to: .init(step: 2)))
            #expect(try await client.end(ride, with: .init(step: 3)))
            try await unlocking.value
        }
    }

    @Test func `whoever waits for an answer when the client ends is told that there is none`() async throws {
        let app = App()
        app.memory.setLocked(true)
        let client = try await app.launch { client in client }
        let refusal = await #expect(throws: ActivityError.self) {
            try await client.start(RideAttributes(rideID: "r1"), state: .init(step: 1))
        }
        guard case .cancelled = refusal else {
            Issue.record("it said \(String(describing: refusal))")
            return
        }
    }

    @Test func `a start whose task is cancelled returns, and the card is made all the same`() async throws {
        let clock = HandClock()
        let app = Self.app(HandPhone(), clock)
        app.memory.setLocked(true)
        try await app.launch { client in
            let start = Task { try await client.start(RideAttributes(rideID: "r1"), state: .init(step: 1)) == nil }
            try await clock.deadlines.wait { $0 == [2_000] }
            start.cancel()
            await #expect(throws: ActivityError.self) { try await start.value }
            app.memory.setLocked(false)
            clock.advance(2_000)
            try await app.phone.wait(for: RideAttributes.self) { $0.count == 1 }
        }
    }

    @MainActor
    @Test func `files, the Keychain and ActivityKit are not read on the main actor`() async throws {
        let places = Log<Bool>()
        // The main actor's queue need not run on the main thread.
        let mark = DispatchSpecificKey<Bool>()
        DispatchQueue.main.setSpecific(key: mark, value: true)
        let isOnMain: @Sendable () -> Bool = { DispatchQueue.getSpecific(key: mark) == true }
        await Task.yield()
        #expect(isOnMain())
        let phone = HandPhone()
        let app = Self.app(phone)
        let port = HandPort()
        port.whenListed { places.add(isOnMain()) }
        app.memory.whenUsed { places.add(isOnMain()) }
        app.identity.whenUsed { places.add(isOnMain()) }
        let client = IsletClient(
            ClientEngine.Parts(
                transport: app.server, memory: app.memory, identity: app.identity, clock: SystemClientClock(),
                phone: phone, credentials: { _ in "secret" }))
        client.engine.add(port)
        let running = Task { await client.run() }
        client.signIn(user: "ann")
        await client.handleBackgroundPush()
        running.cancel()
        await running.value
        #expect(places.all.count > 3 && !places.all.contains(true))
    }
}
