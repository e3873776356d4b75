import APNSClient
import APNSModel
import APNSSimulator
import JSONText
import LiveActivityAPI
import LiveActivityCore
import LiveActivityDelivery
import LiveActivityProviders
import NextUp
import Synchronization
import Testing

@testable import islet

/// Next up: requirements N1 to N8, against a real server, a provider in its process, and the rules of real phones.
@Suite(.serialized) struct NextUpTests {
    /// The backend: goals, check-ins and the provider's questions.
    private final class Backend: Sendable {
        let book: GoalBook
        let questions = Mutex<[RefreshQuestion]>([])
        private let isHeld = Mutex(false)

        init() throws { book = try GoalBook() }

        var asked: [RefreshQuestion] { questions.withLock(\.self) }

        func ask(_ question: RefreshQuestion) async throws(RefreshFailure) -> RefreshAnswer? {
            questions.withLock { $0.append(question) }
            while isHeld.withLock(\.self), !Task.isCancelled { await Task.yield() }
            return try await NextUpProvider(book).answer(to: question)
        }

        /// Holds all answers while `true`, and then gives them.
        func hold(_ isHeld: Bool) { self.isHeld.withLock { $0 = isHeld } }

        func goals(_ titles: String...) throws {
            for (order, title) in titles.enumerated() {
                try book.set(Goal(id: title, title: title, order: order), of: "ann")
            }
        }
    }

    private static func run(
        zones: [String: ZoneRules]? = nil, _ change: (inout TypePolicy) -> Void = { _ in },
        _ body: @escaping @Sendable (Stack, Backend) async throws -> Void
    ) async throws {
        let backend = try Backend()
        var options = try Stack.Options(NextUpPlay.app, change)
        options.providers = ["NextUp": backend.ask]
        if let zones { options.zones = ZoneTable(zones) }
        try await Stack.run(options) { stack in try await body(stack, backend) }
    }

    private static func day(_ offset: Int = 0, at now: UnixTime = APNSClient.liveTime.wall()) -> String {
        ZoneRules(offset: offset).local(now).date
    }

    /// Adds a phone of Ann's whose app has registered.
    private static func phone(
        _ stack: Stack, _ id: String, _ change: (inout PhoneSpecification) -> Void = { _ in }
    ) async throws -> PhoneID {
        try await stack.phone("ann") { phone in
            phone.id = PhoneID(id)
            change(&phone)
        }
    }

    private static func refresh(_ stack: Stack) async throws {
        try await stack.islet.call(.POST, "/v1/users/ann/refresh")
    }

    private static func checkIn(_ goal: String, _ stack: Stack, _ backend: Backend, day: String = day()) async throws {
        guard let day = Day(day) else { throw DemoFailure("no day") }
        try backend.book.checkIn(CheckIn(goal: goal, day: day, mark: .done), of: "ann")
        try await refresh(stack)
    }

    @discardableResult
    private static func shows(_ title: String, on phone: PhoneID, _ stack: Stack) async throws -> LockScreen {
        try await stack.simulator.wait(for: phone, timeout: .seconds(60)) { screen in
            screen.running.count == 1 && screen.running[0].contentState["title"]?.string == title
        }
    }

    private static func showsNothing(_ phone: PhoneID, _ stack: Stack) async throws {
        try await stack.simulator.wait(for: phone, timeout: .seconds(60)) { $0.cards.isEmpty }
    }

    /// Waits until no refresh is pending or running.
    private static func isComputed(_ stack: Stack) async throws {
        try await Waiting.until("everything asked is computed", within: .seconds(60)) {
            let view = try await stack.islet.call(.GET, "/v1/users/ann/refresh").decode(RefreshView.self)
            return view.refreshes.allSatisfy { $0.asked == $0.done && !$0.running }
        }
    }

    private static func start(_ title: String, remaining: Int, on phone: PhoneID, _ stack: Stack) throws {
        try stack.simulator.perform(
            .startLocally(
                .init(
                    attributesType: "NextUpAttributes", attributes: ["person": "ann"],
                    contentState: [
                        "goal": .string(title), "title": .string(title), "remaining": .number(JSONNumber(remaining)),
                    ])), on: phone)
    }

    // MARK: - The requirements

    @Test func `N1, N4 and N5: several devices of one person, each with its own card; the same content sends nothing`()
        async throws
    {
        try await Self.run { stack, backend in
            try backend.goals("run", "read")
            let phones = [try await Self.phone(stack, "phone"), try await Self.phone(stack, "tablet")]
            for phone in phones { try await Self.shows("run", on: phone, stack) }
            for phone in phones { try await stack.reported(phone) }
            try await Self.isComputed(stack)
            let (pushes, asked) = (stack.simulator.receivedCount, backend.asked.count)
            // N5: while one question is open, many triggers collapse into the one that follows it. All are sent at
            // once, and each is answered long before the question's own limit.
            backend.hold(true)
            try await Self.refresh(stack)
            try await Waiting.until("the first is asked", within: .seconds(60)) { backend.asked.count == asked + 1 }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 1...50 { group.addTask { try await Self.refresh(stack) } }
                try await group.waitForAll()
            }
            backend.hold(false)
            try await Self.isComputed(stack)
            #expect(backend.asked.count - asked == 2)
            // N4: the same content is not a change. The wait is longer than the window in which changes are coalesced,
            // so a later change does not carry this one.
            let silence = await #expect(throws: SimulatorError.self) {
                try await stack.simulator.waitForPushes(timeout: .seconds(2)) { received in
                    received.contains { $0.number > pushes }
                }
            }
            #expect(silence?.code == .timedOut && stack.simulator.receivedCount == pushes)
            try await Self.checkIn("run", stack, backend)
            for phone in phones { try await Self.shows("read", on: phone, stack) }
            #expect(stack.simulator.receivedCount == pushes + 2)
            try await Self.checkIn("read", stack, backend)
            for phone in phones { try await Self.showsNothing(phone, stack) }
            // Updates are silent and have low priority. Starts always have high priority.
            let received = stack.simulator.received
            #expect(received.filter { $0.event == "update" }.allSatisfy { $0.priority == "5" })
            #expect(received.count { $0.event == "start" } == 2)
        }
    }

    @Test func `N2: one question per time zone, and "today" turns at the device's own midnight`() async throws {
        // Take the turn first and read the time then, so that the wait for a turn does not pass midnight.
        try await Turns.ofSystems.take {
            let now = APNSClient.liveTime.wall()
            // One zone whose midnight is 40 seconds away, and one that is 12 hours behind it.
            let soon = 86_400 - Int((now.seconds + 40) % 86_400)
            let zones = ["Test/Soon": ZoneRules(offset: soon), "Test/Far": ZoneRules(offset: soon - 43_200)]
            try await Self.run(zones: zones) { stack, backend in
                let (before, after) = (
                    zones["Test/Soon"]?.local(now).day ?? 0, zones["Test/Far"]?.local(now).date ?? ""
                )
                let today = try #require(Day(zones["Test/Soon"]?.local(now).date ?? ""))
                // One goal is due on the weekday that is about to end, and one on the next.
                try backend.book.set(
                    Goal(id: "old", title: "old", order: 0, weekdays: [today.weekday]), of: "ann")
                try backend.book.set(
                    Goal(id: "new", title: "new", order: 1, weekdays: [today.weekday % 7 + 1]), of: "ann")
                let near = try await Self.phone(stack, "near") { $0.timeZone = "Test/Soon" }
                let beside = try await Self.phone(stack, "beside") { $0.timeZone = "Test/Soon" }
                let far = try await Self.phone(stack, "far") { $0.timeZone = "Test/Far" }
                for phone in [near, beside] { try await Self.shows("new", on: phone, stack) }
                try await Self.shows("old", on: far, stack)
                #expect(before > 0 && after == today.description)
                // Nobody called for the turn of the day.
                let days = backend.asked.filter { $0.zone == "Test/Soon" }
                #expect(Set(days.map(\.day)).count == 2)
                #expect(days.last?.devices.map(\.text) == ["beside", "near"])
                #expect(backend.asked.filter { $0.zone == "Test/Far" }.allSatisfy { $0.devices.map(\.text) == ["far"] })
            }
        }
    }

    @Test func `N3: a locked task stays until it is done, then the lock clears`() async throws {
        try await Self.run { stack, backend in
            try backend.goals("run", "read")
            let phone = try await Self.phone(stack, "phone")
            try await Self.shows("run", on: phone, stack)
            try await stack.reported(phone)
            try backend.book.set(Goal(id: "tax", title: "tax", order: -1), of: "ann")
            try await Self.refresh(stack)
            try await stack.simulator.wait(for: phone, timeout: .seconds(60)) {
                $0.running.first?.contentState["remaining"]?.int == 3
            }
            try await Self.shows("run", on: phone, stack)
            try await Self.checkIn("run", stack, backend)
            try await Self.shows("tax", on: phone, stack)
        }
    }

    @Test func `N5: the nightly pre-creation asks for each affected person, paced, and none is lost`() async throws {
        try await Self.run { stack, backend in
            let phone = try await Self.phone(stack, "phone")
            try await Self.isComputed(stack)
            #expect(try await stack.simulator.wait(for: phone, timeout: .seconds(5)) { _ in true }.cards.isEmpty)
            try backend.goals("run")
            let people = try backend.book.prepare(try #require(Day(Self.day())))
            #expect(people == ["ann"])
            let answer = try await stack.islet.call(
                .POST, "/v1/refreshes",
                ["type": "NextUp", "users": .array((people + ["nobody"]).map(JSONValue.string))])
            #expect(answer.object?["asked"]?.int == 1)
            try await Self.shows("run", on: phone, stack)
            let all = try await stack.islet.call(.POST, "/v1/refreshes", ["all": true])
            #expect(all.object?["asked"]?.int == 1)
        }
    }

    @Test func `N6: the app is killed, a check-in on the web starts the card, and later updates and the end reach it`()
        async throws
    {
        try await Self.run { stack, backend in
            let phone = try await Self.phone(stack, "phone") { $0.asksToAllow = true }
            try await Self.isComputed(stack)
            try stack.simulator.perform(.kill, on: phone)
            try backend.goals("run", "read")
            try await Self.checkIn("run", stack, backend)
            try await Self.shows("read", on: phone, stack)
            #expect(stack.simulator.received.map(\.event) == ["start"])
            // The token arrives when the person allows it. Changes made meanwhile go to it then.
            try backend.goals("run", "read", "write")
            try await Self.refresh(stack)
            try await Self.isComputed(stack)
            try stack.simulator.perform(.allow, on: phone)
            try await stack.simulator.wait(for: phone, timeout: .seconds(60)) {
                $0.running.first?.contentState["remaining"]?.int == 2
            }
            // The app that was woken for the token is killed again. From here on only pushes reach the card.
            try await stack.device("phone", of: "NextUp%2Fann%2Fphone", "is live") { $0.state == "live" }
            try await stack.reported(phone)
            try stack.simulator.perform(.kill, on: phone)
            try await Self.checkIn("read", stack, backend)
            try await Self.shows("write", on: phone, stack)
            try await Self.checkIn("write", stack, backend)
            try await Self.showsNothing(phone, stack)
            let received = stack.simulator.received
            #expect(received.last?.event == "end")
            #expect(received.allSatisfy { $0.status == 200 })
        }
    }

    @Test func `N7: what the app shows itself is adopted: no flicker, no second card, and the server goes on with it`()
        async throws
    {
        try await Self.run { stack, backend in
            try backend.goals("run", "read")
            let phone = try await Self.phone(stack, "phone") {
                $0.iOS = IOSVersion(17, 1)
                $0.appState = .foreground
            }
            try await Self.isComputed(stack)
            try Self.start("run", remaining: 2, on: phone, stack)
            try await stack.reported(phone)
            try await Self.isComputed(stack)
            try await stack.device("phone", of: "NextUp%2Fann%2Fphone", "is adopted") { $0.state == "live" }
            for _ in 1...3 { try await Self.refresh(stack) }
            try await Self.isComputed(stack)
            #expect(stack.simulator.received.isEmpty)
            try await Self.checkIn("run", stack, backend)
            try await Self.shows("read", on: phone, stack)
            #expect(stack.simulator.received.map(\.event) == ["update"])
        }
    }

    @Test func `N7: an app's card that nobody had computed yet is adopted as well`() async throws {
        try await Self.run { stack, backend in
            let phone = try await Self.phone(stack, "phone") { $0.appState = .foreground }
            try await Self.isComputed(stack)
            // A goal made in the app, which shows it at once. The server learns of it afterwards.
            try backend.goals("run")
            try Self.start("run", remaining: 1, on: phone, stack)
            try await stack.reported(phone)
            try await stack.device("phone", of: "NextUp%2Fann%2Fphone", "is adopted") { $0.state == "live" }
            try await Self.isComputed(stack)
            #expect(stack.simulator.received.isEmpty)
            let list = try await stack.islet.call(.GET, "/v1/activities").decode(ActivityList.self)
            #expect(list.activities.map(\.activity) == ["NextUp/ann/phone"])
        }
    }

    @Test(arguments: [
        (IOSVersion(17, 1), true, "below-ios-17.2"), (IOSVersion(18, 2), false, "activities-disabled"),
    ])
    func `N8: below iOS 17.2, or with Live Activities disabled, no card is started, and the server says why`(
        iOS: IOSVersion, enabled: Bool, reason: String
    ) async throws {
        try await Self.run { stack, backend in
            try backend.goals("run")
            let phone = try await Self.phone(stack, "phone") {
                $0.iOS = iOS
                $0.activitiesEnabled = enabled
            }
            try await Self.isComputed(stack)
            let device = try await stack.device("phone", of: "NextUp%2Fann%2Fphone", "is known") { _ in true }
            #expect(device.reason.code == reason)
            #expect(try await stack.simulator.wait(for: phone, timeout: .seconds(5)) { _ in true }.cards.isEmpty)
            #expect(stack.simulator.received.isEmpty)
        }
    }

    @Test func `app and server come to the same, on any day and with any lock`() throws {
        let goals = [
            Goal(id: "b", title: "B", order: 1), Goal(id: "a", title: "A", order: 1),
            Goal(id: "sunday", title: "S", order: 0, weekdays: [7]),
        ]
        let (saturday, sunday) = (try #require(Day("2026-11-21")), try #require(Day("2026-11-22")))
        #expect((saturday.weekday, sunday.weekday) == (6, 7))
        #expect(Today(goals, [], on: saturday, lock: nil)?.state.goal == "a")
        #expect(Today(goals, [], on: sunday, lock: nil)?.state.goal == "sunday")
        let lock = Today.Lock(day: saturday, goal: "b")
        #expect(Today(goals, [], on: saturday, lock: lock)?.state.goal == "b")
        #expect(Today(goals, [], on: sunday, lock: lock)?.state.goal == "sunday")
        let done = CheckIn(goal: "b", day: saturday, mark: .done)
        #expect(Today(goals, [done], on: saturday, lock: lock)?.state.goal == "a")
        #expect(Today([], [], on: saturday, lock: lock) == nil)
    }
}
