import APNSModel
import JSONText
import LiveActivityCore
import LiveActivityProviders
import TestSupport
import Testing

/// Questions to a provider in the process, and its answers, in the core's types. Nothing is lost in the conversion.
struct ProviderWordsTests {
    private struct Provider: ActivityProvider {
        let reply: @Sendable (ProviderQuestion) throws -> ProviderAnswer?
        func answer(_ question: ProviderQuestion) async throws -> ProviderAnswer? { try reply(question) }
    }

    private static let question = RefreshQuestion(
        app: Sample.app().bundleID, type: "focus", user: Sample.user("ann"), zone: "Europe/Berlin", day: "2026-11-21",
        now: UnixTime(seconds: 1_795_270_000), devices: [Sample.device("d1"), Sample.device("d2")],
        memo: ["task": "7"])

    @Test func `a question arrives whole`() async throws {
        var expected = ProviderQuestion(
            app: Self.question.app.text, type: "focus", user: "ann", devices: ["d1", "d2"],
            timeZone: "Europe/Berlin", localDay: "2026-11-21", now: Self.question.now)
        expected.memo = ["task": "7"]
        let whole = expected
        _ = try await Provider { question in
            #expect(question == whole)
            return nil
        }.answer(to: Self.question)
    }

    @Test(
        arguments: zip(
            ProviderAnswer.Priority.allCases, [ActivityRecord.PriorityWish.low, .auto, .high]))
    func `an answer arrives whole`(priority: ProviderAnswer.Priority, wish: ActivityRecord.PriorityWish) async throws {
        var answer = ProviderAnswer(state: ["task": "8"])
        answer.attributes = ["list": "home"]
        answer.memo = ["task": "8"]
        answer.relevance = 70
        answer.staleAt = UnixTime(seconds: 1_795_280_000)
        answer.alert = PushAlert(title: .text("Now"), body: .text("Task 8"))
        answer.alertID = "task-8"
        answer.priority = priority
        answer.askAgainAt = UnixTime(seconds: 1_795_275_000)
        let said = answer
        var expected = RefreshAnswer(state: ["task": "8"])
        expected.attributes = ["list": "home"]
        expected.memo = ["task": "8"]
        expected.relevance = 70
        expected.staleAt = UnixTime(seconds: 1_795_280_000)
        var alert = SetDesiredState.AlertWish(PushAlert(title: .text("Now"), body: .text("Task 8")))
        alert.id = "task-8"
        expected.alert = alert
        expected.priority = wish
        expected.askAgainAt = UnixTime(seconds: 1_795_275_000)
        let found = try await Provider { _ in said }.answer(to: Self.question)
        #expect(found == expected)
    }

    @Test func `nothing is nothing, and an error says no more than its type`() async throws {
        #expect(try await Provider { _ in nil }.answer(to: Self.question) == nil)
        struct Secret: Error { let word = "hunter2" }
        await #expect(throws: RefreshFailure(.threw, "the provider threw Secret")) {
            try await Provider { _ in throw Secret() }.answer(to: Self.question)
        }
    }
}
