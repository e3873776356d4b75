import APNSModel
import APNSSimulator
import BackendCalls
import Foundation
import JSONText
import LiveActivityAPI
import LiveActivityCore
import Pager
import Synchronization
import TestSupport
import Testing

@testable import islet

/// The system P, end to end: messages that appear as Live Activities.
@Suite struct PagerTests {
    private static let now = Date(timeIntervalSince1970: 1_795_271_520)

    private static func message(_ id: String = "1", _ text: String = "Ring me back") -> Message {
        Message(id: id, from: "Dr. Who", text, at: now)
    }

    private func run(_ body: @escaping @Sendable (Stack, Pager) async throws -> Void) async throws {
        try await Stack.run(try Stack.Options(PagerPlay.app)) { stack in
            try await body(stack, Pager(islet: stack.address, key: stack.key))
        }
    }

    private static func notified(
        _ stack: Stack, _ phone: PhoneID, _ titles: [String]
    ) async throws -> LockScreen {
        try await stack.simulator.wait(for: phone, timeout: .seconds(90)) {
            $0.notifications.map(\.title) == titles
        }
    }

    // MARK: - P1

    @Test func `P1: what goes to which token is a matter of types`() throws {
        // All functions that make a push. No other pair of payload and token compiles.
        let alert: (AlertPayload, DeviceToken, PushRequest.Envelope) -> PushRequest = PushRequest.alert
        let background: (BackgroundPayload, DeviceToken, PushRequest.Envelope) -> PushRequest = PushRequest.background
        let start: (StartPayload, PushToStartToken, PushRequest.Envelope) -> PushRequest = PushRequest.start
        let envelope = PushRequest.Envelope(
            bundleID: Stack.bundleID, environment: .sandbox, priority: .high, expiration: .once,
            id: PushID(high: 1, low: 2))
        let hex = String(repeating: "ab", count: 32)
        let shown = alert(
            try AlertPayload(PushAlert(title: .text("t"))), try DeviceToken(hex: hex), envelope)
        #expect(shown.topic.text == Stack.bundleID.text && shown.topic.pushType == .alert)
        #expect(shown.priority == .high)
        let silent = background(BackgroundPayload(), try DeviceToken(hex: hex), envelope)
        #expect(silent.topic.pushType == .background && silent.priority == .low)
        let card = start(
            try StartPayload(
                timestamp: UnixTime(seconds: 1), attributesType: "T", attributes: .empty, contentState: .empty,
                alert: PushAlert(title: .text("t"))), try PushToStartToken(hex: hex), envelope)
        #expect(card.topic.text == Stack.bundleID.text + ".push-type.liveactivity")
        #expect(card.topic.pushType == .liveactivity && card.priority == .high)
    }

    @Test func `P1: cards, notifications and background pushes go out with their own topic, type and priority`()
        async throws
    {
        try await run { stack, pager in
            let phone = try await stack.phone("ada") { $0.appState = .killed }
            #expect(try await pager.send(Self.message(), to: "ada").status == 200)
            try await stack.simulator.wait(for: phone, timeout: .seconds(90)) { $0.cards.count == 1 }
            let note = try await pager.note("The canteen is closed", from: "Kitchen", to: "ada", id: "n1")
            #expect(note.body == ["devices": 1, "others": 0, "reasons": []])
            _ = try await Self.notified(stack, phone, ["Kitchen"])
            try stack.simulator.perform(.kill, on: phone)
            try await stack.islet.call(
                .POST, "/v1/users/ada/notifications", ["background": true, "id": "wake", "data": ["why": "sync"]])
            try await stack.simulator.wait(for: phone, timeout: .seconds(90)) { $0.appState == .background }
            let seen = stack.simulator.received.map { [$0.pushType, $0.topic, $0.priority, $0.event] }
            let bundle = PagerPlay.app.bundleID
            #expect(
                seen == [
                    ["liveactivity", bundle + ".push-type.liveactivity", "10", "start"],
                    ["alert", bundle, "10", nil], ["background", bundle, "5", nil],
                ])
            #expect(stack.simulator.received.allSatisfy { $0.status == 200 })
        }
    }

    // MARK: - P2, P3

    @Test func `P2 and P3: a start has everything inside aps, and its state is cut and dated as the app decodes it`()
        async throws
    {
        try await run { stack, pager in
            let phone = try await stack.phone("ada")
            let family = "👩‍👩‍👧‍👦"
            let message = Message(
                id: "1", from: String(repeating: family, count: 25), String(repeating: "é", count: 99) + family + "!",
                at: Self.now)
            #expect(try await pager.send(message, to: "ada").status == 200)
            let screen = try await stack.simulator.wait(for: phone, timeout: .seconds(90)) { $0.cards.count == 1 }
            let card = try #require(screen.cards.first)
            // The phone decodes as ActivityKit would, because the simulator uses the app's own type.
            let state = try JSONValue.object(card.contentState).decode(PagerMessageAttributes.ContentState.self)
            #expect(state.sender == String(repeating: family, count: 20))
            #expect(state.message == String(repeating: "é", count: 99) + family)
            #expect(!state.isDemo && state.messageIndex == 1 && state.totalMessages == 1)
            #expect(state.timestamp == Self.now)
            #expect(card.contentState["timestamp"]?.double == Self.now.timeIntervalSinceReferenceDate)
            #expect(card.attributesType == "PagerMessageAttributes" && card.attributes["messageID"] == "message-1")
            // The sound is inside the alert, or the phone would not have found it.
            #expect(card.alert?.title == state.sender && card.alert?.sound == "default")
        }
    }

    @Test(arguments: 1...100)
    func `P3: a text is cut at its characters, or at its bytes where characters are large, and never inside one`(
        seed: UInt64
    ) {
        var dice = SeededDice(seed: seed)
        // Characters of one byte, two, four, a family of 25 bytes, and one with forty accents.
        let alphabet: [Character] = ["a", "é", "🐼", "👩‍👩‍👧‍👦", Character("e" + String(repeating: "\u{301}", count: 40))]
        let isPlain = dice.next() % 2 == 0
        let length = Int(dice.next() % 250)
        let text = String((0..<length).map { _ in alphabet[Int(dice.next() % (isPlain ? 3 : 5))] })
        let message = Message(id: "1", from: text, text, at: Self.now)
        for (cut, characters, bytes) in [(message.sender, 20, 512), (message.text, 100, 2048)] {
            #expect(text.hasPrefix(cut) && Array(cut) == Array(text.prefix(cut.count)), "seed \(seed)")
            #expect(cut.count <= characters && cut.utf8.count <= bytes, "seed \(seed)")
            // Letters reach the limit of characters first: 100 of four bytes are 400 bytes.
            if isPlain { #expect(cut.count == min(characters, text.count), "seed \(seed)") }
            guard cut.count < min(characters, text.count) else { continue }
            #expect(text.prefix(cut.count + 1).utf8.count > bytes, "seed \(seed): one more has room")
        }
    }

    @Test func `P2 and P3, as the pager had it: keys beside aps and dates as text show nothing, though APNs says 200`()
        async throws
    {
        // Without its contract, which would have sent the date as the phone reads it.
        var options = try Stack.Options(PagerPlay.app)
        for index in (options.types ?? []).indices { options.types?[index].contract = nil }
        try await Stack.run(options) { stack in
            let phone = try await stack.phone("ada")
            let attributes: JSONValue = ["messageID": "message-1"]
            let iso: JSONObject = [
                "sender": "Dr. Who", "message": "m", "isDemo": false, "messageIndex": 1, "totalMessages": 1,
                "timestamp": "2026-11-21T14:32:00Z",
            ]
            _ = try await stack.islet.call(
                .PUT, "/v1/activities/message-1",
                [
                    "type": "PagerMessage", "state": .object(iso), "attributes": attributes,
                    "audience": ["users": ["ada"]],
                ])
            try await Waiting.until("the phone drops it", within: .seconds(90)) {
                try stack.simulator.deviceLog(of: phone).contains { $0.code == .contentStateUndecodable }
            }
            #expect(stack.simulator.received.map(\.status) == [200])
            #expect(try stack.simulator.lockScreen(of: phone).cards.isEmpty)
        }
    }

    // MARK: - P4

    static let refusals: [(status: Int, reason: String)] = [
        (400, "BadDeviceToken"), (410, "Unregistered"), (410, "ExpiredToken"),
    ]

    @Test(arguments: refusals.indices)
    func `P4: where the push-to-start token is refused it is cleared, and the message goes out as a notification`(
        index: Int
    ) async throws {
        let (status, reason) = Self.refusals[index]
        try await run { stack, pager in
            let phone = try await stack.phone("ada")
            var fault = FaultRule(.refuse(status: status, reason: reason))
            fault.event = "start"
            stack.simulator.faults = [fault]
            let answer = try await pager.send(Self.message(), to: "ada")
            #expect(answer.status == 200)
            let screen = try await Self.notified(stack, phone, ["Dr. Who"])
            #expect(screen.notifications.first?.body == "Ring me back" && screen.cards.isEmpty)
            // The token was cleared, so the next message does not try it, and both notifications stay unchanged.
            #expect(try await pager.send(Self.message("2"), to: "ada").status == 200)
            let both = try await Self.notified(stack, phone, ["Dr. Who", "Dr. Who"])
            #expect(both.cards.isEmpty)
            #expect(stack.simulator.received.filter { $0.event == "start" }.count == 1)
            let entries = try await stack.timeline("message-1")
            #expect(entries.contains { $0.kind == "start" && $0.status == status })
            #expect(entries.contains { $0.kind == "fallback" && $0.code == "push-to-start-token-dead" })
            try await stack.device("ada", of: "message-1", "told") { $0.reason.code == "fell-back" }
        }
    }

    static let obstacles: [(code: String, change: @Sendable (inout PhoneSpecification) -> Void)] = [
        ("below-ios-17.2", { $0.iOS = IOSVersion(17, 1) }),
        ("activities-disabled", { $0.activitiesEnabled = false }),
    ]

    @Test(arguments: obstacles.indices)
    func `P4 and P5: where there is no token, or no permission, the message goes out as a notification`(
        index: Int
    ) async throws {
        let (code, change) = Self.obstacles[index]
        try await run { stack, pager in
            let phone = try await stack.phone("ada", change)
            // Only an existing token is registered, and only where Live Activities are enabled.
            #expect(try stack.simulator.tokens(of: phone).pushToStart == nil)
            let answer = try await pager.send(Self.message(), to: "ada")
            #expect(answer.status == 200)
            let phones = answer.body.object?["phones"]?.object
            #expect(phones?["fallback"] == 1 && phones?["start"] == 0)
            _ = try await Self.notified(stack, phone, ["Dr. Who"])
            // The repeated message is recognized.
            #expect(try await pager.send(Self.message(), to: "ada").body.object?["changed"] == false)
            #expect(try await stack.timeline("message-1").contains { $0.kind == "fallback" && $0.code == code })
            // Live Activities are enabled afterwards. A message that was notified is not shown a second time.
            try stack.simulator.perform(.setActivitiesEnabled(true), on: phone)
            try await stack.reported(phone)
            #expect(try await pager.send(Self.message("2"), to: "ada").status == 200)
            if code == "activities-disabled" {
                let screen = try await stack.simulator.wait(for: phone, timeout: .seconds(90)) { !$0.cards.isEmpty }
                #expect(screen.cards.map { $0.attributes["messageID"] } == ["message-2"])
                #expect(screen.notifications.count == 1)
            }
        }
    }

    @Test func `P4: who can get neither is named with the reason, and the sender's call succeeds`() async throws {
        try await run { stack, pager in
            try await stack.phone("ada") {
                $0.activitiesEnabled = false
                $0.notificationAuthorization = .denied
            }
            let answer = try await pager.send(Self.message(), to: "ada")
            #expect(answer.status == 200)
            #expect(answer.body.object?["reasons"] == [["reason": "activities-disabled", "count": 1]])
            let note = try await pager.note("Hello", from: "Dr. Who", to: "ada", id: "n1")
            #expect(
                note.body
                    == ["devices": 0, "others": 1, "reasons": [["reason": "notifications-denied", "count": 1]]])
            #expect(try await pager.note("Hello", from: "Dr. Who", to: "nobody", id: "n2").body.object?["devices"] == 0)
            #expect(stack.simulator.received.isEmpty)
        }
    }

    @Test func `a repeated note is one note, and one that collapses takes the place of the one before`() async throws {
        try await run { stack, pager in
            let phone = try await stack.phone("ada")
            for _ in 0..<3 { _ = try await pager.note("Hello", from: "Dr. Who", to: "ada", id: "n1") }
            _ = try await Self.notified(stack, phone, ["Dr. Who"])
            for title in ["One", "Two"] {
                try await stack.islet.call(
                    .POST, "/v1/users/ada/notifications",
                    ["id": .string(title), "alert": ["title": .string(title)], "collapse": "count"])
                try await stack.simulator.wait(for: phone, timeout: .seconds(90)) {
                    $0.notifications.last?.title == title
                }
            }
            #expect(try stack.simulator.lockScreen(of: phone).notifications.map(\.title) == ["Dr. Who", "Two"])
            #expect(stack.simulator.receivedCount == 3)
        }
    }

    @Test func `an unknown fate is repeated under the same id, and the phone shows it once`() async throws {
        try await run { stack, pager in
            let phone = try await stack.phone("ada")
            var fault = FaultRule(.loseAnswer(.reset))
            fault.count = 1
            stack.simulator.faults = [fault]
            _ = try await pager.note("Hello", from: "Dr. Who", to: "ada", id: "n1")
            try await Waiting.until("it is sent again", within: .seconds(90)) { stack.simulator.receivedCount >= 2 }
            let ids = Set(stack.simulator.received.map(\.id))
            let collapse = Set(stack.simulator.received.map(\.collapseID))
            #expect(ids.count == 1 && collapse.count == 1)
            _ = try await Self.notified(stack, phone, ["Dr. Who"])
        }
    }
}

/// Real processes and a real `kill -9`.
@Suite(.serialized) struct PagerCrashTests {
    /// The point at which the server dies, and the recipient of the message. Ada's message is a card, Bea's an ordinary
    /// notification.
    static let deaths: [(point: String, person: String)] = [
        ("write.after-commit:1", "ada"), ("write.after-commit:1", "bea"), ("claim.after-commit:1", "bea"),
        ("send.before:1", "bea"), ("answer.received:1", "bea"), ("settle.before-commit:1", "bea"),
    ]

    @Test(.timeLimit(.minutes(10)), arguments: deaths.indices)
    func `P7: killed between accept and send, no message is lost, and none is shown twice`(index: Int) async throws {
        let (point, person) = Self.deaths[index]
        try await withPagerStage { stage in
            try await stage.addPhone("ada", ["appState": "killed"])
            try await stage.addPhone("bea", ["iOS": "16.4"])
            for phone in ["ada", "bea"] {
                try await Waiting.until("\(phone)'s phone is registered", within: .seconds(60)) {
                    try await stage.hasReported(phone)
                }
            }
            try await stage.crashServer(environment: ["ISLET_FAULT_POINT": point])
            let pager = Pager(islet: stage.isletAddress, key: stage.key)
            let message = Message(id: person, from: "Dr. Who", "Ring me back", at: Date())
            // The answer may be lost with the server. The sender then repeats the call.
            let answer = try? await pager.send(message, to: person)
            try await Waiting.until("the server has died", within: .seconds(60)) { !stage.isServerRunning }
            try await stage.crashServer()
            if answer == nil { #expect(try await repeated(pager, message, to: person) == 200) }
            do {
                try await Waiting.until("the message is shown", within: .seconds(90)) {
                    let screen = try await stage.lockScreen(of: person)
                    return screen[person == "ada" ? "cards" : "notifications"]?.array?.count == 1
                }
            } catch {
                // Zero and two are different faults.
                let screen = try await stage.lockScreen(of: person)
                let pushes = try await stage.control.call(.GET, "/v1/pushes?limit=100")
                let status = answer?.status.description ?? "none"
                Issue.record("\(error); first answer \(status), screen \(screen), pushes \(pushes)")
                return
            }
            let pushes =
                try await stage.control.call(.GET, "/v1/pushes?limit=100").object?["pushes"]?.array?
                .compactMap(\.object).filter { $0["phone"]?.string != nil } ?? []
            // The push may be repeated, but only under one id.
            #expect(Set(pushes.compactMap { $0["id"]?.string }).count == 1, "\(point)")
            #expect(pushes.allSatisfy { $0["status"] == 200 }, "\(point)")
        }
    }

    private func repeated(_ pager: Pager, _ message: Message, to person: String) async throws -> Int {
        let status = Mutex(0)
        try await Waiting.until("the call is answered", within: .seconds(60)) {
            guard let answer = try? await pager.send(message, to: person) else { return false }
            status.withLock { $0 = answer.status }
            return true
        }
        return status.withLock(\.self)
    }

    @Test func `P6: a registration is repeated until the server has confirmed it, across its restarts`() async throws {
        try await withPagerStage { stage in
            await stage.stopServer()
            try await stage.addPhone("ada", ["appState": "foreground"])
            try await stage.act("rotatePushToStartToken", on: "ada")
            try await stage.startServer(within: .seconds(60))
            try await Waiting.until("ada's phone is registered", within: .seconds(90)) {
                try await stage.hasReported("ada")
            }
            let message = Message(id: "1", from: "Dr. Who", "Ring me back", at: Date())
            #expect(try await Pager(islet: stage.isletAddress, key: stage.key).send(message, to: "ada").status == 200)
            try await Waiting.until("the card is there", within: .seconds(60)) {
                try await stage.cards(on: "ada").count == 1
            }
            let pushes =
                try await stage.control.call(.GET, "/v1/pushes?limit=100").object?["pushes"]?.array?
                .compactMap(\.object).filter { $0["phone"]?.string != nil } ?? []
            #expect(pushes.compactMap { $0["status"]?.int } == [200])
        }
    }

    private func withPagerStage(_ body: (DemoStage) async throws -> Void) async throws {
        try await withStage(play: PagerPlay(), body)
    }
}
