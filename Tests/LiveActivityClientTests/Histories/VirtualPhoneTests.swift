import APNSModel
import JSONText
import LiveActivityCore
import LiveActivityRegistration
import TestSupport
import Testing

@testable import APNSSimulator

/// Requirements of the systems on an app, tested with virtual phones that run the client against the server's commands.
struct VirtualPhoneTests {
    /// Makes a history with one phone of Ann's and without faults.
    private static func scene(
        renews: Bool = false, _ change: (inout PhoneSpecification) -> Void = { _ in }
    ) -> PhoneHistory {
        var history = PhoneHistory(seed: 1, renews: renews)
        history.isHealthy = true
        history.addPhone(0) { specification in
            specification.user = "ann"
            specification.asksToAllow = false
            specification.noticesInBackground = true
            specification.appState = .foreground
            specification.iOS = IOSVersion(18, 1)
            specification.startsWantedCards = false
            change(&specification)
        }
        history.pass(.seconds(5))
        return history
    }

    private func startToken(_ history: PhoneHistory) throws -> TokenValue? {
        let key = try #require(history.key(of: history.owners[0].phone))
        return history.door.store.rows.deviceTokens[.init(key, .pushToStart, "order")]?.value
    }

    private func instance(_ history: PhoneHistory, _ activity: String = "order-1") throws -> CardMachine? {
        let key = try #require(history.key(of: history.owners[0].phone))
        let rows = history.door.store.rows
        let number = rows.activityNumbers[.init(history.door.app.bundleID, Sample.activityID(activity))]
        return number.flatMap { rows.cards[.init($0, key)] }
    }

    @Test func `a card that iOS lists ten seconds late is called gone, and lives on when it is there again`() throws {
        for isOwn in [true, false] {
            var history = Self.scene()
            if isOwn { history.startLocally(0, "order-1") }
            history.put("order-1")
            history.pass(.seconds(60))
            let card = try #require(history.owners[0].phone.cards.first?.localID)
            #expect(try instance(history)?.state == .live)
            history.perform(.kill, on: 0)
            history.owners[0].phone.listsCardsAfter = .seconds(10)
            history.perform(.foreground, on: 0)
            history.pass(.seconds(8))
            #expect(try instance(history)?.state == .gone)
            history.owners[0].phone.listsCardsAfter = .zero
            history.pass(.seconds(60))
            history.perform(.background, on: 0)
            history.perform(.foreground, on: 0)
            history.put("order-1")
            history.pass(.seconds(60))
            #expect(history.owners[0].phone.cards.filter(\.state.isRunning).map(\.localID) == [card])
            #expect(try instance(history)?.localID?.text == card && instance(history)?.state == .live)
            history.check()
            #expect(history.violations.isEmpty, "\(history.violations)\n\(history.timeline)")
        }
    }

    @Test func `P5 and P8: in any life a start token leaves a phone only while it is there and allowed`() {
        var (left, withheld) = (0, 0)
        for seed in 1...120 as ClosedRange<UInt64> {
            var history = PhoneHistory(seed: seed)
            history.addPhone(0)
            for _ in 0..<15 {
                let isOn = history.owners[0].phone.profile.activitiesEnabled
                let actions: [PhoneAction] = [
                    .setActivitiesEnabled(!isOn), .rotatePushToStartToken, .kill, .foreground, .background, .offline,
                    .online,
                ]
                let action = history.dice.pick(actions)
                history.perform(action, on: 0)
                history.pass(.milliseconds(Int64(history.dice.pick([0, 40, 900, 20_000]))))
                if !history.owners[0].phone.profile.activitiesEnabled { withheld += 1 }
            }
            #expect(history.violations.isEmpty, "seed \(seed): \(history.violations)\n\(history.timeline)")
            left += history.startTokens
        }
        #expect(left > 100 && withheld > 240, "\(left) \(withheld)")
    }

    @Test func `P6: what nobody confirmed is said again: offline, after kills, and when the token has changed`() throws
    {
        var history = Self.scene()
        let first = try startToken(history)
        history.perform(.offline, on: 0)
        history.perform(.rotatePushToStartToken, on: 0)
        history.pass(.seconds(600))
        history.perform(.kill, on: 0)
        history.pass(.seconds(600))
        history.perform(.background, on: 0)
        history.perform(.rotatePushToStartToken, on: 0)
        history.pass(.seconds(30))
        #expect(try startToken(history) == first && first != nil)
        history.perform(.online, on: 0)
        // Nobody touches the phone. The next attempt comes by itself, at most five minutes later.
        history.pass(.seconds(301))
        let newest = try #require(history.owners[0].phone.pushToStartToken)
        #expect(try startToken(history) == TokenValue(newest))
        #expect(history.owners[0].phone.client?.isSettled == true)
    }

    @Test func `P9: the log of a phone shows each token obtained, sent and confirmed, and none of them whole`() throws {
        var history = Self.scene()
        history.put("order-1")
        history.pass(.seconds(30))
        let phone = history.owners[0].phone
        let card = try #require(phone.cards.first)
        let tokens = [
            ("push-to-start", phone.pushToStartToken?.hex), ("device", phone.deviceToken?.hex),
            ("update", card.token?.hex),
        ]
        for (kind, hex) in tokens {
            let hex = try #require(hex)
            let mine = phone.notes.filter { $0.detail == "\(kind) \(hex.prefix(8))…" }.map(\.code)
            let way = mine.reduce(into: [PhoneNote.Code]()) { if !$0.contains($1) { $0.append($1) } }
            #expect(way == [.tokenObtained, .tokenSent, .tokenConfirmed], "\(kind): \(phone.notes)")
            #expect(!phone.notes.contains { "\($0)".contains(hex.prefix(9)) })
        }
    }

    @Test func `W5: the switch for frequent pushes reaches the server whenever it is turned`() throws {
        var history = Self.scene()
        for isOn in [false, true, false] {
            history.perform(.setFrequentPushes(isOn), on: 0)
            history.pass(.seconds(1))
            let key = try #require(history.key(of: history.owners[0].phone))
            #expect(history.door.store.rows.devices[key]?.frequentPushesEnabled == isOn)
        }
    }

    @Test func `F7: without the server an app shows, changes and ends its card itself, and tells of it afterwards`()
        throws
    {
        var history = Self.scene()
        history.put("order-1")
        history.pass(.seconds(30))
        history.perform(.offline, on: 0)
        history.startLocally(0, "ride-2")
        history.pass(.seconds(4))
        let own = try #require(history.owners[0].phone.cards.first { $0.attributes["id"] == "ride-2" })
        history.perform(.updateLocally(.init(localID: own.localID, contentState: Sample.state(7))), on: 0)
        let pushed = try #require(history.owners[0].phone.cards.first { $0.attributes["id"] == "order-1" })
        history.perform(.endLocally(localID: pushed.localID, isImmediate: true), on: 0)
        history.pass(.seconds(1))
        #expect(history.owners[0].phone.cards.filter(\.state.isRunning).map(\.contentState) == [Sample.state(7)])
        history.perform(.online, on: 0)
        history.pass(.seconds(301))
        #expect(try instance(history)?.state == .ended)
        #expect(try instance(history, "ride-2")?.localID?.text == own.localID)
        history.put("ride-2")
        history.pass(.seconds(120))
        let shown = history.owners[0].phone.cards.filter(\.state.isRunning)
        #expect(shown.map(\.contentState) == [Sample.state(history.steps["ride-2"] ?? 0)])
    }

    @Test func `a card that is over and was to stay for a while leaves with its person`() throws {
        var history = Self.scene()
        history.put("order-1")
        history.pass(.seconds(30))
        let card = try #require(history.owners[0].phone.cards.first)
        history.perform(.endLocally(localID: card.localID, isImmediate: false), on: 0)
        history.pass(.seconds(60))
        #expect(history.owners[0].phone.cards.map(\.state) == [.ended])
        history.perform(.signIn(user: nil), on: 0)
        #expect(history.owners[0].phone.cards.isEmpty)
    }

    @Test func `N6 and W1: a killed app's card is started, and takes its updates by each newest token alone`() throws {
        var history = Self.scene { $0.appState = .background }
        history.perform(.kill, on: 0)
        history.put("order-1")
        history.pass(.seconds(30))
        #expect(history.owners[0].phone.cards.count == 1)
        #expect(try instance(history)?.state == .live)
        for _ in 0..<5 {
            history.perform(.rotateUpdateToken(localID: nil), on: 0)
            history.pass(.seconds(5))
            let before = history.pushes
            history.put("order-1")
            history.pass(.seconds(120))
            let shown = history.owners[0].phone.cards.map(\.contentState)
            #expect(shown == [Sample.state(history.steps["order-1"] ?? 0)] && history.pushes > before)
        }
        #expect(history.deadPushes == 0, "\(history.timeline)")
    }

    @Test(arguments: [0, 100, 500, 10_000])
    func `N7: a UUID in the backend's small letters and in Swift's capitals makes one card`(milliseconds: Int64) throws
    {
        let id = "0e984725-c51c-4bf4-9960-e1c80e27aba0"
        for isServerFirst in [true, false] {
            var history = Self.scene()
            if isServerFirst { history.put(id) } else { history.startLocally(0, id.uppercased()) }
            history.pass(.milliseconds(milliseconds))
            if isServerFirst { history.startLocally(0, id.uppercased()) } else { history.put(id) }
            history.pass(.seconds(120))
            let phone = history.owners[0].phone
            #expect(phone.cards.filter(\.state.isRunning).count == 1, "\(history.timeline)")
            #expect(phone.dismissed.isEmpty, "\(history.timeline)")
            #expect(history.door.store.rows.activities.values.map(\.id.text) == [id])
            history.put(id)
            history.pass(.seconds(120))
            #expect(history.owners[0].phone.cards.map(\.contentState) == [Sample.state(history.steps[id] ?? 0)])
        }
    }

    @Test(arguments: [30, 3_600])
    func `a card is renewed, though the app saw it long after it was started`(secondsUnseen: Int64) throws {
        var history = Self.scene(renews: true) { $0.appState = .background }
        history.perform(.forceQuit, on: 0)
        history.put("order-1")
        history.pass(.seconds(secondsUnseen))
        history.perform(.foreground, on: 0)
        history.perform(.background, on: 0)
        let first = try #require(history.owners[0].phone.cards.first?.localID)
        history.pass(.seconds(7 * 3_600 + 1_200 - secondsUnseen))
        // Nothing was ended that the server did not end.
        let running = history.owners[0].phone.cards.filter(\.state.isRunning).map(\.localID)
        #expect(running.count == 1 && running != [first], "\(history.timeline)")
        #expect(history.owners[0].phone.dismissed.map(\.localID) == [first], "\(history.timeline)")
        #expect(try instance(history)?.localID?.text == running.first)
    }

    @Test(arguments: [0, 20, 100, 500, 2_000, 10_000])
    func `N7: app and server that show the same thing at any distance make one card`(milliseconds: Int64) throws {
        for isServerFirst in [true, false] {
            var history = Self.scene()
            if isServerFirst { history.put("order-1") } else { history.startLocally(0, "order-1") }
            history.pass(.milliseconds(milliseconds))
            if isServerFirst { history.startLocally(0, "order-1") } else { history.put("order-1") }
            history.pass(.seconds(120))
            let phone = history.owners[0].phone
            #expect(phone.cards.filter(\.state.isRunning).count == 1, "\(history.timeline)")
            #expect(try instance(history)?.localID?.text == phone.cards.first { $0.state.isRunning }?.localID)
            // There were never two cards at the same time, so none had to be removed.
            #expect(phone.dismissed.isEmpty, "\(history.timeline)")
        }
    }
}
