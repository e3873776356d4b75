import APNSModel
import Foundation
import JSONText
import Testing

/// Apple's "Generating a remote notification", row by row.
struct NotificationContentTests {
    private func aps(_ content: NotificationContent) throws -> NSDictionary {
        let bytes = try AlertPayload(content, data: ["own": ["deep": [1, 2]]]).bytes
        let whole = try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
        #expect(Set(whole.keys) == ["aps", "own"])
        return try #require(whole["aps"] as? NSDictionary)
    }

    @Test func `everything that Apple's table has is written as it is there`() throws {
        var content = NotificationContent(
            title: .localized(key: "T", arguments: ["1", "2"]), subtitle: .localized(key: "S", arguments: []),
            body: "B", sound: .critical(name: "bell.caf", volume: 0.5))
        content.launchImage = "launch"
        content.badge = 0
        content.threadID = "thread"
        content.category = "ORDER"
        content.isContentAvailable = true
        content.isContentMutable = true
        content.targetContentID = "window"
        content.interruptionLevel = .timeSensitive
        content.relevance = 0.25
        content.filterCriteria = "work"
        let expected: [String: Any] = [
            "alert": [
                "title-loc-key": "T", "title-loc-args": ["1", "2"], "subtitle-loc-key": "S", "body": "B",
                "launch-image": "launch",
            ] as [String: Any],
            "badge": 0, "sound": ["critical": 1, "name": "bell.caf", "volume": 0.5] as [String: Any],
            "thread-id": "thread", "category": "ORDER", "content-available": 1, "mutable-content": 1,
            "target-content-id": "window", "interruption-level": "time-sensitive", "relevance-score": 0.25,
            "filter-criteria": "work",
        ]
        #expect(try aps(content) == expected as NSDictionary)
    }

    static let alone: [(String, @Sendable (inout NotificationContent) -> Void)] = [
        ("badge", { $0.badge = 3 }), ("sound", { $0.sound = .standard }), ("alert", { $0.body = "only a body" }),
        ("content-available", { $0.isContentAvailable = true }), ("category", { $0.category = "C" }),
    ]

    @Test(arguments: alone) func `one part alone is a notification`(
        key: String, set: @Sendable (inout NotificationContent) -> Void
    ) throws {
        var content = NotificationContent()
        set(&content)
        #expect(try aps(content).allKeys as? [String] == [key])
    }

    static let levels: [(NotificationContent.InterruptionLevel, String)] = [
        (.passive, "passive"), (.active, "active"), (.timeSensitive, "time-sensitive"), (.critical, "critical"),
    ]

    @Test(arguments: levels) func `the level of interruption has Apple's word`(
        level: NotificationContent.InterruptionLevel, word: String
    ) throws {
        var content = NotificationContent(title: "T")
        content.interruptionLevel = level
        #expect(try aps(content)["interruption-level"] as? String == word)
    }

    static let wrong: [(String, @Sendable (inout NotificationContent) -> Void)] = [
        ("badge", { $0.badge = -1 }), ("volume", { $0.sound = .critical(volume: 1.5) }),
        ("volume", { $0.sound = .critical(volume: -0.1) }), ("volume", { $0.sound = .critical(volume: .nan) }),
        ("relevance", { $0.relevance = 1.01 }), ("relevance", { $0.relevance = .infinity }),
    ]

    @Test(arguments: wrong) func `what Apple's table does not allow is refused by name`(
        field: String, set: @Sendable (inout NotificationContent) -> Void
    ) {
        var content = NotificationContent(title: "T")
        set(&content)
        let error = #expect(throws: PayloadError.self) { try AlertPayload(content) }
        guard case .outOfRange(field, _)? = error else {
            Issue.record("\(String(describing: error)) is not about \(field)")
            return
        }
    }
}
