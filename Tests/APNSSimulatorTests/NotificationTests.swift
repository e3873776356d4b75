import APNSModel
import IsletBasics
import JSONText
import LiveActivityAPI
import Testing

@testable import APNSSimulator

/// Ordinary pushes on phones, and the registrations of their app.
@Suite struct NotificationTests {
    private static func alert(_ title: String, _ more: JSONObject = [:]) -> JSONObject {
        var aps: JSONObject = ["alert": ["title": .string(title), "subtitle": "s", "body": "b"], "thread-id": "t"]
        for (key, value) in more { aps[key] = value }
        return ["aps": .object(aps), "page": 3]
    }

    @Test func `an alert stands beside the cards, with all that the app may read of it`() throws {
        var bench = try PhoneBench()
        bench.push(Self.alert("One", ["sound": "default"]), to: .device, priority: 10, type: .alert)
        let shown = try #require(bench.phone.lockScreen.notifications.first)
        #expect(shown.title == "One" && shown.subtitle == "s" && shown.body == "b" && shown.sound == "default")
        #expect(shown.threadID == "t" && shown.data == ["page": 3])
        #expect(bench.phone.lockScreen.cards.isEmpty)
    }

    @Test func `of one collapse id the last is shown, where the first was`() throws {
        var bench = try PhoneBench()
        for (title, id) in [("One", "a"), ("Two", "b"), ("Three", "a"), ("Four", nil), ("Five", nil)] {
            bench.push(Self.alert(title), to: .device, priority: 10, type: .alert, collapseID: id)
        }
        #expect(bench.phone.lockScreen.notifications.map(\.title) == ["Two", "Three", "Four", "Five"])
    }

    @Test(arguments: NotificationAuthorization.allCases)
    func `without permission nothing is shown, and the device log says so`(status: NotificationAuthorization) throws {
        var bench = try PhoneBench { $0.notificationAuthorization = status }
        bench.push(Self.alert("One"), to: .device, priority: 10, type: .alert)
        let isShown = status == .authorized || status == .provisional
        #expect(bench.phone.lockScreen.notifications.count == (isShown ? 1 : 0))
        #expect(bench.codes == (isShown ? [] : [.notificationsDenied]))
        // The app reports to its backend, at first and after a change.
        try bench.act(.setNotificationAuthorization(.authorized))
        let told = bench.reports.compactMap { report -> String? in
            if case .register(let device) = report { device.notificationAuthorization?.rawValue } else { nil }
        }
        #expect(told.first == status.rawValue && told.last == "authorized")
    }

    private static let background: JSONObject = ["aps": ["content-available": 1]]

    @Test func `a background push launches the app, which registers its tokens anew; force-quit it stays away`() throws
    {
        var bench = try PhoneBench()
        for (action, launches) in [(PhoneAction.kill, true), (.background, true), (.forceQuit, false)] {
            if action != .background { try bench.act(action) }
            bench.reports = []
            bench.push(Self.background, to: .device, type: .background)
            let tokens = bench.reports.filter { if case .pushToStartToken = $0 { true } else { false } }
            #expect(tokens.count == (launches ? 1 : 0), "\(action)")
            #expect(bench.phone.lockScreen.notifications.isEmpty)
        }
        #expect(bench.codes == [.notAwakened])
    }

    @Test func `background pushes have a budget of their own`() throws {
        var bench = try PhoneBench()
        for _ in 0..<4 { bench.push(Self.background, to: .device, type: .background) }
        #expect(bench.codes == [.backgroundBudget])
        bench.pass(.seconds(3601))
        bench.push(Self.background, to: .device, type: .background)
        #expect(bench.codes == [.backgroundBudget])
    }

    /// P8, first property: whatever happens to a phone, its app registers a push-to-start token only if there is one
    /// and the person allows Live Activities.
    @Test(arguments: UInt64(1)...10)
    func `a registration needs a token and permission`(seed: UInt64) throws {
        var dice = SplitMix64(seed: seed)
        for round in 0..<100 {
            let (version, isOn) = (IOSVersion(dice.fraction() < 0.2 ? 16 : 18, 2), dice.fraction() < 0.7)
            var bench = try PhoneBench(seed: seed &* 1000 &+ UInt64(round)) {
                $0.iOS = version
                $0.activitiesEnabled = isOn
            }
            for step in 0..<12 {
                let note = Comment(rawValue: "seed \(seed), round \(round), step \(step)")
                let before = bench.reports.count
                let actions: [PhoneAction] = [
                    .foreground, .background, .launch, .kill, .forceQuit, .rotatePushToStartToken, .rotateDeviceToken,
                    .setActivitiesEnabled(dice.fraction() < 0.5), .setFrequentPushes(dice.fraction() < 0.5),
                    .setNotificationAuthorization(dice.fraction() < 0.5 ? .denied : .authorized),
                    .signIn(user: dice.fraction() < 0.5 ? "bob" : nil),
                ]
                let action = actions[Int(dice.next() % UInt64(actions.count))]
                _ = try? bench.act(action)
                if dice.fraction() < 0.2 { bench.push(Self.background, to: .device, type: .background) }
                for report in bench.reports.dropFirst(before) {
                    guard case .pushToStartToken(_, let token) = report else { continue }
                    #expect(TokenText(bench.phone.pushToStartToken) == token, note)
                    #expect(bench.phone.profile.activitiesEnabled && version >= .pushToStart, note)
                }
                #expect(bench.phone.profile.activitiesEnabled || bench.phone.pushToStartToken == nil, note)
            }
        }
    }
}
