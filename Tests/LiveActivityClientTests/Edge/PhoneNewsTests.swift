import ActivityKitStandIn
import Foundation
import JSONText
import LiveActivityAPI
import LiveActivityRegistration
import Testing

@testable import LiveActivityClient

/// Changes of the phone besides its cards, and when the client learns of them.
@Suite(.timeLimit(.minutes(1)))
struct PhoneNewsTests {
    private static func app(_ device: HandPhone, _ clock: HandClock = HandClock()) -> App {
        App().with { ($0.device, $0.clock) = (device, clock) }
    }

    private static let midnight = Date(timeIntervalSince1970: 1_893_456_000.7)

    @Test func `a network that is back ends the pause after a failure`() async throws {
        let phone = HandPhone()
        let app = Self.app(phone)
        app.server.setAway(true)
        try await app.launch { _ in
            try await app.heard.wait { $0.contains { $0.code == .serverUnreachable } }
            app.server.setAway(false)
            // The clock does not move, so nothing else would end the wait.
            phone.say(.networkBack)
            try await app.server.wait { $0.contains { $0.path.hasSuffix("/instances") } }
        }
    }

    @Test func `what changed of the phone is told`() async throws {
        let phone = HandPhone()
        let app = Self.app(phone)
        try await app.launch { _ in
            try await app.server.wait { !$0.isEmpty }
            phone.change { $0.timeZone = "Pacific/Apia" }
            try await app.server.wait { $0.contains { $0.body["timeZone"] == "Pacific/Apia" } }
        }
    }

    @Test func `a card is dated by the server's seconds, not by the phone's, whoever sets the phone's clock`()
        async throws
    {
        let phone = HandPhone()
        // Six years behind the server's clock.
        let clock = HandClock(wall: 1_700_000_000_000)
        let app = Self.app(phone, clock)
        app.server.setDate(Self.midnight)
        try await app.launch { client in
            let card = app.phone.pushStart(RideAttributes(rideID: "r1"), .init(step: 1))
            try await app.server.wait(toHearOf: card.id)
            app.server.want(wish("r1", step: 5, revision: 5))
            await client.handleBackgroundPush()
            let second = Date(timeIntervalSince1970: 1_893_456_000)
            #expect(card.content.state.step == 5 && card.timestamp == second)
            try await client.update(card, to: .init(step: 6))
            try await app.server.wait { $0.contains { $0.body["contentState"]?.object?["step"] == 6 } }
            #expect(card.timestamp == second + 1, "newer than what the server had before")

            app.server.setAway(true)
            clock.set(ahead: 7_200_000)
            phone.change { $0.timeZone = "Pacific/Apia" }
            try await app.heard.wait { $0.contains { $0.code == .serverUnreachable } }
            try await client.update(card, to: .init(step: 7))
            try await app.phone.wait(for: RideAttributes.self) { $0.first?.content.state.step == 7 }
            #expect(card.timestamp == second + 2, "the next second, and not two hours later")
        }
    }

    @Test func `coming to the screen the app looks at everything, and makes what the server would have there`()
        async throws
    {
        let phone = HandPhone()
        let app = Self.app(phone)
        try await app.launch { client in
            try await app.server.wait { $0.contains { $0.path.hasSuffix("/instances") } }
            app.phone.setStartToken(App.token(2), for: RideAttributes.self, announces: false)
            phone.say(.foreground(true))
            try await app.server.wait { $0.contains { $0.body["token"]?.string == App.hex(2) } }

            phone.say(.foreground(false))
            phone.change { $0.timeZone = "Pacific/Apia" }
            try await app.server.wait { $0.contains { $0.body["timeZone"] == "Pacific/Apia" } }
            app.server.want(wish("r9", step: 2, revision: 1, starts: true))
            await client.handleBackgroundPush()
            #expect(app.phone.isEmpty(of: RideAttributes.self), "iOS starts no card of an app that is not seen")
            phone.say(.foreground(true))
            try await app.phone.wait(for: RideAttributes.self) { $0.first?.attributes.rideID == "r9" }
        }
    }

    @Test func `a background push is over after 20 seconds though the server says nothing`() async throws {
        let clock = HandClock()
        let app = Self.app(HandPhone(), clock).with { $0.transport = Silence() }
        try await app.launch { client in
            let returned = Log<Bool>()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    await client.handleBackgroundPush()
                    returned.add(true)
                }
                try await clock.deadlines.wait { $0.contains(20_000) }
                #expect(returned.all.isEmpty)
                clock.advance(20_000)
                try await returned.wait { !$0.isEmpty }
            }
        }
    }

    @Test func `what iOS does not come back from holds up no word to the server`() async throws {
        let (port, clock) = (HandPort(hangs: true), HandClock())
        let app = Self.app(HandPhone(), clock).with { $0.track = { $0.engine.add(port) } }
        try await app.launch { client in
            try await app.server.wait { $0.contains { $0.path.hasSuffix("/instances") } }
            for id in ["a", "b"] {
                var card = SeenCard(localID: id, type: "ride")
                card.activity = id
                port.appear(card)
                try await app.server.wait(toHearOf: id)
            }
            client.signOut()
            try await port.ended.wait { $0.count == 1 }
            try await clock.deadlines.wait { $0.contains(5_000) }
            clock.advance(5_000)
            try await port.ended.wait { $0.count == 2 }
            clock.advance(5_000)
            try await app.server.wait { $0.last?.method == "DELETE" }
        }
    }

    @Test func `a person swipes a card away, whoever set the clock ahead before`() async throws {
        let (clock, phone) = (HandClock(), HandPhone())
        let app = Self.app(phone, clock)
        app.server.setAway(true)
        try await app.launch { client in
            let card = app.phone.pushStart(RideAttributes(rideID: "r1"), .init(step: 1))
            try await app.heard.wait { $0.contains { $0.code == .activitySeen } }
            clock.set(ahead: 86_400_000)
            card.swipe()
            try await app.heard.wait { $0.contains { $0.code == .activityDismissed || $0.code == .activityGone } }
        }
        #expect(app.heard.all.allSatisfy { $0.code != .activityGone })
    }

    @Test func `off the screen iOS is asked for time once, for as long as something is left to say`() async throws {
        let phone = HandPhone()
        let app = Self.app(phone)
        try await app.launch { client in
            // A launch in the background, for a token.
            await client.settle()
            #expect(phone.wakefulness.all == ["stays awake", "may be suspended"])
            phone.say(.foreground(true))
            phone.change { $0.timeZone = "Pacific/Apia" }
            try await app.server.wait { $0.contains { $0.body["timeZone"] == "Pacific/Apia" } }
            await client.settle()
            #expect(phone.wakefulness.all.count == 2, "on the screen nothing is suspended")
            app.server.setAway(true)
            phone.change { $0.timeZone = "Europe/Rome" }
            try await app.heard.wait { $0.contains { $0.code == .serverUnreachable } }
            phone.say(.foreground(false))
            try await phone.wakefulness.wait { $0.count == 3 }
            client.signOut()
            app.server.setAway(false)
            phone.say(.networkBack)
            try await phone.wakefulness.wait { $0.last == "may be suspended" }
        }
        #expect(phone.wakefulness.all.count == 4 && app.server.said.last?.method == "DELETE")
    }

    @Test func `a card that appears while the others are being listed is not taken for gone`() async throws {
        let (port, phone) = (HandPort(), HandPhone())
        let app = Self.app(phone).with { $0.track = { $0.engine.add(port) } }
        try await app.launch { client in
            try await app.server.wait { $0.contains { $0.path.hasSuffix("/instances") } }
            var card = SeenCard(localID: "card-b", type: "ride")
            card.activity = "r1"
            let seen = card
            port.whenListed {
                // Either the card waits for the listing, or the client hears of it in the middle and the list is
                // outdated.
                let heard = DispatchSemaphore(value: 0)
                Thread {
                    port.appear(seen)
                    heard.signal()
                }.start()
                _ = heard.wait(timeout: .now() + .milliseconds(100))
            }
            client.setForeground(true)
            try await app.server.wait { $0.contains { "\($0.body) \($0.path)".contains("card-b") } }
            await client.handleBackgroundPush()
        }
        #expect(app.server.said.allSatisfy { $0.body["state"] != "gone" })
        #expect(app.heard.all.allSatisfy { $0.code != .activityGone } && port.ended.all.isEmpty)
    }

    @Test func `what was said before the memory could be read comes before what is said after`() async throws {
        let clock = HandClock()
        let app = Self.app(HandPhone(), clock)
        app.memory.setLocked(true)
        let order = Log<Int>()
        try await app.launch(user: nil) { client in
            for number in 0..<200 {
                client.engine.say { _, _ in
                    order.add(number)
                    guard number == 0 else { return }
                    for late in 200..<216 { client.engine.say { _, _ in order.add(late) } }
                }
            }
            app.memory.setLocked(false)
            clock.advance(2_000)
            try await order.wait { $0.count == 216 }
        }
        #expect(order.all.prefix(200) == Array(0..<200)[...] && order.all.count == 216)
    }

    @Test func `a card that the app orders before the memory could be read is made when it is`() async throws {
        let clock = HandClock()
        let app = Self.app(HandPhone(), clock)
        app.memory.setLocked(true)
        try await app.launch { client in
            async let started = client.start(RideAttributes(rideID: "r1"), state: .init(step: 1))?.attributes.rideID
            app.memory.setLocked(false)
            clock.advance(2_000)
            let ride = try await started
            #expect(ride == "r1")
        }
    }

    @Test func `a second run is none`() async throws {
        let app = App()
        try await app.launch { client in
            await client.run()
            try await app.server.wait { !$0.isEmpty }
        }
    }
}

/// Returns a desired state in the server's answer.
func wish(
    _ ride: String, step: Int, revision: Int, phase: String = "active", starts: Bool = false, _ more: JSONObject = [:]
) -> JSONObject {
    var wish: JSONObject = [
        "activity": .string(ride), "type": "ride", "state": ["step": .number(JSONNumber(step))],
        "revision": .number(JSONNumber(revision)), "phase": .string(phase),
    ]
    if starts { wish["attributes"] = ["rideID": .string(ride)] }
    for (name, value) in more { wish[name] = value }
    return wish
}

/// A server that never answers.
private struct Silence: ClientTransport {
    func send(_ request: ClientRequest) async throws -> ClientResponse {
        for await _ in AsyncStream<Void>.makeStream().stream {}
        throw CancellationError()
    }
}
